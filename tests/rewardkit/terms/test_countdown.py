"""Countdown: exact arithmetic against Python's own on trees made here, and what is no expression."""

from __future__ import annotations

import ast
import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit import Batch, Status, compile
from rewardkit.terms.puzzles.arithmetic import value

ALL, SOME = compile("countdown()"), compile("countdown(use_all=False)")
TRUTH = {"target": 24, "numbers": [4, 6, 2, 2]}

expressions = st.recursive(
    st.integers(0, 30).map(str),
    lambda inner: st.one_of(
        st.builds("{} {} {}".format, inner, st.sampled_from("+-*/"), inner),
        inner.map("({})".format),
        inner.map("-({})".format),
    ),
    max_leaves=12,
)


def exactly(node: ast.expr) -> Fraction:
    if isinstance(node, ast.BinOp):
        left, right = exactly(node.left), exactly(node.right)
        if isinstance(node.op, ast.Add):
            return left + right
        if isinstance(node.op, ast.Sub):
            return left - right
        return left * right if isinstance(node.op, ast.Mult) else left / right
    if isinstance(node, ast.UnaryOp):
        return -exactly(node.operand)
    assert isinstance(node, ast.Constant)
    return Fraction(node.value)


@given(expressions)
def test_values_are_those_of_python_s_grammar_worked_out_exactly(text: str) -> None:
    tree = ast.parse(text, mode="eval").body
    leaves = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    try:
        expected = exactly(tree)
    except ZeroDivisionError:
        with pytest.raises(ValueError, match="zero"):
            value(text)
        return
    result, numbers = value(text)
    assert result == expected
    assert sorted(numbers) == sorted(leaves)
    truth = {"target": str(expected), "numbers": numbers}
    spelled = text.replace("*", "×").replace("/", "÷").replace("-", "−")
    for response in (f"<answer>{text}</answer>", f"Let me see.\n{spelled}", f"<think>2</think>\\boxed{{{text}}}"):
        assert ALL(Batch([response], ground_truths=[truth])).total[0] == 1
        more = {**truth, "numbers": [*numbers, 1]}
        assert ALL(Batch([response], ground_truths=[more])).total[0] == 0
        assert SOME(Batch([response], ground_truths=[more])).total[0] == 1


@pytest.mark.parametrize(
    "text",
    [
        "4*6*2/2", "(4 × 6) × 2 ÷ 2 = 24", "\\frac{4 \\cdot 6 \\cdot 2}{2}", "-(2 - 2) + 4*6", "[4 * {6}] + 2 - 2",
    ],
)  # fmt: skip
def test_right_expressions(text: str) -> None:
    for response in (f"<answer>{text}</answer>", f"\\boxed{{{text}}}", f"So\nthe answer is: {text}.", text):
        assert ALL(Batch([response], ground_truths=[TRUTH])).total[0] == 1, response


@pytest.mark.parametrize(
    "text",
    [
        "24", "4*6", "4*6*2/2 = 25", "4**2+6+2", "4//2*6*2", "4*6*2/2; 1", "(4*6)(2/2)", "4 6 2 2", "4*6+2*0", "46-22",
        "4*6*2/(2-2)", "4*6*2/2)", "((4*6*2/2)", "4.0*6*2/2", "4e0*6*2/2", "__import__('os').system('true')",
        "4*6*2/2 or 1",
        "4*6*٢/2", "4*6*2/2 =", "= 24", "sum([4,6,2,2])+10", "4*6*2/2#", "1" * 2000, "(" * 900,
    ],
)  # fmt: skip
def test_wrong_expressions(text: str) -> None:
    scores = ALL(Batch([f"<answer>{text}</answer>"], ground_truths=[TRUTH]))
    assert scores.total[0] == 0
    assert not scores.unscored[0]


def test_ground_truths_in_every_shape() -> None:
    shapes: list[Any] = [
        TRUTH, json.dumps(TRUTH), {"target": 24.0, "nums": np.array([4, 6, 2, 2])}, "4*6 + 2 - 2",
        {"question": "?", "answer": "4*6+2-2", "metadata": TRUTH}, {"target": "24", "numbers": (4, 6, 2, 2)},
    ]  # fmt: skip
    for shape in shapes:
        assert ALL(Batch(["<answer>(4*6) + (2-2)</answer>"], ground_truths=[shape])).total[0] == 1, shape
    bad: list[Any] = ["", "no", "{", 24, [4, 6], {}, {"target": 24}, {"numbers": [4]}]
    bad += [{"target": target, "numbers": [4]} for target in ("x", True)]
    bad += [{"target": 4, "numbers": numbers} for numbers in ([], ["a"], [float("inf")], [1.5])]
    for shape in bad:
        scores = ALL(Batch(["<answer>4</answer>"], ground_truths=[shape]))
        assert Status(int(scores.status[0])) is Status.BAD_GOLD, shape
