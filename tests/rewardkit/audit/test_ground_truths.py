"""Golds are read as short answers, and the wrong answers made beside them are wrong."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit.answers import grade_gsm8k
from rewardkit.audit.ground_truths import GroundTruth, Kind, truth_of


@pytest.mark.parametrize(
    ("value", "text", "kind"),
    [
        ("72", "72", Kind.NUMBER),
        (72, "72", Kind.NUMBER),
        ("12 * 6 = 72\n#### 72", "72", Kind.NUMBER),
        ("#### 70,000", "70000", Kind.NUMBER),
        (["72", "72.0"], "72", Kind.NUMBER),
        ("C", "C", Kind.CHOICE),
        ("(B) Paris", "B", Kind.CHOICE),
        ("so it is \\boxed{\\frac{1}{2}}", "\\frac{1}{2}", None),
        ("x^2+1", "x^2+1", Kind.FORMULA),
        ("Paris", "Paris", Kind.TEXT),
    ],
)
def test_a_ground_truth_is_read(value: Any, text: str, kind: Kind | None) -> None:
    truth = truth_of(value)
    assert truth is not None
    assert truth.text == text
    assert kind is None or truth.kind is kind


@pytest.mark.parametrize("value", [None, "", "   ", [], True, "word " * 100])
def test_what_can_t_be_answered_is_no_ground_truth(value: Any) -> None:
    assert truth_of(value) is None


@given(st.integers(-(10**6), 10**6) | st.decimals(-1000, 1000, places=2).map(str))
def test_wrong_answers_are_wrong(value: int | str) -> None:
    truth = truth_of(str(value))
    assert truth is not None
    assert len(truth.wrong) >= 3
    assert all(grade_gsm8k(f"#### {wrong}", truth.text).value == 0 for wrong in truth.wrong)


def test_a_ground_truth_stands_in_a_text_on_its_own() -> None:
    seven = GroundTruth("7", Kind.NUMBER)
    assert seven.stands_in("it is 7.") and seven.stands_in("step7") and seven.stands_in("7")
    assert not seven.stands_in("it is 72") and not seven.stands_in("0.7") and not seven.stands_in("7.5")
    assert GroundTruth("A", Kind.CHOICE).stands_in("(A)") and not GroundTruth("A", Kind.CHOICE).stands_in("An")
