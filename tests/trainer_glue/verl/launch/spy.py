"""Writes down what verl's trainer reads as its rewards, and what its estimator is given. Loaded by verl as a plugin.

``VERL_USE_EXTERNAL_MODULES`` names this module and ``SPY_FILE`` the file; each step of the trainer adds a line of JSON
with a list for each of: the groups, the response's tokens, its mask, the scores that were read, the rewards and groups
that the advantage estimator got, and its advantages. ``SPY_ESTIMATOR`` names the estimator.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import transfer_queue as tq
from verl.trainer.ppo import core_algos

ESTIMATOR = os.environ.get("SPY_ESTIMATOR", "reinforce_plus_plus")

_read = tq.kv_batch_get
_estimate = core_algos.ADV_ESTIMATOR_REGISTRY[ESTIMATOR]
_seen: dict[str, Any] = {}


def kv_batch_get(keys: list[str], partition_id: str, select_fields: list[str] | None = None, **options: Any) -> Any:
    """verl's read; the one before the advantages is written down."""
    data = _read(keys=keys, partition_id=partition_id, select_fields=select_fields, **options)
    if select_fields is not None and {"rm_scores", "old_log_probs", "response_mask"} <= set(select_fields):
        responses = _read(keys=keys, partition_id=partition_id, select_fields=["responses"])["responses"]
        _seen.clear()
        _seen["uid"] = [str(getattr(uid, "data", uid)) for uid in data["uid"]]
        _seen["tokens"] = [line.tolist() for line in responses.unbind()]
        _seen["mask"] = [line.tolist() for line in data["response_mask"].unbind()]
        _seen["scores"] = [line.tolist() for line in data["rm_scores"].unbind()]
    return data


def estimate(token_level_rewards: Any, *args: Any, **kwargs: Any) -> Any:
    """verl's estimator; what it is given, and what it makes of it, is written down."""
    rewards = token_level_rewards.tolist()
    advantages, returns = _estimate(token_level_rewards, *args, **kwargs)
    index = kwargs.get("index")
    line = {
        **_seen,
        "rewards": rewards,
        "index": None if index is None else [str(uid) for uid in index],
        "advantages": advantages.tolist(),
    }
    with Path(os.environ["SPY_FILE"]).open("a") as file:
        file.write(json.dumps(line) + "\n")
    return advantages, returns


tq.kv_batch_get = kv_batch_get
core_algos.ADV_ESTIMATOR_REGISTRY[ESTIMATOR] = estimate
if ESTIMATOR == "grpo":
    core_algos.compute_grpo_outcome_advantage = estimate  # verl's trainer calls this one by its name
