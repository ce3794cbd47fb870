"""Countdown and 24: an expression of given numbers that has a given value."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

import regex

from rewardkit.algebra.define import term
from rewardkit.answers import Answer, extract_math
from rewardkit.answers.marks import visible_part
from rewardkit.batch import Batch, Score, Status
from rewardkit.terms.puzzles.arithmetic import value

_NUMBERS: Final = ("numbers", "nums")
_MAX_RESPONSE: Final = 200_000
_LABEL: Final = regex.compile(r"\A.*(?:\bis\b|:)")
_EQUALS: Final = regex.compile(r"\s*+(?:=|\\approx)\s*+")


@term(verdict=True, needs=("ground_truth",), batched=True)
def countdown(batch: Batch, *, use_all: bool = True) -> Sequence[bool | Score]:
    r"""1 where the response gives an expression of the ground truth's numbers that equals its target; else 0.

    An expression has whole numbers, ``+ - * /``, signs and brackets, also as ``×``, ``÷``, ``\times`` and ``\frac``; an
    equals sign with the target behind it may follow. Its value is worked out exactly, as a fraction, and nothing is
    evaluated as Python. Each number must be used once, as often as it is given. The expression is what stands in the
    last ``<answer>`` tag or ``\boxed{}``, or else the last line of the response. A response that says nothing is
    NO_ANSWER, one with several marked answers AMBIGUOUS.

    The ground truth is ``{"target": 24, "numbers": [1, 2, 3, 4]}`` (TinyZero, verl), with ``nums`` for ``numbers``, an
    entry of reasoning-gym whose ``metadata`` has them, any of these as JSON text, or an expression that is right
    (reasoning-gym's ``answer``): its value is the target and its numbers are given. Source: Jiayi-Pan/TinyZero, which
    compares floats and pays 0.1 for an expression of any value: ``0.1 * matches('<answer>')`` does.

    Args:
        batch: the responses and their ground truths.
        use_all: whether every number must be used; False: at most once each.
    """
    assert batch.ground_truths is not None  # declared as a need
    return [_verdict(text, truth, use_all) for text, truth in zip(batch.responses, batch.ground_truths, strict=True)]


def _verdict(response: str, ground_truth: Any, use_all: bool) -> bool | Score:
    try:
        target, numbers = _puzzle(ground_truth)
    except (ValueError, TypeError, ArithmeticError, RecursionError) as e:
        return Score(status=Status.BAD_GOLD, reason=f"no target and numbers: {e}"[:300])
    if len(response) > _MAX_RESPONSE:
        return Score(status=Status.LIMIT, reason=f"more than {_MAX_RESPONSE} characters")
    text = _expression(response)
    if isinstance(text, Status):
        return Score(status=text, reason="no expression, or several")
    expression, *claims = _EQUALS.split(text, maxsplit=8)
    try:
        result, used = value(expression)
        claimed = [value(claim)[0] for claim in claims]
    except ValueError:
        return False
    counted, given = Counter(used), Counter(numbers)
    fits = counted == given if use_all else counted <= given
    return fits and result == target and all(claim == target for claim in claimed)


def _expression(response: str) -> str | Status:
    part = visible_part(response)
    said = "" if part is None else response[slice(*part)].strip()
    if not said:
        return Status.NO_ANSWER
    if "<answer>" in said or "\\boxed" in said:
        answer = extract_math(response)
        return answer.text if isinstance(answer, Answer) else answer
    return str(_LABEL.sub("", said.rpartition("\n")[2])).rstrip(".* ")


def _puzzle(ground_truth: Any) -> tuple[Fraction, list[int]]:
    if isinstance(ground_truth, str):
        text = ground_truth.strip()
        if not text.startswith("{"):
            return value(text)
        ground_truth = json.loads(text)
    if not isinstance(ground_truth, Mapping):
        raise ValueError(f"a {type(ground_truth).__name__}")
    if isinstance(inner := ground_truth.get("metadata"), Mapping):
        ground_truth = inner
    numbers: Any = next((ground_truth[key] for key in _NUMBERS if ground_truth.get(key) is not None), None)
    numbers = numbers.tolist() if hasattr(numbers, "tolist") else numbers
    target = ground_truth.get("target")
    if not isinstance(numbers, list | tuple) or not numbers or any(n != int(n) or n < 0 for n in numbers):
        raise ValueError(f"numbers is {numbers!r:.60}; expected a list of whole numbers")
    if isinstance(target, bool) or target is None:
        raise ValueError(f"target is {target!r}")
    return Fraction(str(target)), [int(n) for n in numbers]
