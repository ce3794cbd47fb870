"""Equal spellings are paid, their unequal neighbours are not; both directions agree, and each text equals itself."""

from __future__ import annotations

from random import Random

import pytest

from rewardkit.answers import compare_math
from tests.rewardkit.answers.metamorphic import KINDS


def _check(kind: str, seed: int, n: int) -> None:
    rng = Random(f"{kind} {seed}")
    wrong = []
    for _ in range(n):
        pair = KINDS[kind](rng)
        there, back = compare_math(pair.ground_truth, pair.answer), compare_math(pair.answer, pair.ground_truth)
        if (there.equal, back.equal) != (pair.equal, pair.equal):
            wrong.append((*pair, there, back))
        assert compare_math(pair.answer, pair.answer).equal
        spaced = f" {pair.answer} "  # the same text with blanks, so that it is read and not only compared
        assert compare_math(spaced, pair.answer).equal, pair.answer
    assert not wrong


@pytest.mark.parametrize("kind", KINDS)
def test_pairs_of_one_meaning_and_of_two(kind: str) -> None:
    _check(kind, 0, 100)


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_a_thousand_pairs_of_one_meaning_and_of_two(kind: str) -> None:
    _check(kind, 1, 1000)
