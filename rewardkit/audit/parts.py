"""Which part of a formula paid how much: a total as the sum of what its addends paid.

Sums, signs and plain weights are taken apart, and of a `when` the branch that the row took. What is left is a part: a
term, a clip, a product of two terms. The parts of a row add up to its total.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from rewardkit.algebra.expression import Expression
from rewardkit.algebra.operation import short
from rewardkit.algebra.operations.choice import When
from rewardkit.algebra.operations.constants import Number
from rewardkit.algebra.operations.naming import Named
from rewardkit.algebra.values import Values
from rewardkit.batch import Floats, Mask


def parts(root: Expression, values: Mapping[Expression, Values], n: int, *, weighted: bool = True) -> dict[str, Floats]:
    """By part, what each of n rows is paid for it.

    Args:
        root: a formula.
        values: every node's values on the rows, from :meth:`Program.trace`.
        n: the number of rows.
        weighted: whether a part's label has its weight: `0.1 * length()`, or `length()`.
    """
    by_label: dict[str, Floats] = {}
    for part, rows in _parts(root, 1.0, np.ones(n, dtype=np.bool_), values, ""):
        value = values[part.node].value
        paid = np.where(rows & ~np.isnan(value), value, 0.0) * part.weight
        label = part.label if weighted else part.name
        by_label[label] = by_label.get(label, np.zeros(n)) + paid
    return by_label


def part_names(root: Expression) -> tuple[str, ...]:
    """The labels of the parts without their weights, in the order of the formula."""
    return tuple(dict.fromkeys(p.name for p, _ in _parts(root, 1.0, np.zeros(0, dtype=np.bool_), None, "")))


def part_weights(root: Expression) -> dict[str, float]:
    """By the label of a part without its weight, how much one unit of it moves the total; of several the most."""
    weights: dict[str, float] = {}
    for part, _ in _parts(root, 1.0, np.zeros(0, dtype=np.bool_), None, ""):
        weights[part.name] = max(weights.get(part.name, 0.0), abs(part.weight))
    return weights


def shaping(root: Expression) -> frozenset[str]:
    """The labels of the parts that no ground truth has a say in."""
    parts = [p for p, _ in _parts(root, 1.0, np.zeros(0, dtype=np.bool_), None, "")]
    reading = {p.label for p in parts if p.reads_ground_truth}
    return frozenset({p.label for p in parts} - reading)


@dataclass(frozen=True, slots=True)
class _Part:
    node: Expression
    weight: float
    name: str
    label: str
    reads_ground_truth: bool


def _parts(
    node: Expression,
    weight: float,
    rows: Mask,
    values: Mapping[Expression, Values] | None,
    where: str,
    reads: bool = False,
) -> Iterator[tuple[_Part, Mask]]:
    """A formula's parts, each with the rows on which it is paid.

    Args:
        node: where to begin.
        weight: its coefficient.
        rows: the rows on which it is paid.
        values: every node's values; None where only the parts are asked for.
        where: the condition under which a plain number is paid, as text.
        reads: whether that condition reads the ground truth.
    """
    below = node.operation.addends(node, weight)
    if below is None:
        if isinstance(node.operation, Number):
            if node.operation.value == 0 and where:
                return  # the branch that pays nothing
            label = f"{weight * node.operation.value:g} {where}" if where else "constant"
            yield _Part(node, weight, label, label, reads), rows
        else:
            yield _Part(node, weight, _label(node, 1.0), _label(node, weight), _reads_ground_truth(node)), rows
    elif isinstance(node.operation, When):
        condition = node.args[0]
        held = None if values is None else values[condition].value
        for (branch, of), taken, word in zip(below, (1.0, 0.0), ("where", "unless"), strict=True):
            its = rows if held is None else rows & (held == taken)
            yield from _parts(branch, of, its, values, f"{word} {short(condition, 40)}", _reads_ground_truth(condition))
    else:
        for operand, of in below:
            yield from _parts(operand, of, rows, values, where, reads)


def _reads_ground_truth(node: Expression) -> bool:
    return any(n.term is not None and "ground_truth" in n.term.needs(n) for n in node.walk())


def _label(node: Expression, weight: float) -> str:
    text = node.operation.name if isinstance(node.operation, Named) else short(node, 40)
    if weight == 1.0:
        return str(text)
    return f"-{text}" if weight == -1.0 else f"{weight:g} * {text}"
