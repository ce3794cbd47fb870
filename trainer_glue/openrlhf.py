"""A formula as OpenRLHF's reward function.

    # my_reward.py, named by --reward.remote_url (up to 0.10.1: --remote_rm_url)
    from trainer_glue.openrlhf import reward_func_of

    reward_func = reward_func_of("gsm8k() + 0.1 * ends_with('.?!')")

OpenRLHF hands over whole texts, prompt and special tokens included, and from 0.9 on one at a time; what it wants back
are tensors, so torch is imported where they are made. It has no word for "unscored". An exception here ends the run:
OpenRLHF logs it and then has no reward for the row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rewardkit.algebra.interval import Interval
from rewardkit.batch import Batch, Floats
from rewardkit.errors import CompileError, DataError, UnscoredError
from rewardkit.expression import Reward, TokenReward
from rewardkit.processes.budget import batch_budget
from rewardkit.program import compile
from rewardkit.scores import Scores
from rewardkit.source import load_reward
from trainer_glue.failures import FirstFailures
from trainer_glue.unscored import UNSCORED_LIMIT, fill_unscored

if TYPE_CHECKING:
    import torch

END_MARKS: Final = (
    "<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|eom_id|>", "<|end_of_text|>", "<|end|>", "<|return|>", "</s>",
    "<eos>", "<pad>", "<end_of_turn>", "<｜end▁of▁sentence｜>",
)  # fmt: skip
"""What the tokenizers of Qwen, Llama, Gemma, Phi, Mistral, DeepSeek and gpt-oss write where a response ends."""
LIMIT_FROM: Final = 50
"""Rows from which the share of unscored ones says something; with one row a call it is counted over the run."""

RewardFunc = Callable[..., dict[str, Any]]


def reward_func_of(
    reward: Reward | TokenReward | str,
    *,
    end_marks: Sequence[str] = END_MARKS,
    unscored_limit: float = UNSCORED_LIMIT,
) -> RewardFunc:
    """A `reward_func(queries, prompts, labels)` that pays by a formula, for OpenRLHF from 0.8.1 on.

    It returns ``rewards``; ``scores``, the same scaled to [0, 1] where the formula has bounds, for the dynamic filter;
    and ``extra_logs``: every name's own value (0 where it has none), ``<term>/status``, and ``unscored``. All are
    tensors of shape (n,). An unscored row is paid the mean of its prompt's scored rows in the same call; where there
    are none, as with one row a call, 0, with ``unscored`` 1 beside it.

    Args:
        reward: a formula, its text, a reward file or the name of a ready-made reward.
        end_marks: the special tokens that end a response, which are not part of what is scored.
        unscored_limit: the share of all rows so far that may be unscored before a call raises `UnscoredError`.

    Raises:
        CompileError: the formula needs what this seam does not hand over.
        FormulaError, ConfigError: the reward doesn't load.
    """
    program = compile(load_reward(reward).reward if isinstance(reward, str) else reward)
    lacking = sorted(program.needs & {"group", "tokens", "step", "data_source", "extra_info"})
    if lacking:
        raise CompileError(
            f"{program.reward!r} needs {', '.join(lacking)}, and OpenRLHF hands over texts and labels, a row at a time",
            hint="count lengths in words or characters; verl carries groups and token-level rewards",
        )
    failures, share = FirstFailures(), _Share(unscored_limit)

    # A function, not an object: Ray, through which older versions call it, takes nothing else.
    def reward_func(queries: Sequence[str], prompts: Sequence[str], labels: Sequence[Any], **_: Any) -> dict[str, Any]:
        responses = [_response(query, prompt, end_marks) for query, prompt in zip(queries, prompts, strict=True)]
        with batch_budget():
            scores = program(Batch(responses, list(labels), prompts=list(prompts)))
        failures.tell_of(scores)
        share.count(scores)
        paid = fill_unscored(scores, prompts)
        logs: dict[str, Any] = {name: np.nan_to_num(values) for name, values in scores.values.items()}
        logs |= {f"{name}/status": scores.statuses[name] for name in program.terms}
        logs["unscored"] = scores.unscored
        return {
            "rewards": _tensor(paid),
            "scores": _tensor(_scaled(paid, program.bounds)),
            "extra_logs": {name: _tensor(values) for name, values in logs.items()},
        }

    return reward_func


class _Share:
    """The share of unscored rows over the run."""

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self.rows = self.unscored = 0

    def count(self, scores: Scores) -> None:
        self.rows += len(scores)
        self.unscored += int(scores.unscored.sum())
        if self.rows < LIMIT_FROM or self.unscored <= self.limit * self.rows:
            return
        reason = scores.first_reason()
        raise UnscoredError(
            f"{self.unscored / self.rows:.0%} of {self.rows} responses so far could not be scored, and the limit is "
            f"{self.limit:.0%}" + (f"\nlast reason: {reason}" if reason else ""),
            hint="mend the term or the data; `unscored_limit` raises the limit where such rows are expected",
        )


def _response(query: str, prompt: str, end_marks: Sequence[str]) -> str:
    if not query.startswith(prompt):
        raise DataError(
            f"a query does not begin with its prompt: {query[:80]!r} and {prompt[:80]!r}",
            hint="OpenRLHF cuts prompts that are too long (raise --data.max_len), and some tokenizers don't decode "
            "to the text that they encoded",
        )
    response = query[len(prompt) :]
    while True:
        bare = response.rstrip()
        mark = next((mark for mark in end_marks if bare.endswith(mark)), None)
        if mark is None:
            return response
        response = bare.removesuffix(mark)


def _scaled(paid: Floats, bounds: Interval) -> Floats:
    width = bounds.high - bounds.low
    return (paid - bounds.low) / width if math.isfinite(width) and width > 0 else paid


def _tensor(values: Any) -> torch.Tensor:
    import torch

    return torch.as_tensor(np.asarray(values), dtype=torch.float32)
