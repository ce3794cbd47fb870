"""A replica refuses what this rollout is not for, before it starts anything."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

pytest.importorskip("verl")

from verl.workers.rollout.replica import RolloutMode

from rewardkit.errors import ConfigError
from trainer_glue.verl.cpu.replica import CpuReplica


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rollout_mode": RolloutMode.STANDALONE}, "no rollout on resources"),
        ({"rollout_mode": RolloutMode.COLOCATED}, "no rollout on resources"),
        ({"is_teacher_model": True}, "no teacher"),
        ({"world_size": 2}, "a replica of 2 ranks"),
    ],
)
def test_other_uses_are_refused(changes: dict[str, Any], message: str) -> None:
    replica = object.__new__(CpuReplica)
    usual = {"rollout_mode": RolloutMode.HYBRID, "is_reward_model": False, "is_teacher_model": False, "world_size": 1}
    vars(replica).update({**usual, **changes})
    with pytest.raises(ConfigError, match=message):
        asyncio.run(replica.launch_servers())
