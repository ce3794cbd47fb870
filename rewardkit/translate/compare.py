"""A translated file next to its formula, on rows: the functions run, and the rows on which the two differ are shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from rewardkit.audit.function import FunctionSubject
from rewardkit.batch import Batch
from rewardkit.declared import COLUMN_OF
from rewardkit.errors import ConfigError
from rewardkit.program import compile
from rewardkit.scoring.fields import BadRowAt, column
from rewardkit.scoring.groups import first_rows
from rewardkit.scoring.reading import Rows
from rewardkit.source import file_value
from rewardkit.text import parse
from rewardkit.translate.file import Translation

TOLERANCE: Final = 1e-6
"""Sums in another order differ by less."""
_FIELDS: Final = ("response", "ground_truth", "prompt", "data_source", "extra_info")


@dataclass(frozen=True)
class Difference:
    """A row that the functions and the formula pay differently."""

    where: str
    response: str
    ground_truth: Any
    function: float | None
    """None where the functions raise or pay no number."""
    formula: float | None
    """None where it is unscored."""
    why: str = ""
    """What the functions raised."""


@dataclass(frozen=True)
class Comparison:
    """The rows that were looked at, and those that differ."""

    rows: int
    differences: tuple[Difference, ...]


def compare_on(translation: Translation, path: Path, data: Path, *, limit: int | None = None) -> Comparison:
    """Run the functions of a file and their formula on rows. This imports the file.

    Args:
        translation: of that file, with a formula.
        path: the file.
        data: JSON lines or parquet, as `rewardkit score` reads it.
        limit: rows to look at, from the first.

    Raises:
        ConfigError: the file doesn't load, or there is no formula.
        DataError: the rows can't be read.
    """
    if translation.formula is None:
        raise ConfigError("nothing was translated, so there is nothing to compare")
    program = compile(parse(translation.formula))
    subjects = [(_subject(path, name), weight) for name, weight in translation.functions]
    source = Rows(data, None)
    rows = 0
    found: list[Difference] = []
    for chunk in first_rows(source.chunks(), limit):
        try:
            columns: dict[str, Any] = {COLUMN_OF[f]: column(chunk.rows, f) for f in _FIELDS}
        except BadRowAt as why:
            raise source.error(chunk.numbers[why.index], why) from None
        batch = Batch(**columns)
        theirs, reasons = _paid(subjects, batch)
        scores = program(batch)
        ours = np.where(scores.unscored, np.nan, scores.total)
        same = np.isclose(theirs, ours, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True)
        rows += len(batch)
        for i in map(int, np.flatnonzero(~same)):
            sample = batch[i]
            found.append(
                Difference(
                    source.where(chunk.numbers[i]), sample.response, sample.ground_truth,
                    _number(theirs[i]), _number(ours[i]), reasons.get(i, ""),
                )
            )  # fmt: skip
    return Comparison(rows, tuple(found))


def _paid(subjects: Sequence[tuple[FunctionSubject, float]], batch: Batch) -> tuple[Any, dict[int, str]]:
    total = np.zeros(len(batch))
    reasons: dict[int, str] = {}
    for subject, weight in subjects:
        pay = subject.pay(list(batch))
        total = total + weight * pay.total
        reasons.update(pay.reasons)
    return total, reasons


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _subject(path: Path, name: str) -> FunctionSubject:
    value = file_value(f"{path}:{name}")
    if not callable(value):
        raise ConfigError(f"{path}: {name} is no function")
    return FunctionSubject(value, name)
