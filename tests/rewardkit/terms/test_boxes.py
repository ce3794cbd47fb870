"""Boxes and points: how they are written, and laws of intersection over union."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit import Batch, Status, compile

IOU, POINT = compile("iou()"), compile("point_in_box()")
numbers = st.integers(0, 40)
boxes = st.tuples(numbers, numbers, st.integers(1, 20), st.integers(1, 20)).map(
    lambda b: [b[0], b[1], b[0] + b[2], b[1] + b[3]]
)


def total(response: str, ground_truth: Any, program: Any = IOU) -> float:
    scores = program(Batch([response], ground_truths=[ground_truth]))
    assert Status(int(scores.status[0])) is Status.SCORED, scores.first_reason()
    return float(scores.total[0])


@given(boxes, boxes)
def test_iou_counts_the_cells_that_both_have(one: list[int], other: list[int]) -> None:
    def cells(box: list[int]) -> set[tuple[int, int]]:
        return {(x, y) for x in range(box[0], box[2]) for y in range(box[1], box[3])}

    expected = len(cells(one) & cells(other)) / len(cells(one) | cells(other))
    assert total(f"<answer>{one}</answer>", other) == pytest.approx(expected)
    assert total(f"<answer>{other}</answer>", one) == pytest.approx(expected)
    assert total(f"<answer>{one}</answer>", [other, one]) == 1
    sides = [[b[0], b[1], b[2] - b[0], b[3] - b[1]] for b in (one, other)]
    assert total(f"{sides[0]}", sides[1], compile("iou(form='xywh')")) == pytest.approx(expected)


@pytest.mark.parametrize(
    "text",
    [
        "[10, 20, 30.0, 40]", "I looked at [1, 2, 3, 4].\nIt is (10,20,30,40).", "(10, 20), (30, 40)",
        '```json\n[{"bbox_2d": [10, 20, 30, 40], "label": "a cat"}]\n```', "<box>(10,20),(30,40)</box>",
        "<think>[0, 0, 1, 1]</think><answer>[+10,20,30,40]</answer>",
    ],
)  # fmt: skip
def test_a_box_is_read_in_each_form(text: str) -> None:
    shapes: list[Any] = [[10, 20, 30, 40], "[10, 20, 30, 40]", {"bbox": [10, 20, 30, 40]}, np.array([10, 20, 30, 40])]
    for truth in [*shapes, json.dumps({"bbox_2d": [10, 20, 30, 40]}), [[0, 0, 1, 1], [10, 20, 30, 40]]]:
        assert total(text, truth) == 1
        assert total(text, truth, POINT) == 1  # its middle


@pytest.mark.parametrize("text", ["[30, 40, 10, 20]", "[10, 20, 10, 40]", "[50, 50, 60, 60]", "[30, 20, 50, 40]"])
def test_boxes_that_are_worth_nothing(text: str) -> None:
    assert total(text, [10, 20, 30, 40]) == 0


@pytest.mark.parametrize("text", ["", "10, 20, 30, 40", "[10, 20, 30]", "[a, b, c, d]", "<think>[10, 20, 30, 40]"])
def test_no_box_is_no_answer(text: str) -> None:
    scores = IOU(Batch([text], ground_truths=[[10, 20, 30, 40]]))
    assert Status(int(scores.status[0])) is Status.NO_ANSWER


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        ("(15, 25)", 1), ("click(x=15, y=25)", 1), ("<point>15 25</point>", 1), ("(10, 20)", 1), ("(30.0, 40.0)", 1),
        ('{"action": "click", "coordinate": [15, 25]}', 1), ("(9, 25)", 0), ("(15, 41)", 0), ("(1, 1) or (15, 25)", 1),
        ("(15, 25), then (1, 1)", 0), ("[0, 0, 20, 20]", 0), ("x: 15 y: 25", 1),
    ],
)  # fmt: skip
def test_points(text: str, inside: int) -> None:
    assert total(f"<answer>{text}</answer>", [10, 20, 30, 40], POINT) == inside


@pytest.mark.parametrize(
    "truth",
    [
        "", "no", [], [1, 2, 3], [1, 2, 3, 4, 5], [3, 4, 1, 2], [1, 1, 1, 2], ["a", 1, 2, 3], {}, {"box": None}, 4,
        True, [0, 0, float("inf"), 1], [[0, 0, 1, 1], "x"], "[" * 2000, None,
    ],
)  # fmt: skip
def test_what_has_no_area_is_no_ground_truth(truth: Any) -> None:
    for program in (IOU, POINT):
        scores = program(Batch(["[1, 2, 3, 4]"], ground_truths=[truth]))
        assert Status(int(scores.status[0])) is Status.BAD_GOLD
