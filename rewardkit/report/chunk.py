"""Rows of a dump in columns, whoever wrote it: the one form that all that is counted here is counted from."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rewardkit.batch import Floats, Status, Statuses

Steps = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Rollouts:
    """Some responses and what was paid for them.

    Attributes:
        where: names the i-th row by file and line.
        total: shape (n,); NaN where a row has no score.
        terms: each term's own value, shape (n,); NaN where it has none.
        statuses: each term's status, shape (n,), for the same names.
        steps: the training step of each row; None where the dump knows no steps.
        groups: equal for the responses of one prompt within a step; None where that can't be told.
        responses: the texts; None where the dump has none.
        prompts: what was asked; None for a row or a dump without prompts.
        ground_truths: the ground truths.
        advantages: what the trainer made of the totals; None where it is not logged.
        rows: the rows as they stand in the file, under names that :mod:`rewardkit.scoring.fields` knows.
    """

    where: Callable[[int], str]
    total: Floats
    terms: Mapping[str, Floats]
    statuses: Mapping[str, Statuses]
    steps: Steps | None
    groups: Sequence[Hashable] | None
    responses: Sequence[str] | None
    prompts: Sequence[str | None] | None
    ground_truths: Sequence[Any] | None
    advantages: Floats | None
    rows: Sequence[Mapping[str, Any]]

    def __len__(self) -> int:
        return len(self.total)


def presumed(values: Floats) -> Statuses:
    """The statuses of a column that comes without: scored where there is a number, else not applicable."""
    return np.where(np.isnan(values), np.int8(Status.NOT_APPLICABLE), np.int8(Status.SCORED))
