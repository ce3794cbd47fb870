"""Rows to audit on, of our own."""

from __future__ import annotations

from rewardkit.audit import Problem, problem_of

ROWS = (
    {"question": "A box holds 12 pens and Ann buys 6 boxes. How many pens?", "answer": "12 * 6 = 72\n#### 72"},
    {"question": "Ben runs 3 miles on each of 5 days and then 8. How far?", "answer": "15 + 8 = 23\n#### 23"},
)


def problems() -> list[Problem]:
    return [p for row in ROWS if (p := problem_of(row)) is not None]
