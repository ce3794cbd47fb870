"""Bounds under assumptions: between which numbers a formula lies when some of its nodes are known.

:mod:`rewardkit.intervals` says what can come of any response. Here a condition that the assumptions (or the bounds
themselves) decide takes its branch, and a route that is assumed takes its own, so that questions such as "what can a
wrong answer earn?" get an answer. The results are sound and, as all bounds, not always tight.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Final

from rewardkit.expression import Expression
from rewardkit.intervals import UNIT, ZERO, Interval, own_bounds

FALSE: Final = ZERO
TRUE: Final = Interval(1.0, 1.0)
MAX_CASES: Final = 64
"""Combinations of route keys that are told apart; of formulas with more, all routes are taken together."""

Case = Mapping[str, str | None]
"""For what each route looks at, the value it sees; None is a value that no route names."""


def bounds_given(root: Expression, known: Mapping[Expression, Interval], case: Case) -> dict[Expression, Interval]:
    """The interval of every node when ``known`` nodes lie where it says and routes see what ``case`` says.

    Args:
        root: a formula.
        known: intervals to take for granted. Conditions are 0 or 1.
        case: which routes are taken; a route that looks at something else may go any way.
    """
    found: dict[Expression, Interval] = {}
    for node in root.walk():
        if node in known:
            found[node] = known[node]
        elif node.op in _DECIDE:
            found[node] = _DECIDE[node.op]([found[a] for a in node.args])
        elif node.op == "when" and (taken := _branch(found[node.args[0]])) is not None:
            found[node] = found[node.args[taken]]
        elif node.op == "route" and node.param("by") in case:
            choice = routed(node, case[node.param("by")])
            found[node] = ZERO if choice is None else found[choice]
        else:
            found[node] = own_bounds(node, found.__getitem__)
    return found


def cases(root: Expression) -> list[Case]:
    """Every way that the formula's routes can go, each once."""
    keys: dict[str, dict[str | None, None]] = {}
    for node in root.walk():
        if node.op == "route":
            keys.setdefault(node.param("by"), {}).update(dict.fromkeys((*node.param("keys"), None)))
    count = 1
    for values in keys.values():
        count *= len(values)
    if count > MAX_CASES:
        return [{}]
    return [dict(zip(keys, values, strict=True)) for values in itertools.product(*keys.values())]


def routed(node: Expression, value: str | None) -> Expression | None:
    """The branch that a route takes on a value; None where it has none."""
    keys: tuple[str, ...] = node.param("keys")
    if value in keys:
        return node.args[keys.index(value)]
    return node.args[-1] if len(node.args) > len(keys) else None


def live(root: Expression, case: Case) -> set[Expression]:
    """The nodes that can be paid in a case: not observed, not in a route that the row doesn't take."""
    found: set[Expression] = set()
    stack: list[Expression] = [root]
    while stack:
        node = stack.pop()
        if node in found or node.op == "observe":
            continue
        found.add(node)
        if node.op == "route" and node.param("by") in case:
            choice = routed(node, case[node.param("by")])
            stack.extend([] if choice is None else [choice])
        else:
            stack.extend(node.args)
    return found


def _branch(condition: Interval) -> int | None:
    if condition.low > 0:
        return 1
    return 2 if condition.high < 1 else None


def _less(a: Interval, b: Interval) -> Interval:
    if a.high < b.low:
        return TRUE
    return FALSE if a.low >= b.high else UNIT


def _at_most(a: Interval, b: Interval) -> Interval:
    if a.high <= b.low:
        return TRUE
    return FALSE if a.low > b.high else UNIT


_DECIDE: Final[Mapping[str, Callable[[list[Interval]], Interval]]] = {
    "and": lambda of: Interval(min(a.low for a in of), min(a.high for a in of)),
    "ge": lambda of: _at_most(of[1], of[0]),
    "gt": lambda of: _less(of[1], of[0]),
    "le": lambda of: _at_most(of[0], of[1]),
    "lt": lambda of: _less(of[0], of[1]),
    "not": lambda of: Interval(1.0 - of[0].high, 1.0 - of[0].low),
    "or": lambda of: Interval(max(a.low for a in of), max(a.high for a in of)),
}
