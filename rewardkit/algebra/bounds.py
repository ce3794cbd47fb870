"""Between which two numbers a formula's value lies, whatever the text.

Bounds come from what terms declare and go up the tree. They are sound, not always tight: a term that stands twice is
taken as two independent ones. An end that nobody declared is infinite, and says so when printed.
"""

from __future__ import annotations

from rewardkit.algebra.interval import Interval
from rewardkit.algebra.operation import Expression


def all_bounds(root: Expression) -> dict[Expression, Interval]:
    """The interval of every node of a formula; Conditions have [0, 1]."""
    bounds: dict[Expression, Interval] = {}
    for node in root.walk():
        bounds[node] = node.operation.bounds(node, [bounds[a] for a in node.args], None)
    return bounds


def bounds(root: Expression) -> Interval:
    """The interval in which the formula's value lies for every response that is scored.

    For a TokenReward it is the interval of the total. Group z-scores are unbounded: their range grows with the group.
    """
    return all_bounds(root)[root]
