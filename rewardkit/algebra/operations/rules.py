"""What several operations say of themselves in the same words."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Final

from rewardkit.algebra.interval import Interval
from rewardkit.algebra.operation import Expression, Plan, may_step_out
from rewardkit.batch import Mask

NOTHING: Final[frozenset[str]] = frozenset()


def ask_all(node: Expression, rows: Mask, plan: Plan) -> None:
    """Every operand matters on every row."""
    for operand in node.args:
        plan.ask(operand, rows)


def any_steps_out(node: Expression) -> bool:
    """One operand that is NOT_APPLICABLE is enough."""
    return any(may_step_out(a) for a in node.args)


def hull(intervals: Sequence[Interval]) -> Interval:
    """The smallest interval that holds all."""
    return reduce(Interval.hull, intervals)


def without(node: Expression, i: int) -> Expression:
    """The same node without operand i; a single operand that is left stands alone."""
    rest = (*node.args[:i], *node.args[i + 1 :])
    return rest[0] if len(rest) == 1 else node.operation.apply(*rest)
