"""Bounds under assumptions: between which numbers a formula lies when some of its nodes are known.

:mod:`rewardkit.algebra.bounds` says what can come of any response. Here a condition that the assumptions (or the bounds
themselves) decide takes its branch, and a route that is assumed takes its own, so that questions such as "what can a
wrong answer earn?" get an answer. The results are sound and, as all bounds, not always tight.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Final

from rewardkit.algebra.interval import Interval
from rewardkit.algebra.operation import Case, Expression
from rewardkit.algebra.operations.choice import Route

MAX_CASES: Final = 64
"""Combinations of route keys that are told apart; of formulas with more, all routes are taken together."""


def bounds_given(root: Expression, known: Mapping[Expression, Interval], case: Case) -> dict[Expression, Interval]:
    """The interval of every node when ``known`` nodes lie where it says and routes see what ``case`` says.

    Args:
        root: a formula.
        known: intervals to take for granted. Conditions are 0 or 1.
        case: which routes are taken; a route that looks at something else may go any way.
    """
    bounds: dict[Expression, Interval] = {}
    for node in root.walk():
        if node in known:
            bounds[node] = known[node]
        else:
            bounds[node] = node.operation.bounds(node, [bounds[a] for a in node.args], case)
    return bounds


def cases(root: Expression) -> list[Case]:
    """Every way that the formula's routes can go, each once."""
    keys: dict[str, dict[str | None, None]] = {}
    for node in root.walk():
        if isinstance(node.operation, Route):
            keys.setdefault(node.operation.by, {}).update(dict.fromkeys((*node.operation.keys, None)))
    count = 1
    for values in keys.values():
        count *= len(values)
    if count > MAX_CASES:
        return [{}]
    return [dict(zip(keys, values, strict=True)) for values in itertools.product(*keys.values())]


def live(root: Expression, case: Case) -> list[Expression]:
    """The nodes that can be paid in a case, parents first: none that is observed, or in a route that isn't taken."""
    nodes: dict[Expression, None] = {}
    stack: list[Expression] = [root]
    while stack:
        node = stack.pop()
        if node not in nodes:
            nodes[node] = None
            stack.extend(reversed(node.operation.paid(node, case)))
    return list(nodes)
