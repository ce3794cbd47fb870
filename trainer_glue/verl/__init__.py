"""Where rewardkit meets verl: the reward manager, the sampler, and what a run needs around them.

verl loads the classes by name (``pkg://trainer_glue.verl``). Nothing heavy is imported until one is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trainer_glue.verl.agent_loop import AgentLoopManager
    from trainer_glue.verl.manager import RewardManager
    from trainer_glue.verl.sampler import ReplayBuffer, ReplayBufferAsync

__all__ = ["AgentLoopManager", "ReplayBuffer", "ReplayBufferAsync", "RewardManager"]


def __getattr__(name: str) -> Any:
    if name == "RewardManager":
        from trainer_glue.verl.manager import RewardManager

        return RewardManager
    if name == "AgentLoopManager":
        from trainer_glue.verl.agent_loop import AgentLoopManager

        return AgentLoopManager
    if name in ("ReplayBuffer", "ReplayBufferAsync"):
        from trainer_glue.verl import sampler

        return getattr(sampler, name)
    raise AttributeError(f"module 'trainer_glue.verl' has no attribute {name!r}")
