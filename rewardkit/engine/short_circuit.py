"""Short circuits: an expensive operand runs only on the rows where the cheaper ones leave the value open.

``gsm8k() * judge()`` is 0 where the answer is wrong, whatever the judge would say; ``maximum(gsm8k(), math_equal())``
is 1 where the cheap grader says so. There the expensive operand, a term in a worker or behind a network, is not asked,
and counts as a copy of the operand that decided: same value, same status. This belongs to what a formula means, so a
row is paid the same where the expensive term happened to run, and where it would have failed.

``&``, ``|``, ``when`` and ``route`` have rules of their own, which hold for cheap operands too. An expensive operand
that can be NOT_APPLICABLE is always asked, since it may change whether there is a value at all; so is one that compares
groups.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from rewardkit.algebra.expression import TokenReward
from rewardkit.algebra.interval import Interval
from rewardkit.algebra.operation import RELATIVE, Expression, may_step_out
from rewardkit.algebra.term import Cost

_ORDER: Final = {Cost.CHEAP: 0, Cost.CPU: 1, Cost.WORKER: 2, Cost.REMOTE: 3}
_EXPENSIVE_FROM: Final = _ORDER[Cost.WORKER]
_STAGE_TWO: Final = RELATIVE | {"step"}


def cost(node: Expression) -> int:
    """How expensive the most expensive term below a node is; 0 where there is none."""
    return max((_ORDER[n.term.cost] for n in node.walk() if n.term is not None), default=0)


def is_expensive(node: Expression) -> bool:
    """Whether asking it takes a worker or a network."""
    return cost(node) >= _EXPENSIVE_FROM


def is_late(node: Expression) -> bool:
    """Whether a node's value is known only in stage two: it depends on the step or on the group."""
    return any(n.term is None and not _STAGE_TWO.isdisjoint(n.operation.needs()) for n in node.walk())


@dataclass(frozen=True, slots=True)
class ShortCircuit:
    """A short-circuit rule: one expensive operand of a node, and when it needn't run."""

    operand: int
    """Its place among the node's operands."""
    deciders: tuple[int, ...]
    """The places of the operands that may decide without it."""
    low: float
    high: float
    """A decider's value is final from ``low`` to ``high``."""


def short_circuits(
    root: Expression, intervals: Mapping[Expression, Interval]
) -> dict[Expression, tuple[ShortCircuit, ...]]:
    """For each node that has some: the expensive operands that cheaper ones can decide without, cheapest first."""
    rules_of: dict[Expression, tuple[ShortCircuit, ...]] = {}
    for node in root.walk() if is_expensive(root) else ():
        operands = [intervals[a] for a in node.args]
        rules = []
        for i, final in [(i, node.operation.decided(i, operands)) for i in range(len(node.args))]:
            expensive = node.args[i]
            if final is None or isinstance(expensive, TokenReward):
                continue
            if not is_expensive(expensive) or is_late(expensive) or may_step_out(expensive):
                continue
            deciders = tuple(
                j
                for j, other in enumerate(node.args)
                if cost(other) < cost(expensive) and not isinstance(other, TokenReward) and not is_late(other)
            )
            if deciders and final[0] < float("inf") and final[1] > float("-inf"):
                rules.append(ShortCircuit(i, deciders, *final))
        if rules:
            rules_of[node] = tuple(sorted(rules, key=lambda rule: cost(node.args[rule.operand])))
    return rules_of
