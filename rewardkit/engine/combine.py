"""From the columns of a formula's terms to the value and status of every node: arithmetic on whole arrays, no text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from rewardkit.algebra.operation import Context, Expression
from rewardkit.algebra.values import Values
from rewardkit.batch import Mask
from rewardkit.engine.short_circuit import ShortCircuit

ShortCircuits = Mapping[Expression, Sequence[ShortCircuit]]


def evaluate(root: Expression, context: Context, short_circuits: ShortCircuits) -> dict[Expression, Values]:
    """The values of every node of a formula, each distinct node once."""
    values: dict[Expression, Values] = {}
    with np.errstate(invalid="ignore", over="ignore"):
        for node in root.walk():
            operands = [values[a] for a in node.args]
            for rule in short_circuits.get(node, ()):
                operands[rule.operand] = _unasked(rule, operands)
            values[node] = node.operation.values(node, operands, context)
    return values


def decided(rule: ShortCircuit, decider: Values) -> Mask:
    """The rows on which one operand decides without the expensive one: it has a value, which the rest can't move."""
    final = (decider.value >= rule.low) & (decider.value <= rule.high)
    return final & ~decider.floored  # NaN is in no interval


def _unasked(rule: ShortCircuit, operands: Sequence[Values]) -> Values:
    """The expensive operand, a copy of the deciding one where that decides; the first of several has the last word."""
    expensive = operands[rule.operand]
    value, status, floored = expensive.value.copy(), expensive.status.copy(), expensive.floored.copy()
    for i in reversed(rule.deciders):
        rows = decided(rule, operands[i])
        value[rows], status[rows], floored[rows] = operands[i].value[rows], operands[i].status[rows], False
    return Values(value, status, floored)
