"""A formula as OpenRLHF's reward function.

    # my_reward.py, named by --reward.remote_url (up to 0.10.1: --remote_rm_url)
    from trainer_glue.adapters.openrlhf import reward_func_of

    reward_func = reward_func_of("gsm8k() + 0.1 * ends_with('.?!')")

OpenRLHF hands over whole texts, prompt and special tokens included, and from 0.9 on one at a time; what it wants back
are tensors, so torch is imported where they are made. It has no word for "unscored". An exception here ends the run:
OpenRLHF logs it and then has no reward for the row.

Its agents score each turn themselves, in their `step`, which is told the policy's own text:

    observed, said = states["observation_text"], states["action_text"]
    paid = reward_func([observed + said], [observed], [states["label"]])

Where a query holds several turns behind its prompt, they are cut at the role headers of the chat template, and the
policy's last one that says something is scored.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rewardkit.algebra.interval import Interval
from rewardkit.batch import Batch, Floats
from rewardkit.engine.scores import UNSCORED_KEY, status_key
from rewardkit.errors import DataError
from rewardkit.turns import Turn, last_said
from trainer_glue.adapters.base import Adapter, AnyReward, Trainer
from trainer_glue.adapters.chat_text import turns_of_text
from trainer_glue.adapters.end_tokens import END_TOKENS
from trainer_glue.adapters.unscored import UNSCORED_LIMIT, RunningShare, fill_unscored

if TYPE_CHECKING:
    import torch

RewardFunc = Callable[..., dict[str, Any]]
_OPENRLHF: Final = Trainer(
    "OpenRLHF",
    "texts and labels, a row at a time",
    frozenset({"group", "batch", "tokens", "step", "data_source", "extra_info", "truncated"}),
    "count lengths in words or characters; verl carries groups and token-level rewards",
    token_level=True,  # a placement that needs no tokens sums to the same number
)


def reward_func_of(
    reward: AnyReward, *, end_tokens: Sequence[str] = END_TOKENS, unscored_limit: float = UNSCORED_LIMIT
) -> RewardFunc:
    """A `reward_func(queries, prompts, labels)` that pays by a formula, for OpenRLHF from 0.8.1 on.

    It returns ``rewards``; ``scores``, the same scaled to [0, 1] where the formula has bounds, for the dynamic filter;
    and ``extra_logs``: every name's own value (0 where it has none), ``<term>/status``, and ``unscored``. All are
    tensors of shape (n,). An unscored row is paid the mean of its prompt's scored rows in the same call; where there
    are none, as with one row a call, 0, with ``unscored`` 1 beside it.

    Args:
        reward: a formula, its text, a reward file or the name of a ready-made reward.
        end_tokens: the special tokens that end a response, which are not part of what is scored.
        unscored_limit: the share of all rows so far that may be unscored before a call raises `UnscoredError`.

    Raises:
        CompileError: the formula needs what OpenRLHF does not hand over.
        FormulaError, ConfigError: the reward doesn't load.
    """
    adapter, share = Adapter(reward, _OPENRLHF), RunningShare(unscored_limit)
    program = adapter.program

    # A function, not an object: Ray, through which older versions call it, takes nothing else.
    def reward_func(queries: Sequence[str], prompts: Sequence[str], labels: Sequence[Any], **_: Any) -> dict[str, Any]:
        turns = [_turns(query, prompt, end_tokens) for query, prompt in zip(queries, prompts, strict=True)]
        responses = [last_said(line) for line in turns]
        scores = adapter.score(Batch(responses, list(labels), prompts=list(prompts), turns=turns))
        share.count(scores)
        paid = fill_unscored(scores, prompts)
        logs: dict[str, Any] = {name: np.nan_to_num(values) for name, values in scores.values.items()}
        logs |= {status_key(name): scores.statuses[name] for name in program.terms}
        logs[UNSCORED_KEY] = scores.unscored
        return {
            "rewards": _tensor(paid),
            "scores": _tensor(_scaled(paid, program.bounds)),
            "extra_logs": {name: _tensor(values) for name, values in logs.items()},
        }

    return reward_func


def _turns(query: str, prompt: str, end_tokens: Sequence[str]) -> tuple[Turn, ...]:
    if not query.startswith(prompt):
        raise DataError(
            f"a query does not begin with its prompt: {query[:80]!r} and {prompt[:80]!r}",
            hint="OpenRLHF cuts prompts that are too long (raise --data.max_len), and some tokenizers don't decode "
            "to the text that they encoded",
        )
    return turns_of_text(query[len(prompt) :], end_tokens)


def _scaled(paid: Floats, bounds: Interval) -> Floats:
    width = bounds.high - bounds.low
    return (paid - bounds.low) / width if math.isfinite(width) and width > 0 else paid


def _tensor(values: Any) -> torch.Tensor:
    import torch

    return torch.as_tensor(np.asarray(values), dtype=torch.float32)
