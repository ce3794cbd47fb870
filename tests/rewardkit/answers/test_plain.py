"""Numbers within a tolerance, option letters, exact texts."""

from __future__ import annotations

from fractions import Fraction

import pytest

from rewardkit.answers import grade_choice, grade_exact, grade_numeric
from rewardkit.batch import Status
from rewardkit.errors import ParameterError


@pytest.mark.parametrize(
    ("response", "truth", "tolerance", "relative", "value"),
    [
        ("It is about 3.14.", "3.14159", 0.01, 0, 1),
        ("It is about 3.1.", "3.14159", 0.01, 0, 0),
        ("#### 103", "100", 0, 0.03, 1),
        ("#### 103.0001", "100", 0, 0.03, 0),
        ("#### 0.3", "0.1", 0.2, 0, 1),  # 0.1 + 0.2 is 0.3 when nothing is a float
        ("#### 1/3", "0.33", Fraction(1, 100), 0, 1),
        ("#### -5", "5", 9.9, 0, 0),
        ("#### 7", ["1", "8"], 1, 0, 1),
    ],
)
def test_numeric(response: str, truth: object, tolerance: float, relative: float, value: float) -> None:
    assert grade_numeric(response, truth, tolerance=tolerance, relative=relative).value == value


@pytest.mark.parametrize("bad", [-1, float("nan"), float("inf")])
def test_numeric_refuses_a_tolerance_that_is_none(bad: float) -> None:
    with pytest.raises(ParameterError, match="tolerance"):
        grade_numeric("1", "1", tolerance=bad)


@pytest.mark.parametrize(
    ("response", "letter"),
    [
        ("C", "C"),
        ("(C)", "C"),
        ("**C**", "C"),
        ("\\boxed{\\text{(C)}}", "C"),
        ("The answer is C.", "C"),
        ("The answer is (C): 5 apples", "C"),
        ("Answer: C", "C"),
        ("I pick C because A is wrong.", "C"),
        ("It can't be A or B, so it is C.", "C"),
        ("The answer is not A but C.", "C"),
        ("A is wrong. C is right.", "C"),
        ("A careful look says C", "C"),
        ("The answer is C, not A.", "C"),
        ("<think>Maybe A</think> C", "C"),
        ("At first the answer is A. But no, the correct answer is C.", "C"),
        ("The answer is A or C.", Status.AMBIGUOUS),
        ("A, B and C", Status.AMBIGUOUS),
        ("Not C.", Status.NO_ANSWER),
        ("Is it C?", Status.NO_ANSWER),
        ("None of them", Status.NO_ANSWER),
        ("", Status.NO_ANSWER),
    ],
)
def test_choice(response: str, letter: str | Status) -> None:
    grade = grade_choice(response, "C")
    if isinstance(letter, str):
        assert grade.answer is not None
        assert grade.answer.text == letter
        assert grade.value == 1
        assert grade_choice(response, "D").value == 0
    else:
        assert (grade.value, grade.status) == (0.0, letter)


@pytest.mark.parametrize("truth", ["C", "(C)", "C. because", "(C) Cecile", "\\boxed{C}", "c", "the right one is (C)"])
def test_choice_reads_its_ground_truth(truth: str) -> None:
    assert grade_choice("The answer is C.", truth).value == 1


@pytest.mark.parametrize("truth", ["", None, 3, "no letter here", "A or B"])
def test_choice_without_one_letter_in_the_ground_truth_is_unscored(truth: object) -> None:
    assert grade_choice("The answer is C.", truth).status is Status.BAD_GOLD


@pytest.mark.parametrize(
    ("response", "truth", "normalize", "value"),
    [
        ("  Paris\n", "Paris", "whitespace", 1),
        ("paris", "Paris", "whitespace", 0),
        ("The  capital is Paris.", "capital is paris", "words", 1),
        ("<think>x</think><answer>Paris</answer> indeed", "Paris", "whitespace", 1),
        ("Hello-123!", "hello123", "letters", 1),
        ("Paris", ["Rome", "Paris"], "whitespace", 1),
        ("Paris, Rome", "Paris", "words", 0),
    ],
)
def test_exact(response: str, truth: object, normalize: str, value: float) -> None:
    assert grade_exact(response, truth, normalize=normalize).value == value  # type: ignore[arg-type]


def test_exact_statuses() -> None:
    assert grade_exact("", "x").status is Status.NO_ANSWER
    assert grade_exact("x", "").status is Status.BAD_GOLD
    assert grade_exact("x" * 100_000, "x").status is Status.LIMIT
