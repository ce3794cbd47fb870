"""Interval arithmetic: between which two numbers a formula's value lies, whatever the text.

Bounds come from what terms declare and go up the tree. They are sound, not always tight: a term that stands twice is
taken as two independent ones. An end that nobody declared is infinite, and says so when printed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Final

from rewardkit.expression import Condition, Expression, Verdict


@dataclass(frozen=True, slots=True)
class Interval:
    """The closed interval from ``low`` to ``high``; either end may be infinite."""

    low: float
    high: float

    def __post_init__(self) -> None:
        if math.isnan(self.low) or math.isnan(self.high) or self.low > self.high:
            raise ValueError(f"no interval: [{self.low}, {self.high}]")

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    def __add__(self, other: Interval) -> Interval:
        return Interval(self.low + other.low, self.high + other.high)

    def __neg__(self) -> Interval:
        return Interval(-self.high, -self.low)

    def __mul__(self, other: Interval) -> Interval:
        ends = [_times(a, b) for a in (self.low, self.high) for b in (other.low, other.high)]
        return Interval(min(ends), max(ends))

    def __truediv__(self, divisor: float) -> Interval:
        ends = (self.low / divisor, self.high / divisor)
        return Interval(min(ends), max(ends))

    def hull(self, other: Interval) -> Interval:
        """The smallest interval that holds both."""
        return Interval(min(self.low, other.low), max(self.high, other.high))

    @property
    def is_finite(self) -> bool:
        """True when neither end is infinite."""
        return math.isfinite(self.low) and math.isfinite(self.high)

    def __str__(self) -> str:
        low = "unbounded below" if self.low == -math.inf else f"{self.low:g}"
        high = "unbounded above" if self.high == math.inf else f"{self.high:g}"
        if not math.isfinite(self.low) and not math.isfinite(self.high):
            return "unbounded"
        return f"[{low}, {high}]"


UNIT: Final = Interval(0.0, 1.0)
ZERO: Final = Interval(0.0, 0.0)
ANY: Final = Interval(-math.inf, math.inf)

Below = Callable[[Expression], Interval]


def _times(a: float, b: float) -> float:
    """0 × infinity is 0 here: the infinite end is a bound that no value reaches."""
    return 0.0 if a == 0 or b == 0 else a * b


def payers(node: Expression) -> tuple[Expression, ...]:
    """The operands of a sum that decide whether it applies: all but the observed ones, which are worth 0 always."""
    paid = tuple(a for a in node.args if unnamed(a).op != "observe")
    return paid or node.args


def unnamed(node: Expression) -> Expression:
    """The node below its names."""
    while node.op == "named":
        node = node.args[0]
    return node


def _add(node: Expression, of: Below) -> Interval:
    """A NOT_APPLICABLE operand steps out of a sum, so an operand that can do so may also count as 0."""
    parts = [of(a).hull(ZERO) if may_step_out(a) else of(a) for a in node.args]
    return reduce(Interval.__add__, parts)


def _hull(node: Expression, of: Below) -> Interval:
    return reduce(Interval.hull, (of(a) for a in node.args))


def _minimum(node: Expression, of: Below) -> Interval:
    parts = [of(a) for a in node.args]
    if any(may_step_out(a) for a in node.args):
        return Interval(min(p.low for p in parts), max(p.high for p in parts))
    return Interval(min(p.low for p in parts), min(p.high for p in parts))


def _maximum(node: Expression, of: Below) -> Interval:
    parts = [of(a) for a in node.args]
    if any(may_step_out(a) for a in node.args):
        return Interval(min(p.low for p in parts), max(p.high for p in parts))
    return Interval(max(p.low for p in parts), max(p.high for p in parts))


def _mean(node: Expression, of: Below) -> Interval:
    parts = [of(a) for a in node.args]
    if any(may_step_out(a) for a in node.args):
        return _hull(node, of)
    return reduce(Interval.__add__, parts) / len(parts)


def _clip(node: Expression, of: Below) -> Interval:
    inner = of(node.args[0])
    low, high = node.param("low"), node.param("high")
    lo = -math.inf if low is None else low
    hi = math.inf if high is None else high
    return Interval(min(max(inner.low, lo), hi), min(max(inner.high, lo), hi))


def _schedule(node: Expression, of: Below) -> Interval:
    values = [v for _, v in node.param("points")]
    return Interval(min(values), max(values))


def _number(node: Expression, of: Below) -> Interval:
    return Interval(node.param("value"), node.param("value"))


def _term(node: Expression, of: Below) -> Interval:
    assert node.term is not None
    return node.term.bounds(node)


_RULES: Final[Mapping[str, Callable[[Expression, Below], Interval]]] = {
    "add": _add,
    "clip": _clip,
    "div": lambda node, of: of(node.args[0]) / node.args[1].param("value"),
    "group_minmax": lambda node, of: UNIT,
    "group_rank": lambda node, of: UNIT,
    "group_share": lambda node, of: UNIT,
    # |x - mean| / s is at most (n - 1) / sqrt(n), whatever n: no bound without the group's size.
    "group_zscore": lambda node, of: ANY,
    "maximum": _maximum,
    "mean": _mean,
    "minimum": _minimum,
    "mul": lambda node, of: reduce(Interval.__mul__, (of(a) for a in node.args)),
    "named": lambda node, of: of(node.args[0]),
    "neg": lambda node, of: -of(node.args[0]),
    "number": _number,
    "observe": lambda node, of: ZERO,
    "on": lambda node, of: of(node.args[0]),
    "route": _hull,
    "schedule": _schedule,
    "spread": lambda node, of: of(node.args[0]),
    "term": _term,
    "total": lambda node, of: of(node.args[0]),
    "when": lambda node, of: of(node.args[1]).hull(of(node.args[2])),
}


def all_bounds(root: Expression) -> dict[Expression, Interval]:
    """The interval of every node of a formula; Conditions have [0, 1]."""
    found: dict[Expression, Interval] = {}
    for node in root.walk():
        found[node] = own_bounds(node, found.__getitem__)
    return found


def own_bounds(node: Expression, of: Below) -> Interval:
    """The interval of one node, from those of its operands."""
    if isinstance(node, Condition) and (not isinstance(node, Verdict) or node.op in ("and", "or", "not")):
        return UNIT
    return _RULES[node.op](node, of)


def bounds(root: Expression) -> Interval:
    """The interval in which the formula's value lies for every response that is scored.

    For a TokenReward it is the interval of the total. Group z-scores are unbounded: their range grows with the group.
    """
    return all_bounds(root)[root]


def may_step_out(node: Expression) -> bool:
    """Whether a node can be NOT_APPLICABLE, so that sums and means go on without it."""
    if node.op == "term":
        assert node.term is not None
        return node.term.may_be_inapplicable
    if node.op == "route":
        return len(node.args) == len(node.param("keys")) or any(may_step_out(a) for a in node.args)
    if node.op in ("number", "schedule", "observe"):
        return False
    if node.op in ("add", "mean", "minimum", "maximum"):
        return all(may_step_out(a) for a in payers(node))
    return any(may_step_out(a) for a in node.args)
