"""Two number answers, compared exactly; and golds, checked once.

The ladder of number answers has two rungs: equal text, exact number. Nothing here goes through a float. LaTeX, tuples
and symbols are compared in the LaTeX rooms of this package.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from rewardkit.answers.claim import direct
from rewardkit.answers.limits import MAX_CLAIM
from rewardkit.answers.number import Number, fold, whole
from rewardkit.batch import Status


@dataclass(frozen=True, slots=True)
class Comparison:
    """Whether two answers are the same, and the rung of the ladder that decided."""

    equal: bool
    rung: str


TEXT = Comparison(True, "text")
EQUAL = Comparison(True, "number")
UNEQUAL = Comparison(False, "number")
NO_NUMBER = Comparison(False, "no-number")


def compare(gold: str, answer: str) -> Comparison:
    r"""Compare two short answers as numbers, exactly.

    Formatting doesn't count (``$18``, ``18.00``, ``**18**``, ``18 dollars``, ``\boxed{18}``, a trailing period); a
    percent sign or unit is dropped, never converted. Equal text is equal whatever it says.

    >>> compare("70000", "70,000")
    Comparison(equal=True, rung='number')
    >>> compare("72", "7,2").equal, compare("1/2", "0.5").equal, compare("7/2", "3 1/2").equal
    (False, True, True)
    """
    if gold == answer or gold.strip() == answer.strip():
        return TEXT if gold.strip() else NO_NUMBER
    left, right = number_of(gold), number_of(answer)
    if left is None or right is None:
        return NO_NUMBER
    return EQUAL if left == right else UNEQUAL


def number_of(text: str) -> Number | None:
    """The number that a short answer is, or None where it isn't exactly one."""
    if len(text) > MAX_CLAIM:
        return None
    found = direct(fold(text))
    return found.value if found is not None and found.status is Status.SCORED else None


@functools.lru_cache(maxsize=65_536)
def gold_number(text: str) -> Number | None:
    """The number of a gold text: a plain number, or a solution that marks one (``... #### 72``). None: unusable.

    A gold is never guessed at: the last number of a text without a marker is no gold.
    """
    _, hashes, tail = text.rpartition("####")
    if hashes:
        return number_of(tail.partition("\n")[0])
    value = number_of(text)
    if value is None and "boxed" in text:
        from rewardkit.answers.extract import Answer, extract

        found = extract(text)
        return found.value if isinstance(found, Answer) else None
    return value


Gold = str | int | float | Decimal | Fraction | Sequence[object] | None


def gold_numbers(gold: object) -> tuple[Number, ...]:
    """The acceptable numbers of a gold; empty when it is unusable.

    A list means that any of its entries is right; entries that can't be read are left out, and a list with none left is
    unusable. A float counts as the decimal that it prints as.
    """
    if isinstance(gold, str):
        value = gold_number(gold)
        return () if value is None else (value,)
    if isinstance(gold, bool) or gold is None:
        return ()
    if isinstance(gold, int):
        return (int(gold),)
    if isinstance(gold, float):  # numpy's float64 is one, and its repr is no number
        return (whole(Fraction(repr(float(gold)))),) if math.isfinite(gold) else ()
    if isinstance(gold, Decimal):
        return (whole(Fraction(gold)),) if gold.is_finite() and abs(gold.adjusted()) < MAX_CLAIM else ()
    if isinstance(gold, Fraction):
        return (whole(gold),)
    tolist = getattr(gold, "tolist", None)
    if callable(tolist):  # numpy scalars and arrays, as parquet columns come
        return gold_numbers(tolist())
    if isinstance(gold, Sequence) and not isinstance(gold, bytes | bytearray):
        return tuple(v for entry in gold if not isinstance(entry, list | tuple) for v in gold_numbers(entry))
    return ()
