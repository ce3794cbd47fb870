"""Two number answers, compared exactly; and ground truths, checked once.

The cascade of number answers has two stages: equal text, exact number. Nothing here goes through a float. LaTeX, tuples
and symbols are compared in the LaTeX package.
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
    """Whether two answers are the same, and the stage of the cascade that decided."""

    equal: bool
    stage: str


TEXT = Comparison(True, "text")
EQUAL = Comparison(True, "number")
UNEQUAL = Comparison(False, "number")
NO_NUMBER = Comparison(False, "no-number")


def compare(ground_truth: str, answer: str) -> Comparison:
    r"""Compare two short answers as numbers, exactly.

    Formatting doesn't count (``$18``, ``18.00``, ``**18**``, ``18 dollars``, ``\boxed{18}``, a trailing period); a
    percent sign or unit is dropped, never converted. Equal text is equal whatever it says.

    >>> compare("70000", "70,000")
    Comparison(equal=True, stage='number')
    >>> compare("72", "7,2").equal, compare("1/2", "0.5").equal, compare("7/2", "3 1/2").equal
    (False, True, True)
    """
    if ground_truth == answer or ground_truth.strip() == answer.strip():
        return TEXT if ground_truth.strip() else NO_NUMBER
    left, right = number_of(ground_truth), number_of(answer)
    if left is None or right is None:
        return NO_NUMBER
    return EQUAL if left == right else UNEQUAL


def number_of(text: str) -> Number | None:
    """The number that a short answer is, or None where it isn't exactly one."""
    if len(text) > MAX_CLAIM:
        return None
    claim = direct(fold(text))
    return claim.value if claim is not None and claim.status is Status.SCORED else None


@functools.lru_cache(maxsize=65_536)
def truth_number(text: str) -> Number | None:
    """The number of a ground truth: a plain number, or a solution that marks one (``... #### 72``). None: unusable.

    A ground truth is never guessed at: the last number of a text without a marker is not a ground truth.
    """
    _, hashes, tail = text.rpartition("####")
    if hashes:
        return number_of(tail.partition("\n")[0])
    value = number_of(text)
    if value is None and "boxed" in text:
        from rewardkit.answers.extract import Answer, extract

        answer = extract(text)
        return answer.value if isinstance(answer, Answer) else None
    return value


GroundTruth = str | int | float | Decimal | Fraction | Sequence[object] | None


def truth_numbers(ground_truth: object) -> tuple[Number, ...]:
    """The acceptable numbers of a ground truth; empty when it is unusable.

    A list means that any of its entries is right; entries that can't be read are left out, and a list with none left is
    unusable. A float counts as the decimal that it prints as.
    """
    if isinstance(ground_truth, str):
        value = truth_number(ground_truth)
        return () if value is None else (value,)
    if isinstance(ground_truth, bool) or ground_truth is None:
        return ()
    if isinstance(ground_truth, int):
        return (int(ground_truth),)
    if isinstance(ground_truth, float):  # numpy's float64 is one, and its repr is not a number
        return (whole(Fraction(repr(float(ground_truth)))),) if math.isfinite(ground_truth) else ()
    if isinstance(ground_truth, Decimal):
        return (
            (whole(Fraction(ground_truth)),)
            if ground_truth.is_finite() and abs(ground_truth.adjusted()) < MAX_CLAIM
            else ()
        )
    if isinstance(ground_truth, Fraction):
        return (whole(ground_truth),)
    tolist = getattr(ground_truth, "tolist", None)
    if callable(tolist):  # numpy scalars and arrays, as parquet columns come
        return truth_numbers(tolist())
    if isinstance(ground_truth, Sequence) and not isinstance(ground_truth, bytes | bytearray):
        return tuple(v for entry in ground_truth if not isinstance(entry, list | tuple) for v in truth_numbers(entry))
    return ()
