"""The verdict on one response, and the verdicts that need no comparison."""

from __future__ import annotations

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
    rung: str = ""
    """The rung of the ladder that decided: ``text``, ``number``, ...; empty when nothing was compared."""
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


def bad_gold(gold: object) -> Grade:
    """The grade of any response to a gold that can't be used."""
    try:
        shown = repr(gold)
    except Exception:  # an integer of over 4300 digits, somebody's own class
        shown = type(gold).__name__
    return Grade(
        float("nan"),
        Status.BAD_GOLD,
        reason=f"unusable ground truth {shown[:80] + '...' if len(shown) > 80 else shown}",
    )
