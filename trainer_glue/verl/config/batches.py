"""The arithmetic of batches, ranks and steps, with numbers that would fit.

A step takes `data.train_batch_size` prompts, samples `rollout.n` responses for each, and updates the policy in
mini-batches of `ppo_mini_batch_size` prompts, split over the ranks. The conditions are those of verl 0.9.1
(`utils/config.py`, `workers/engine_workers.py`, `trainer/ppo/v1/trainer_base.py`), most of which fail there only after
the workers have started.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from trainer_glue.verl.config.diagnostics import ConfigDiagnostic
from trainer_glue.verl.config.keys import Where

_ACTOR = "actor_rollout_ref.actor"
_ROLLOUT = "actor_rollout_ref.rollout"
_REF = "actor_rollout_ref.ref"
_BATCH = "data.train_batch_size"
_MINI = f"{_ACTOR}.ppo_mini_batch_size"


def check_batches(config: Mapping[str, Any], rows: int | None, ranks: int, where: Where) -> list[ConfigDiagnostic]:
    """Diagnostics on a resolved config whose types were checked.

    Args:
        config: the resolved config.
        rows: training rows, or None when not known.
        ranks: processes that train, over all nodes.
        where: from a key to where the user set it.
    """
    return [
        ConfigDiagnostic(code, message, where(key), hint, key=key)
        for code, key, message, hint in (
            *_positive(config),
            *_sizes(config, rows, ranks),
            *_micro_batches(config),
            *_shares(config, ranks),
        )
    ]


_Found = Iterator[tuple[str, str, str, str | None]]


def _get(config: Mapping[str, Any], path: str) -> Any:
    value: Any = config
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _positive(config: Mapping[str, Any]) -> _Found:
    for path in (_BATCH, _MINI, f"{_ROLLOUT}.n", "data.max_prompt_length", "data.max_response_length"):
        value = _get(config, path)
        if isinstance(value, int) and value < 1:
            yield "batch-size", path, f"is {value}; expected at least 1", None


def _sizes(config: Mapping[str, Any], rows: int | None, ranks: int) -> _Found:
    batch, mini, n = (_get(config, p) for p in (_BATCH, _MINI, f"{_ROLLOUT}.n"))
    if not all(isinstance(v, int) and v >= 1 for v in (batch, mini, n, ranks)):
        return
    limit = _get(config, "data.train_max_samples")
    used = rows if rows is None or not isinstance(limit, int) or limit < 0 else min(rows, limit)
    if used is not None and used < batch:
        message = f"is {batch}, and the training files have {used} rows: an epoch would have no step"
        yield "batch-size", _BATCH, message, f"at most {used}"
    if mini > batch:
        yield "batch-size", _MINI, f"is {mini}, more than data.train_batch_size={batch}", f"{batch} or a divisor of it"
    elif batch % mini:
        divisor = next(m for m in range(mini, 0, -1) if batch % m == 0)
        message = (
            f"is {mini}, and data.train_batch_size={batch} is not a multiple of it: "
            "verl fills the last one with padding"
        )
        yield "note-batch-size", _MINI, message, f"{divisor} divides it"
    if (mini * n) % ranks:
        message = f"is {mini}; times rollout.n={n} it is {mini * n} responses, which {ranks} ranks can't share evenly"
        yield "batch-size", _MINI, message, f"{_next_multiple(mini, n, ranks)} would do"
    elif (batch * n) % ranks:
        message = f"is {batch}; times rollout.n={n} it is {batch * n} responses, which {ranks} ranks can't share evenly"
        yield "batch-size", _BATCH, message, f"{_next_multiple(batch, n, ranks)} would do"
    parallel = _get(config, f"{_ROLLOUT}.tensor_model_parallel_size")
    if isinstance(parallel, int) and parallel >= 1 and ranks % parallel:
        divisors = ", ".join(str(d) for d in range(1, ranks + 1) if ranks % d == 0)
        message = f"is {parallel}, and {ranks} ranks are not a multiple of it"
        yield "parallel-size", f"{_ROLLOUT}.tensor_model_parallel_size", message, f"one of {divisors}"
    if n == 1 and _get(config, "algorithm.adv_estimator") == "grpo":
        message = "is 1: GRPO compares the responses to one prompt, and one alone has nothing to compare with"
        yield "note-group-size", f"{_ROLLOUT}.n", message, "8 is common"


def _shares(config: Mapping[str, Any], ranks: int) -> _Found:
    """A rank's responses must fill its micro batches (verl/workers/engine/utils.py:125), or the first step dies."""
    batch, mini, n = (_get(config, p) for p in (_BATCH, _MINI, f"{_ROLLOUT}.n"))
    if _get(config, f"{_ACTOR}.use_dynamic_bsz") or not all(isinstance(v, int) and v >= 1 for v in (batch, mini, n)):
        return
    for path, prompts in (
        (f"{_ACTOR}.ppo_micro_batch_size_per_gpu", mini),
        (f"{_ROLLOUT}.log_prob_micro_batch_size_per_gpu", batch),
    ):
        micro, share = _get(config, path), prompts * n // ranks
        if isinstance(micro, int) and micro >= 1 and share >= 1 and share % micro:
            message = (
                f"is {micro}; {prompts} prompts with {n} responses over {ranks} ranks are {share} a rank: no multiple"
            )
            fits = next(m for m in range(min(micro, share), 0, -1) if share % m == 0)
            yield "micro-batch-size", path, message, f"{fits} would do"


def _micro_batches(config: Mapping[str, Any]) -> _Found:
    if _get(config, f"{_ACTOR}.use_dynamic_bsz"):
        return
    dynamic = f"or set {_ACTOR}.use_dynamic_bsz: true"
    wanted = [(f"{_ACTOR}.ppo_micro_batch_size", True), (f"{_ROLLOUT}.log_prob_micro_batch_size", True)]
    uses_reference = _get(config, f"{_ACTOR}.use_kl_loss") or _get(config, "algorithm.use_kl_in_reward")
    wanted.append((f"{_REF}.log_prob_micro_batch_size", bool(uses_reference)))
    for path, needed in wanted:
        total, each = _get(config, path), _get(config, f"{path}_per_gpu")
        if needed and total is None and each is None:
            yield (
                "micro-batch-size",
                f"{path}_per_gpu",
                "is not set, and verl has no default for it",
                f"set it, {dynamic}",
            )
        elif total is not None and each is not None:
            message = f"is set beside {path}_per_gpu; verl takes one of the two"
            yield "micro-batch-size", path, message, "leave this one out: it is deprecated"


def _next_multiple(prompts: int, n: int, ranks: int) -> int:
    """The next number of prompts whose responses the ranks can share."""
    while (prompts * n) % ranks:
        prompts += 1
    return prompts
