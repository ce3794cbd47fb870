"""Which rows a dear operand is asked on: those where the cheaper operands beside it leave the value open.

``gsm8k() * judge()`` is 0 where the answer is wrong, whatever the judge would say; ``maximum(gsm8k(), math_equal())``
is 1 where the cheap grader says so. There the dear operand, a term in a worker or behind a network, is not asked, and
counts as a copy of the operand that decided: same value, same status. This belongs to what a formula means, so a row
is paid the same where the dear term happened to run, and where it would have failed.

``&``, ``|``, ``when`` and ``route`` have rules of their own, which hold for cheap operands too. A dear operand that can
be NOT_APPLICABLE is always asked, since it may change whether there is a value at all; so is one that compares groups.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from rewardkit.declaration import Cost
from rewardkit.expression import Expression, TokenReward
from rewardkit.intervals import Interval, may_step_out

_ORDER: Final = {Cost.CHEAP: 0, Cost.CPU: 1, Cost.WORKER: 2, Cost.REMOTE: 3}
_DEAR_FROM: Final = _ORDER[Cost.WORKER]


def dearness(node: Expression) -> int:
    """How dear the dearest term below a node is; 0 where there is none."""
    return max((_ORDER[n.term.cost] for n in node.walk() if n.term is not None), default=0)


def is_dear(node: Expression) -> bool:
    """Whether asking it takes a worker or a network."""
    return dearness(node) >= _DEAR_FROM


def waits(node: Expression) -> bool:
    """Whether a node's value is known only in stage two: it depends on the step or on the group."""
    return any(n.op == "schedule" or n.op.startswith("group_") for n in node.walk())


@dataclass(frozen=True, slots=True)
class Question:
    """One dear operand of a node, and when it needn't be asked."""

    operand: int
    """Its place among the node's operands."""
    deciders: tuple[int, ...]
    """The places of the operands that may decide without it."""
    low: float
    high: float
    """A decider's value is final from ``low`` to ``high``."""


def questions(root: Expression, intervals: Mapping[Expression, Interval]) -> dict[Expression, tuple[Question, ...]]:
    """For each node that has some: the dear operands that cheaper ones can decide without, cheapest first."""
    found: dict[Expression, tuple[Question, ...]] = {}
    for node in root.walk():
        if node.op not in ("mul", "minimum", "maximum"):
            continue
        asked = []
        for i in sorted(range(len(node.args)), key=lambda i: dearness(node.args[i])):
            dear = node.args[i]
            if not is_dear(dear) or isinstance(dear, TokenReward) or waits(dear) or may_step_out(dear):
                continue
            deciders = tuple(
                j
                for j, other in enumerate(node.args)
                if dearness(other) < dearness(dear) and not isinstance(other, TokenReward) and not waits(other)
            )
            low, high = _final(node.op, intervals[dear])
            if deciders and low < float("inf") and high > float("-inf"):
                asked.append(Question(i, deciders, low, high))
        if asked:
            found[node] = tuple(asked)
    return found


def _final(op: str, dear: Interval) -> tuple[float, float]:
    """Between which values another operand settles the node, whatever the dear one says."""
    if op == "mul":
        return 0.0, 0.0
    if op == "minimum":
        return float("-inf"), dear.low
    return dear.high, float("inf")
