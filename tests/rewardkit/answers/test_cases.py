"""Answer checking on cases kept as data: adding a case is adding a line to a file in tests/data."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from rewardkit.answers import compare_math, grade_choice, grade_gsm8k, grade_math

DATA = Path(__file__).resolve().parents[2] / "data"


def _cases(name: str) -> list[Any]:
    rows = [json.loads(line) for line in (DATA / name).read_text(encoding="utf-8").splitlines()]
    return [pytest.param(row, id=row["id"]) for row in rows]


def _check(case: dict[str, Any], grade: Any) -> None:
    if case["expect"] is None:
        assert math.isnan(grade.value), grade
    else:
        assert grade.value == case["expect"], (case["why"], grade)
    if "status" in case:
        assert grade.status.name == case["status"], grade
    if "rung" in case:
        assert grade.stage == case["rung"], grade
    if grade.answer is not None and not (grade.answer.marker == "boxed" and ", " in grade.answer.text):
        start, end = grade.answer.span
        assert case["response"][start:end] == grade.answer.text


@pytest.mark.parametrize("case", _cases("answers_gsm8k.jsonl"))
def test_gsm8k(case: dict[str, Any]) -> None:
    _check(case, grade_gsm8k(case["response"], case["gold"], mode=case.get("mode", "flexible")))


@pytest.mark.parametrize("case", _cases("answers_math.jsonl"))
def test_math(case: dict[str, Any]) -> None:
    _check(case, grade_math(case["response"], case["gold"], mode=case.get("mode", "flexible")))


_GRADERS: dict[str, Any] = {"gsm8k": grade_gsm8k, "math_equal": grade_math, "choice": grade_choice}


@pytest.mark.parametrize("case", _cases("answers_variants.jsonl"))
def test_ways_to_say_it(case: dict[str, Any]) -> None:
    _check(case, _GRADERS[case["term"]](case["response"], case["gold"]))


def _pairs() -> list[Any]:
    rows = [json.loads(line) for line in (DATA / "answers_math_pairs.jsonl").read_text(encoding="utf-8").splitlines()]
    return [
        pytest.param(row["gold"], row["answer"], row["equal"], id=f"{row['gold']} ~ {row['answer']}") for row in rows
    ]


@pytest.mark.parametrize(("truth", "answer", "equal"), _pairs())
def test_two_writings_of_an_answer(truth: str, answer: str, equal: bool) -> None:
    assert compare_math(truth, answer).equal == equal
    assert compare_math(answer, truth).equal == equal
    assert grade_math(rf"so it is \boxed{{{answer}}}.", truth).value == equal
