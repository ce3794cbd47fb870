"""Columns out of rows, checked: numbers, texts, steps. A bad row is an error that names its line."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from rewardkit.batch import Floats
from rewardkit.errors import DataError
from rewardkit.report.chunk import Steps

Row = Mapping[str, Any]
Where = Callable[[int], str]
_LARGEST = int(np.finfo(np.float64).max)
_NUMBERS = frozenset({int, float, bool, type(None)})


def numbers(rows: Sequence[Row], name: str, where: Where, *, needed: bool = False) -> Floats:
    """A column of numbers; null, missing and what is not finite are NaN.

    Raises:
        DataError: a value that is not a number, or a missing one where it is needed.
    """
    values = [row.get(name) for row in rows]
    for i, value in enumerate(values):
        if type(value) not in _NUMBERS or (needed and name not in rows[i]):
            what = f"is {_short(value)}" if name in rows[i] else "is missing"
            raise DataError(f"{where(i)}: `{name}` {what}; expected a number")
    try:
        column = np.array([math.nan if v is None else v for v in values], dtype=np.float64)
    except OverflowError:  # an integer that no float is near to
        i = next(i for i, v in enumerate(values) if type(v) is int and abs(v) > _LARGEST)
        raise DataError(f"{where(i)}: `{name}` is too large for a number: {_short(values[i])}") from None
    column[~np.isfinite(column)] = math.nan
    return column


def numeric_names(rows: Sequence[Row]) -> list[str]:
    """The keys under which all rows have numbers or nothing, and one has a number; in the rows' order."""
    names = dict.fromkeys(chain.from_iterable(rows))
    kinds = {name: {type(row.get(name)) for row in rows} for name in names}
    return [name for name, types in kinds.items() if types <= _NUMBERS and types != {type(None)}]


def texts(rows: Sequence[Row], name: str, where: Where) -> list[str]:
    """A column of texts; chat messages become their contents.

    Raises:
        DataError: a value that is not text.
    """
    return [_text(row.get(name), name, where, i) for i, row in enumerate(rows)]


def optional_texts(rows: Sequence[Row], name: str, where: Where) -> list[str | None]:
    """A column of texts some of which, or all, may be missing."""
    return [None if (v := row.get(name)) is None else _text(v, name, where, i) for i, row in enumerate(rows)]


def steps(rows: Sequence[Row], where: Where) -> Steps | None:
    """The rows' `step`; None where no row has one.

    Raises:
        DataError: a step that is not a whole number, or rows with and without one.
    """
    values = [row.get("step") for row in rows]
    if all(value is None for value in values):
        return None
    for i, value in enumerate(values):
        if isinstance(value, str) and value.isdecimal() and len(value) < 19:  # as older loggers write it
            values[i] = int(value)
        elif type(value) is not int or abs(value) >= 1 << 63:
            what = "is missing" if value is None else f"is {_short(value)}"
            raise DataError(f"{where(i)}: `step` {what}; expected a whole number")
    return np.array(values, dtype=np.int64)


def _text(value: object, name: str, where: Where, i: int) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(m, Mapping) for m in value):
        return "\n\n".join(m["content"] for m in value if isinstance(m.get("content"), str))
    raise DataError(f"{where(i)}: `{name}` is {_short(value)}; expected text")


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
