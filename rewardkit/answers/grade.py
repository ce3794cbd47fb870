"""The verdict on one response, and the verdicts that need no comparison."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from rewardkit.answers.extract import Answer
from rewardkit.batch import Status


@dataclass(frozen=True, slots=True)
class Grade:
    """A verdict on one response."""

    value: float
    """1.0 right, 0.0 wrong or without an answer, NaN when unscored."""
    status: Status
    stage: str = ""
    """The stage of the cascade that decided: ``text``, ``number``, ...; empty when nothing was compared."""
    answer: Answer | None = None
    reason: str = ""
    """Why there is no verdict, where there is none."""


FAILED: Final = {
    Status.NO_ANSWER: Grade(0.0, Status.NO_ANSWER, reason="the response asserts no answer"),
    Status.AMBIGUOUS: Grade(0.0, Status.AMBIGUOUS, reason="the response asserts several answers"),
    Status.LIMIT: Grade(0.0, Status.LIMIT, reason="the response is over a static limit"),
}


def broken(reason: str) -> Grade:
    """The grade where a grader itself failed: a fault of ours, which costs the policy nothing and the batch one row."""
    return Grade(float("nan"), Status.ERROR, reason=reason)


def beyond_reading(error: BaseException, answer: Answer | None = None) -> Grade:
    """The grade of a response whose text no grader could read to its end.

    What the policy wrote is the policy's: an unscored row would let it dodge a penalty by writing such a text.
    """
    shown = f"{type(error).__name__}: {error}"
    return Grade(0.0, Status.LIMIT, answer=answer, reason=f"reading the response failed: {shown[:300]}")


def blamed(error: BaseException, read_truth: Callable[[], object], ground_truth: object) -> Grade:
    """The grade where a grader failed: the response's fault, unless the ground truth can't be read without it either.

    Args:
        error: what the grader raised.
        read_truth: grades an empty response against the same ground truth.
        ground_truth: the ground truth.
    """
    try:
        read_truth()
    except Exception:
        return bad_gold(ground_truth)
    return beyond_reading(error)


def bad_gold(ground_truth: object) -> Grade:
    """The grade of any response to a ground truth that can't be used."""
    try:
        shown = repr(ground_truth)
    except Exception:  # an integer of over 4300 digits, somebody's own class
        shown = type(ground_truth).__name__
    return Grade(
        float("nan"),
        Status.BAD_GOLD,
        reason=f"unusable ground truth {shown[:80] + '...' if len(shown) > 80 else shown}",
    )
