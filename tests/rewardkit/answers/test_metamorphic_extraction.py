"""Equal spellings are paid and unequal neighbours are not, for pairs that generators make."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from rewardkit.answers import Grade, grade_choice, grade_gsm8k, grade_math, grade_numeric
from tests.rewardkit.answers.metamorphic_extraction import KINDS

GRADERS: dict[str, Callable[[str, object], Grade]] = {
    "gsm8k": grade_gsm8k,
    "numeric": grade_numeric,
    "math_equal": grade_math,
    "choice": grade_choice,
}


def wrong(kind: str, pairs: int, seed: int) -> list[str]:
    """The pairs of a kind on which a grader says otherwise."""
    rng = random.Random(f"{kind} {seed}")
    lines = []
    for _ in range(pairs):
        pair = KINDS[kind](rng)
        for term in pair.terms:
            grade = GRADERS[term](pair.response, pair.ground_truth)
            if grade.value != pair.expect:
                lines.append(
                    f"{term} {pair.response!r} <- {pair.ground_truth!r}: {pair.expect}, not {grade.value} ({grade})"
                )
    return lines


@pytest.mark.parametrize("kind", KINDS)
def test_pairs_are_graded_as_they_were_made(kind: str) -> None:
    assert not wrong(kind, 100, 0)


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_a_thousand_pairs_are_graded_as_they_were_made(kind: str) -> None:
    assert not wrong(kind, 1_000, 1)
