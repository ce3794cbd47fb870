"""The values of the built-in terms, as data: a case is a line."""

from __future__ import annotations

import pytest

from rewardkit import Batch, Sample, Status, bounds, compile, ends_with, gsm8k, length, parse

CASES = [
    # formula, response, total
    ("length()", "", 0),
    ("length()", " \n\t ", 0),
    ("length(0.1)", "one  two\nthree", 0.3),
    ("length(0.1, cap=0.25)", "one two three", 0.25),
    ("length(2, unit='characters')", "né\u0301e", 8),
    ("length(unit='characters')", "🙂", 1),
    ("ends_with('.?!')", "", 0),
    ("ends_with('.?!')", "   ", 0),
    ("ends_with('.?!')", "Done.", 1),
    ("ends_with('.?!')", "Done. \n", 1),
    ("ends_with('.?!')", "Done", 0),
    ("ends_with('.?!')", ".", 0),
    ("ends_with('.?!')", "... !", 0),
    ("ends_with('.?!')", "四。", 0),
    ("ends_with('。')", "四。", 1),
    ("ends_with('.?!', min_words=0)", ".", 1),
    ("ends_with('.', min_words=3)", "one two.", 0),
    ("ends_with('.', min_words=3)", "one - two three.", 1),
    ("ends_with('.', min_words=2)", "- - - - a b.", 1),
    ("length(0.1) + ends_with('.?!', min_words=0)", "Two plus two is four.", 1.5),
]


@pytest.mark.parametrize(("formula", "response", "total"), CASES)
def test_values(formula: str, response: str, total: float) -> None:
    scores = compile(formula)(Batch([response]))
    assert scores.total[0] == pytest.approx(total)
    assert scores.status[0] == Status.SCORED


GSM8K = [
    # response, ground truth, value, status
    ("She has 4 left.\n#### 4", "4", 1, Status.SCORED),
    ("#### 4.", "4", 1, Status.SCORED),
    ("#### $70,000", "70000", 1, Status.SCORED),
    ("#### 5", "4", 0, Status.SCORED),
    ("#### 4", "He sold 2+2=4 clips.\n#### 4", 1, Status.SCORED),
    ("", "4", 0, Status.NO_ANSWER),
    ("   ", "4", 0, Status.NO_ANSWER),
    ("I can't tell.", "4", 0, Status.NO_ANSWER),
    ("#### 3\n#### 4\n#### 5", "4", 0, Status.AMBIGUOUS),
    ("#### 4", None, None, Status.BAD_GOLD),
    ("#### 4", "four-ish", None, Status.BAD_GOLD),
]


@pytest.mark.parametrize(("response", "ground_truth", "value", "status"), GSM8K)
def test_gsm8k(response: str, ground_truth: str | None, value: float | None, status: Status) -> None:
    scores = compile(gsm8k())(Batch.of([Sample(response, ground_truth=ground_truth)]))
    assert Status(int(scores.status[0])) is status
    assert scores.total[0] == value if value is not None else scores.unscored[0]


def test_strict_mode_wants_the_marker() -> None:
    batch = Batch(["The answer is 4.", "#### 4"], ground_truths=["4", "4"])
    assert compile(gsm8k())(batch).total.tolist() == [1, 1]
    assert compile(gsm8k(mode="strict"))(batch).total.tolist() == [0, 1]


def test_not_answering_never_pays() -> None:
    batch = Batch(["", "#### 5", "#### 4"], ground_truths=["4"] * 3)
    for formula, expected in {
        "gsm8k()": [0, 0, 1],
        "1 - gsm8k()": [0, 1, 0],
        "when(~gsm8k(), 1, 0)": [0, 1, 0],
        "when(gsm8k(), 0, 1)": [0, 1, 0],
        "-gsm8k()": [-1, 0, -1],
        "gsm8k() * (1 - 2 * gsm8k())": [-1, 0, -1],  # the bounds say [-1, 1]: their floor
    }.items():
        assert compile(formula)(batch).total.tolist() == expected, formula


def test_length_in_tokens_counts_the_trainers_tokens() -> None:
    scores = compile(length(0.5, unit="tokens"))(Batch(["whatever", ""], tokens=[[5, 6, 7], []]))
    assert scores.total.tolist() == [1.5, 0]
    missing = compile(length(unit="tokens"))(Batch(["whatever"]))
    assert Status(int(missing.status[0])) is Status.ERROR
    assert "needs tokens" in (missing.first_reason() or "")


def test_bounds_are_what_the_parameters_say() -> None:
    assert str(bounds(length(0.1))) == "[0, unbounded above]"
    assert str(bounds(length(0.1, cap=1) - 0.5 * ends_with("."))) == "[-0.5, 1]"
    assert str(bounds(parse("when(gsm8k(), 1 + 0.2*length(0.1, cap=1), 0)"))) == "[0, 1.2]"
