"""Is what a program gave what was expected: plain data against JSON, printed text against text.

Both rules look at all that was given: what stands behind the expected part makes it wrong.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from itertools import zip_longest
from typing import Any, Final, Literal

TOLERANCE: Final = 1e-6
"""How far a decimal fraction may lie from an expected one: absolutely below 1, else as a share of it. It is the usual
bound of programming contests."""

TextRule = Literal["tokens", "lines", "exact"]
"""How printed text is compared; see :func:`same_text`."""

MAX_DEPTH: Final = 200
"""Deepest nesting of data that is compared."""


def same_data(value: Any, expected: Any, *, tolerance: float = TOLERANCE, depth: int = 0) -> bool:
    """Whether plain data is what a data set holds as JSON, which has neither tuples nor keys that are numbers.

    Lists and tuples are equal entry by entry. Numbers are equal as in Python, ``1 == 1.0 == True``; where a float is
    expected, a number within the tolerance is right. A key of a dict is the text that JSON makes of it. Text is equal
    to the same text alone, and None to None.

    >>> same_data((1, [2.0]), [1, [2]]), same_data({1: "a"}, {"1": "a"}), same_data([1, 2], [1])
    (True, True, False)
    """
    if depth > MAX_DEPTH:
        return False
    if isinstance(expected, bool | int | float):
        return isinstance(value, bool | int | float) and _same_number(value, expected, tolerance)
    if isinstance(expected, list | tuple):
        return (
            isinstance(value, list | tuple)
            and len(value) == len(expected)
            and all(
                same_data(one, other, tolerance=tolerance, depth=depth + 1)
                for one, other in zip(value, expected, strict=True)
            )
        )
    if isinstance(expected, Mapping):
        if not isinstance(value, dict) or len(value) != len(expected):
            return False
        given = {_json_key(key): entry for key, entry in value.items()}
        wanted = {_json_key(key): entry for key, entry in expected.items()}
        return given.keys() == wanted.keys() and all(
            same_data(given[key], entry, tolerance=tolerance, depth=depth + 1) for key, entry in wanted.items()
        )
    return type(value) is type(expected) and bool(value == expected)


def _json_key(key: Any) -> Any:
    if key is None or isinstance(key, bool):
        return {None: "null", True: "true", False: "false"}[key]
    return repr(key) if isinstance(key, int | float) else key


def _same_number(value: float, expected: float, tolerance: float) -> bool:
    if value == expected:
        return True
    if not isinstance(expected, float) or not math.isfinite(expected):
        return isinstance(expected, float) and math.isnan(expected) and value != value
    try:
        distance = abs(float(value) - expected)
    except OverflowError:
        return False
    return distance <= tolerance * max(1.0, abs(expected))


_NUMBER: Final = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,4})?", re.ASCII)
_INTEGER: Final = re.compile(r"[+-]?\d+", re.ASCII)
_LONGEST_NUMBER: Final = 400
"""Characters of a token that is read as a number; a longer one is text."""


def same_text(printed: str, expected: str, *, rule: TextRule = "tokens", tolerance: float = TOLERANCE) -> bool:
    r"""Whether printed text is the expected text, from its beginning to its end.

    ``tokens``: the words between blanks and line ends are the same, one by one and as many. ``lines``: so they are in
    each line, and there are as many lines; blanks at the end of a line and empty lines at the end don't count.
    ``exact``: the texts are equal but for line ends at the end. In ``tokens`` and ``lines`` a word that is expected to
    be a decimal fraction is right within the tolerance, and one that is expected to be a whole number may be written
    ``3.0`` for 3; all other words are equal letter by letter.

    >>> same_text("1 2\n3.0000001", "1 2 3.0\n"), same_text("1 2", "1 2 3"), same_text("1 2", "1\n2", rule="lines")
    (True, False, False)
    """
    if rule == "exact":
        return printed.replace("\r\n", "\n").rstrip("\n") == expected.replace("\r\n", "\n").rstrip("\n")
    if rule == "lines":
        ours, theirs = printed.rstrip().splitlines(), expected.rstrip().splitlines()
        return len(ours) == len(theirs) and all(
            _same_words(one.split(), other.split(), tolerance) for one, other in zip(ours, theirs, strict=True)
        )
    return _same_words(printed.split(), expected.split(), tolerance)


def _same_words(ours: list[str], theirs: list[str], tolerance: float) -> bool:
    if len(ours) != len(theirs):
        return False
    return ours == theirs or all(
        one == other or _same_word(one, other, tolerance) for one, other in zip_longest(ours, theirs)
    )


def _same_word(word: str, expected: str, tolerance: float) -> bool:
    """Two words that differ as text."""
    if max(len(word), len(expected)) > _LONGEST_NUMBER:
        return False
    if _NUMBER.fullmatch(word) is None or _NUMBER.fullmatch(expected) is None:
        return False
    if _INTEGER.fullmatch(word) and _INTEGER.fullmatch(expected):
        return False
    try:
        given, wanted = Decimal(word), Decimal(expected)
        if _INTEGER.fullmatch(expected):
            return given == wanted
        return abs(given - wanted) <= Decimal(repr(tolerance)) * max(Decimal(1), abs(wanted))
    except (InvalidOperation, ArithmeticError):
        return False
