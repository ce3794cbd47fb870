"""A formula as a reward of ms-swift's GRPO.

    # plugin.py, named by --external_plugins plugin.py --reward_funcs mine
    from swift.rewards import orms
    from trainer_glue.adapters.ms_swift import orm_of

    orms["mine"] = orm_of("gsm8k() + 0.1 * ends_with('.?!')", ground_truth="solution")

ms-swift builds the class once and calls it with the completions of a batch and, as lists, what it knows of each row:
`messages`, `prompt_id`, `is_truncated`, `response_token_ids` and the data set's own columns. Its word for "unscored" is
None. This module imports nothing of ms-swift: it is the shape of a call.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from rewardkit.batch import Batch
from rewardkit.errors import CompileError, ConfigError, did_you_mean
from trainer_glue.adapters.base import Adapter, AnyReward, Trainer
from trainer_glue.adapters.messages import prompt_text, reply_text, turn_column
from trainer_glue.adapters.unscored import UNSCORED_LIMIT, check_unscored

_MS_SWIFT: Final = Trainer("ms-swift", "a process's share of a step's rows", frozenset({"batch"}))
_OWN: Final = frozenset({"messages", "prompt_id", "request_id", "finish_reason", "is_truncated", "rollout_infos"})
"""Columns that ms-swift adds to the data set's."""


class _Orm(Adapter):
    """What ms-swift calls; a subclass of it says by what formula."""

    reward: AnyReward
    ground_truth: str
    num_generations: int | None
    unscored_limit: float

    def __init__(self, args: Any = None, **_: Any) -> None:
        super().__init__(self.reward, _MS_SWIFT)
        self.args = args
        given = getattr(args, "num_generations", None)
        self._group_size = self.num_generations or (given if isinstance(given, int) else None)

    def __call__(self, completions: Sequence[Any], **columns: Any) -> list[float | None]:
        """Score a batch.

        Args:
            completions: the responses' texts. Where the rows have messages, the policy's last one that says something
                counts, and never a tool's.
            columns: lists, one entry a row, and ms-swift's ``trainer_state``.

        Returns:
            One number a response; None where it is unscored, which ms-swift leaves out.

        Raises:
            ConfigError: the data set lacks a column that the formula needs.
            CompileError: a group is not whole.
            UnscoredError: more than ``unscored_limit`` of the rows have no score.
        """
        scores = self.score(self._batch(completions, columns))
        check_unscored(scores, self.unscored_limit)
        return [None if gone else float(total) for total, gone in zip(scores.total, scores.unscored, strict=True)]

    def _batch(self, completions: Sequence[Any], columns: dict[str, Any]) -> Batch:
        state = columns.pop("trainer_state", None)
        columns.pop("trajectory_inputs", None)
        truths = columns.get(self.ground_truth)
        if truths is None and "ground_truth" in self.program.needs:
            own = sorted(set(columns) - _OWN)
            raise ConfigError(
                f"{self.program.reward!r} needs a ground truth, and the rows have no column {self.ground_truth!r}; "
                f"they have {', '.join(own) or 'none of the data set'}",
                hint=did_you_mean(self.ground_truth, own) or "name the column: orm_of(..., ground_truth='...')",
            )
        asked, said = zip(*map(_split, columns.get("messages") or [[c] for c in completions]), strict=True)
        groups = columns.get("prompt_id") or [prompt_text(messages) for messages in asked]
        if self.grouped:
            self._check_groups(groups)
        tokens = columns.get("response_token_ids")
        extra = columns.get("extra_info") or _rows({k: v for k, v in columns.items() if k not in _OWN})
        return Batch(
            responses=[reply_text(turns) for turns in said],
            ground_truths=truths,
            prompts=[prompt_text(messages) for messages in asked],
            data_sources=columns.get("data_source"),
            extra_infos=extra,
            groups=groups if self.grouped else None,
            truncated=columns.get("is_truncated"),
            tokens=None if not tokens or not all(tokens) else [_flat(ids) for ids in tokens],
            turns=turn_column(said, self.program.needs),
            step=None if state is None else int(state.global_step),
        )

    def _check_groups(self, groups: Sequence[Any]) -> None:
        for group, count in Counter(groups).items():
            if self._group_size is None or count % self._group_size:
                known = "is not known" if self._group_size is None else f"is {self._group_size}"
                raise CompileError(
                    f"{self.program.reward!r} compares the responses of one prompt: {count} of {group!r} came, and the "
                    f"size of a group {known}",
                    hint="orm_of(..., num_generations=...); make the batch of a device a multiple of it",
                )


def _split(messages: Any) -> tuple[list[Any], list[Any]]:
    """What was asked, up to the last message of a user, and what came after it."""
    messages = list(messages)
    users = [i for i, m in enumerate(messages) if isinstance(m, Mapping) and m.get("role") == "user"]
    at = users[-1] + 1 if users else len(messages) - 1
    return messages[:at], messages[at:]


def _flat(ids: Any) -> list[int]:
    """Token ids of one response; those of several turns one after another."""
    return [int(i) for part in ids for i in (part if isinstance(part, list | tuple) else [part])]


def _rows(columns: dict[str, Any]) -> list[dict[str, Any]]:
    listed = {name: values for name, values in columns.items() if isinstance(values, list | tuple)}
    return [dict(zip(listed, row, strict=True)) for row in zip(*listed.values(), strict=False)] or None  # type: ignore[return-value]


def orm_of(
    reward: AnyReward,
    *,
    ground_truth: str = "solution",
    num_generations: int | None = None,
    unscored_limit: float = UNSCORED_LIMIT,
) -> type[_Orm]:
    """A class for ms-swift's `orms` that pays by a formula.

    Args:
        reward: a formula, its text, a reward file or the name of a ready-made reward.
        ground_truth: the data set's column with the ground truths.
        num_generations: responses to a prompt, where the formula compares them; None: what ms-swift is started with.
        unscored_limit: the share of a call's rows that may be unscored before it raises.

    Raises:
        CompileError: the formula needs what ms-swift does not hand over.
        FormulaError, ConfigError: the reward doesn't load.
    """
    Adapter(reward, _MS_SWIFT)  # what is wrong with the formula is said here, not when the trainer is built
    fields = {
        "reward": reward,
        "ground_truth": ground_truth,
        "num_generations": num_generations,
        "unscored_limit": unscored_limit,
        "__doc__": "A reward of ms-swift that pays by a formula.",
    }
    return type("RewardkitOrm", (_Orm,), fields)
