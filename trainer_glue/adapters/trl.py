"""A formula as a reward function of TRL's GRPOTrainer.

    reward = RewardFunction("gsm8k() + 0.1 * ends_with('.?!')", ground_truth="answer")
    trainer = GRPOTrainer(model, reward_funcs=reward, ...)

TRL hands over whole batches with the dataset's columns, takes one number a response, and has its own word for
"unscored": None. So there is no placement on tokens here; terms may read token ids, and group-relative ones see their
groups where TRL gives a process whole groups. This module imports nothing of TRL: it is the shape of a call.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from rewardkit.batch import Batch
from rewardkit.engine.detokenizer import Decoder
from rewardkit.engine.scores import Scores
from rewardkit.errors import CompileError, ConfigError, did_you_mean
from rewardkit.turns import with_last_said
from trainer_glue.adapters.base import Adapter, AnyReward, Trainer
from trainer_glue.adapters.messages import prompt_text, reply_text, turn_column
from trainer_glue.adapters.unscored import UNSCORED_LIMIT, check_unscored

PREFIX: Final = "reward"
_TRL: Final = Trainer(
    "TRL",
    "no sign of which responses were cut off",
    frozenset({"truncated"}),
    "GRPOConfig(mask_truncated_completions=True) leaves those out",
)
_COLUMNS: Final[Mapping[str, str]] = {"data_source": "data_sources", "extra_info": "extra_infos"}


class RewardFunction(Adapter):
    """What GRPOTrainer calls.

    Every call logs, where TRL offers it, the metrics ``reward/<name>/mean``, ``reward/<name>/std`` and
    ``reward/<term>/status/<status>``, and a column for each term in the table of completions.

    Args:
        reward: a formula, its text, a reward file or the name of a ready-made reward.
        ground_truth: the dataset's column with the ground truths.
        num_generations: the trainer's own; needed by formulas that compare the responses of one prompt.
        unscored_limit: the share of a call's rows that may be unscored before it raises.
        tokenizer: the policy's, where its marks such as `<think>` are special tokens: TRL takes these out of the text,
            so that a response of one turn is decoded anew, marks kept.

    Raises:
        CompileError: the formula is token-level, or compares a group and num_generations is not given.
        FormulaError, ConfigError: the reward doesn't load.
    """

    def __init__(
        self,
        reward: AnyReward,
        *,
        ground_truth: str = "ground_truth",
        num_generations: int | None = None,
        unscored_limit: float = UNSCORED_LIMIT,
        tokenizer: Any = None,
    ) -> None:
        super().__init__(reward, _TRL)
        self.ground_truth = ground_truth
        self.num_generations = num_generations
        self.unscored_limit = unscored_limit
        self._decoder = None if tokenizer is None else Decoder(tokenizer)
        self.__name__ = "rewardkit"  # TRL names its own metrics after it
        if self.grouped and num_generations is None:
            raise CompileError(
                f"{self.program.reward!r} compares the responses of one prompt",
                hint="RewardFunction(..., num_generations=args.num_generations), so that a group that TRL has split "
                "over processes is noticed",
            )

    def __call__(
        self,
        prompts: Sequence[Any],
        completions: Sequence[Any],
        completion_ids: Sequence[Sequence[int]] | None = None,
        *,
        trainer_state: Any = None,
        log_metric: Callable[[str, float], object] | None = None,
        log_extra: Callable[[str, list[Any]], object] | None = None,
        **columns: Sequence[Any],
    ) -> list[float | None]:
        """Score a batch.

        Args:
            prompts: texts or lists of chat messages.
            completions: texts or lists of chat messages; the last one that the policy wrote is scored.
            completion_ids: the responses' token ids.
            trainer_state: TRL's, for the step of schedules.
            log_metric: TRL's way to log a number.
            log_extra: TRL's way to add a column to the table of completions.
            columns: the dataset's columns, one entry a response.

        Returns:
            One number a response; None where it is unscored, which TRL leaves out of the advantages.

        Raises:
            ConfigError: the dataset lacks a column that the formula needs.
            CompileError: a group is not whole.
            UnscoredError: more than ``unscored_limit`` of the rows have no score.
        """
        scores = self.score(self.batch_of(prompts, completions, completion_ids, trainer_state, columns))
        check_unscored(scores, self.unscored_limit)
        log(scores, log_metric, log_extra)
        return [None if gone else float(total) for total, gone in zip(scores.total, scores.unscored, strict=True)]

    def batch_of(
        self,
        prompts: Sequence[Any],
        completions: Sequence[Any],
        ids: Sequence[Sequence[int]] | None,
        state: Any,
        columns: Mapping[str, Sequence[Any]],
    ) -> Batch:
        """What TRL handed over, as a batch."""
        truths = columns.get(self.ground_truth)
        if truths is None and "ground_truth" in self.program.needs:
            raise ConfigError(
                f"{self.program.reward!r} needs a ground truth, and the dataset has no column {self.ground_truth!r}; "
                f"it has {', '.join(sorted(columns)) or 'none'}",
                hint=did_you_mean(self.ground_truth, columns) or "name the column: RewardFunction(ground_truth='...')",
            )
        texts = [prompt_text(prompt) for prompt in prompts]
        if self.grouped:
            self._check_groups(texts)
        if "batch" in self.program.needs and int(os.environ.get("WORLD_SIZE", "1")) > 1:
            raise CompileError(
                f"{self.program.reward!r} compares all rows of a step, and TRL hands each process its share of them",
                hint="one process, or GRPOConfig(scale_rewards='batch') in the place of batch_zscore",
            )
        replies = [reply_text(completion) for completion in completions]
        turns = turn_column(completions, self.program.needs)
        if self._decoder is not None and ids is not None:
            alone = [
                i for i, completion in enumerate(completions) if isinstance(completion, str) or len(completion) == 1
            ]
            for i, text in zip(alone, self._decoder([list(ids[i]) for i in alone]), strict=True):
                replies[i] = text
                if turns is not None:
                    turns[i] = with_last_said(turns[i], text)
        given = {batch: columns[own] for own, batch in _COLUMNS.items() if columns.get(own) is not None}
        return Batch(
            responses=replies,
            ground_truths=truths,
            prompts=texts,
            groups=texts if self.grouped else None,
            tokens=None if ids is None else [list(line) for line in ids],
            turns=turns,
            chats=prompts,
            step=None if state is None else int(state.global_step),
            **given,
        )

    def _check_groups(self, prompts: Sequence[str]) -> None:
        assert self.num_generations is not None
        for prompt, count in Counter(prompts).items():
            if count % self.num_generations:
                raise CompileError(
                    f"{count} responses of one prompt came, and a group has {self.num_generations}: {prompt[:80]!r}",
                    hint="make per_device_train_batch_size a multiple of num_generations, so that no group is split",
                )


def log(
    scores: Scores,
    log_metric: Callable[[str, float], object] | None,
    log_extra: Callable[[str, list[Any]], object] | None,
) -> None:
    """Hand TRL the metrics of a batch, and a column for each name, where it takes them."""
    if log_metric is not None:
        for key, value in scores.summary().items():
            log_metric(f"{PREFIX}/{key}", value)
    if log_extra is not None:
        for name, values in scores.values.items():
            log_extra(name, values.tolist())
