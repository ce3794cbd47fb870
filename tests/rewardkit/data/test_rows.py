"""What makes a row in GSM8K form usable, and what is said of one that isn't."""

from __future__ import annotations

import pytest

from rewardkit.data.shapes.math import gsm8k_problem
from rewardkit.errors import BadRow


@pytest.mark.parametrize(
    ("tail", "ground_truth"),
    [("42", "42"), (" 1,234 ", "1234"), ("-3.5", "-3.5"), ("+7", "7"), (".5", ".5"), ("1234567", "1234567")],
)
def test_the_ground_truth_is_the_number_after_the_marker(tail: str, ground_truth: str) -> None:
    problem = gsm8k_problem({"question": "How many?", "answer": f"2 * 21\n####{tail}"})
    assert problem.ground_truth == ground_truth
    assert problem.extra["answer"] == f"2 * 21\n####{tail}"


def test_the_last_marker_counts() -> None:
    assert gsm8k_problem({"question": "?", "answer": "#### 1 is a guess\n#### 2"}).ground_truth == "2"


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ([1, 2], "is a list; expected an object"),
        ("text", "is a str"),
        ({}, "has no `question`; its fields are none"),
        ({"question": "?"}, "has no `answer`; its fields are `question`"),
        ({"query": "?", "answer": "#### 1"}, "has no `question`; its fields are `query`, `answer`"),
        ({"question": "  ", "answer": "#### 1"}, "`question` is empty"),
        ({"question": "?", "answer": ""}, "`answer` is empty"),
        ({"question": "?", "answer": 42}, "`answer` is 42, a int; expected text"),
        ({"question": "?", "answer": None}, "`answer` is null"),
        ({"question": "?", "answer": "it is 42"}, "no `####` before the final number: 'it is 42'"),
        ({"question": "?", "answer": "it is #### "}, "no number after it"),
        ({"question": "?", "answer": "#### forty-two"}, "'forty-two'; expected a number"),
        ({"question": "?", "answer": "#### 1,23"}, "'1,23'; expected a number"),
        ({"question": "?", "answer": "#### 42 eggs"}, "'42 eggs'"),
    ],
)
def test_a_bad_row_says_what_is_wrong(row: object, says: str) -> None:
    with pytest.raises(BadRow) as raised:
        gsm8k_problem(row)
    assert says in str(raised.value)
