"""Grounding: boxes and points in a picture."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal

import regex

from rewardkit.algebra.define import term
from rewardkit.batch import Batch, Score, Status
from rewardkit.terms.similarity import answer_text

Form = Literal["xyxy", "xywh"]
Box = tuple[float, float, float, float]

MAX_CHARS: Final = 20_000
"""Longest answer; a box and a sentence have a hundred."""

_D: Final = r"([-+]?\d{1,12}+(?:\.\d{1,12}+)?+)"
_N: Final = rf"\s*+{_D}\s*+"
_BOX: Final = regex.compile(rf"[\[(]{_N},{_N}\)?\s*+,\s*+\(?{_N},{_N}[\])]")
_POINT: Final = regex.compile(
    rf"[\[(]{_N},{_N}[\])]"
    rf"|<point>\s*+{_D}[\s,]++{_D}\s*+</point>"
    rf"|\bx[^\w+-]{{1,4}}{_D}[^\w+-]{{1,4}}y[^\w+-]{{1,4}}{_D}"
)
_KEYS: Final = ("bbox", "bbox_2d", "box", "boxes", "bboxes")


@term(bounds=(0, 1), needs=("ground_truth",), batched=True)
def iou(batch: Batch, *, form: Form = "xyxy") -> Sequence[float | Score]:
    """Intersection over union of the response's box and the ground truth's: 1 for equal boxes, 0 where they don't meet.

    The box is the last four numbers in brackets, ``[x1, y1, x2, y2]`` or ``(x1,y1),(x2,y2)``, of what stands in the
    last ``<answer>`` tag, or else of the response after its reasoning; none is NO_ANSWER, and one whose corners are the
    wrong way round is worth 0. The ground truth is four numbers, a mapping with them under ``bbox``, ``bbox_2d`` or
    ``box``, JSON text of either, or a list of boxes, of which the best counts. Both are in the same
    coordinates: pixels, or what the prompt asks for. ``when(iou() > 0.5, 1, 0)`` is the usual verdict.

    Args:
        batch: the responses and their ground truths.
        form: ``xyxy``: two corners; ``xywh``: a corner, width and height. For both sides.
    """
    return _each(batch, form, lambda said, boxes: _best_iou(_read_box(said, form), boxes))


@term(verdict=True, needs=("ground_truth",), batched=True)
def point_in_box(batch: Batch, *, form: Form = "xyxy") -> Sequence[float | Score]:
    """1 where the response's point lies in the ground truth's box, its edges included; else 0.

    The point is the last ``(x, y)``, ``[x, y]``, ``x=..., y=...`` or ``<point>x y</point>`` of the answer, which is
    found as in :func:`iou`, or else the middle of its last box; none is NO_ANSWER. Ground truths are those of
    :func:`iou`; of several boxes any is right.

    Args:
        batch: the responses and their ground truths.
        form: how boxes are written, as in :func:`iou`.
    """
    return _each(batch, form, lambda said, boxes: _is_inside(_read_point(said, form), boxes))


def _each(batch: Batch, form: Form, compare: Callable[[str, list[Box]], float | None]) -> list[float | Score]:
    assert batch.ground_truths is not None  # declared as a need
    answers: list[float | Score] = []
    for text, ground_truth in zip(batch.responses, batch.ground_truths, strict=True):
        try:
            boxes = _boxes(ground_truth, form)
        except (ValueError, TypeError, OverflowError, RecursionError) as e:
            answers.append(Score(status=Status.BAD_GOLD, reason=f"no box: {e}"[:300]))
            continue
        said = answer_text(text)
        if len(said) > MAX_CHARS:
            answers.append(Score(status=Status.LIMIT, reason=f"more than {MAX_CHARS} characters"))
            continue
        value = compare(said, boxes)
        answers.append(Score(status=Status.NO_ANSWER, reason="no box or point") if value is None else value)
    return answers


def _corners(numbers: Sequence[Any], form: Form) -> Box:
    x1, y1, x2, y2 = map(float, numbers)
    return (x1, y1, x2, y2) if form == "xyxy" else (x1, y1, x1 + x2, y1 + y2)


def _read_box(said: str, form: Form) -> Box | None:
    boxes = _BOX.findall(said)
    return _corners(boxes[-1], form) if boxes else None


def _read_point(said: str, form: Form) -> tuple[float, float] | None:
    points = _POINT.findall(_BOX.sub(" ", said))  # the corners of a box are no points
    if points:
        x, y = (float(number) for number in points[-1] if number)
        return x, y
    corners = _read_box(said, form)
    return None if corners is None else ((corners[0] + corners[2]) / 2, (corners[1] + corners[3]) / 2)


def _best_iou(box: Box | None, boxes: list[Box]) -> float | None:
    return None if box is None else max(_iou(box, other) for other in boxes)


def _iou(one: Box, other: Box) -> float:
    if not (one[0] < one[2] and one[1] < one[3]):
        return 0.0
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    if width <= 0 or height <= 0:
        return 0.0
    shared = width * height
    return shared / (_area(one) + _area(other) - shared)


def _area(box: Box) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])


def _is_inside(point: tuple[float, float] | None, boxes: list[Box]) -> float | None:
    if point is None:
        return None
    x, y = point
    return float(any(x1 <= x <= x2 and y1 <= y <= y2 for x1, y1, x2, y2 in boxes))


def _boxes(ground_truth: Any, form: Form) -> list[Box]:
    """The boxes of a ground truth, each with an area."""
    value = json.loads(ground_truth) if isinstance(ground_truth, str) else ground_truth
    if isinstance(value, Mapping):
        value = next((value[key] for key in _KEYS if value.get(key) is not None), None)
    value = value.tolist() if hasattr(value, "tolist") else value
    if not isinstance(value, list | tuple) or not value:
        raise ValueError("expected four numbers, or a list of boxes")
    if not isinstance(value[0], int | float) or isinstance(value[0], bool):
        return [box for entry in value for box in _boxes(entry, form)]
    box = _corners(value, form)
    if not all(map(math.isfinite, box)) or not (box[0] < box[2] and box[1] < box[3]):
        raise ValueError(f"{value!r:.80} has no area: expected {form}")
    return [box]
