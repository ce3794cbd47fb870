"""verl 0.9's agent loop, which tells the reward loop which tokens the policy wrote.

verl hands a finished trajectory to the reward loop without its ``response_mask``, so that a reward would pay what a
tool wrote. Named by ``actor_rollout_ref.rollout.agent.agent_loop_manager_class``, this manager's workers send the mask
along, whatever agent loop made the trajectory.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import ray
from verl.trainer.ppo.v1.agent_loop_tq import AgentLoopManagerTQ, AgentLoopWorkerTQ

from trainer_glue.verl.own import OWN

_Worker: Any = AgentLoopWorkerTQ.__ray_metadata__.modified_class  # the class behind verl's Ray actor


class AgentLoopWorker(_Worker):  # type: ignore[misc]
    """verl's worker; its reward loop knows whose tokens are whose."""

    async def _compute_score(self, outputs: list[Any], kwargs: dict[str, Any]) -> None:
        for output in outputs:
            mask = np.asarray(output.response_mask, dtype=np.bool_)
            output.extra_fields[OWN] = None if mask.all() else mask
        await super()._compute_score(outputs, kwargs)
        for output in outputs:  # what stays is small: the mask itself is stored by verl
            output.extra_fields[OWN] = None


class AgentLoopManager(AgentLoopManagerTQ):  # type: ignore[misc]
    """verl's manager of the agent loop, with such workers."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.agent_loop_workers_class = ray.remote(AgentLoopWorker)


__all__ = ["AgentLoopManager", "AgentLoopWorker"]
