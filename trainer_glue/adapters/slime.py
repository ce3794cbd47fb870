"""A formula as slime's own reward function.

    # my_reward.py, named by --custom-rm-path my_reward.reward
    from trainer_glue.adapters.slime import custom_rm_of

    reward = custom_rm_of("gsm8k() + 0.1 * ends_with('.?!')")

slime awaits it with one of its samples, or with `--group-rm` with all samples of a prompt. A row without a score is
marked `remove_sample`, which keeps it out of the loss. This module imports nothing of slime: it is the shape of a call.
slime's `--rm-type remote_rm` asks a server instead: `rewardkit serve` answers at `/slime`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

from rewardkit.batch import Batch
from rewardkit.errors import CompileError
from trainer_glue.adapters.base import Adapter, AnyReward, Trainer
from trainer_glue.adapters.chat_text import own_text
from trainer_glue.adapters.messages import prompt_text
from trainer_glue.adapters.unscored import UNSCORED_LIMIT, RunningShare, fill_unscored

_SLIME: Final = Trainer("slime", "a sample, or all samples of a prompt", frozenset({"batch", "step", "turns"}))


class CustomRM(Adapter):
    """What slime awaits. Build one with :func:`custom_rm_of`."""

    def __init__(self, reward: AnyReward, unscored_limit: float) -> None:
        super().__init__(reward, _SLIME)
        self.__name__ = "rewardkit"
        self._share = RunningShare(unscored_limit)

    async def __call__(self, args: Any, samples: Any, **_: Any) -> float | list[float]:
        """The reward of a sample, or of each of a list.

        Raises:
            CompileError: the formula compares the responses of one prompt, and a sample came alone.
            UnscoredError: more of the run's samples than the limit have no score.
        """
        if isinstance(samples, Sequence):
            return await asyncio.to_thread(self._paid, list(samples))
        if self.grouped:
            raise CompileError(
                f"{self.program.reward!r} compares the responses of one prompt, and slime hands over one",
                hint="start slime with --group-rm",
            )
        return (await asyncio.to_thread(self._paid, [samples]))[0]

    def _paid(self, samples: list[Any]) -> list[float]:
        groups = [s.group_index for s in samples]
        metadata = [s.metadata if isinstance(s.metadata, dict) else {} for s in samples]
        scores = self.score(
            Batch(
                responses=[own_text(s.response) for s in samples],
                ground_truths=[s.label for s in samples],
                prompts=[prompt_text(s.prompt) for s in samples],
                data_sources=[m.get("data_source") for m in metadata],
                extra_infos=metadata,
                groups=groups if self.grouped else None,
                truncated=[getattr(s.status, "value", s.status) == "truncated" for s in samples],
                tokens=[list(s.tokens[len(s.tokens) - s.response_length :]) for s in samples],
            )
        )
        self._share.count(scores)
        for sample, gone in zip(samples, scores.unscored, strict=True):
            sample.remove_sample = bool(sample.remove_sample or gone)
        return [float(total) for total in fill_unscored(scores, groups)]


def custom_rm_of(
    reward: AnyReward, *, unscored_limit: float = UNSCORED_LIMIT
) -> Callable[..., Awaitable[float | list[float]]]:
    """A reward function for slime's `--custom-rm-path` that pays by a formula.

    Args:
        reward: a formula, its text, a reward file or the name of a ready-made reward.
        unscored_limit: the share of all samples so far that may be unscored before a call raises `UnscoredError`.

    Raises:
        CompileError: the formula needs what slime does not hand over.
        FormulaError, ConfigError: the reward doesn't load.
    """
    return CustomRM(reward, unscored_limit)
