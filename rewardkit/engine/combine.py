"""From the columns of a formula's terms to the value and status of every node: arithmetic on whole arrays, no text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from rewardkit.algebra.operation import Context, Expression
from rewardkit.algebra.values import Values
from rewardkit.batch import Mask
from rewardkit.engine.short_circuit import Question

Questions = Mapping[Expression, Sequence[Question]]


def evaluate(root: Expression, context: Context, questions: Questions) -> dict[Expression, Values]:
    """The values of every node of a formula, each distinct node once."""
    found: dict[Expression, Values] = {}
    with np.errstate(invalid="ignore", over="ignore"):
        for node in root.walk():
            operands = [found[a] for a in node.args]
            for question in questions.get(node, ()):
                operands[question.operand] = _unasked(question, operands)
            found[node] = node.operation.values(node, operands, context)
    return found


def settled(question: Question, decider: Values) -> Mask:
    """The rows on which one operand decides without the expensive one: it has a value, which the rest can't move."""
    final = (decider.value >= question.low) & (decider.value <= question.high)
    return final & ~decider.floored  # NaN is in no interval


def _unasked(question: Question, operands: Sequence[Values]) -> Values:
    """The expensive operand, a copy of the deciding one where that decides; the first of several has the last word."""
    expensive = operands[question.operand]
    value, status, floored = expensive.value.copy(), expensive.status.copy(), expensive.floored.copy()
    for i in reversed(question.deciders):
        rows = settled(question, operands[i])
        value[rows], status[rows], floored[rows] = operands[i].value[rows], operands[i].status[rows], False
    return Values(value, status, floored)
