"""The least, the most, and what lies between."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from rewardkit.algebra.direction import Direction
from rewardkit.algebra.expression import Reward, as_reward
from rewardkit.algebra.interval import Interval
from rewardkit.algebra.operation import Case, Context, Expression, Operation, Plan, may_step_out, short
from rewardkit.algebra.operations.arithmetic import payers
from rewardkit.algebra.operations.constants import finite
from rewardkit.algebra.operations.rules import NOTHING, any_steps_out, ask_all, hull, without
from rewardkit.algebra.print import Text, call, number_text
from rewardkit.algebra.registry import function
from rewardkit.algebra.statuses import folding, strict
from rewardkit.algebra.values import Values
from rewardkit.batch import Floats, Mask
from rewardkit.errors import KindError, ParameterError


@dataclass(frozen=True, slots=True)
class Clip(Operation):
    """``min(max(x, low), high)``. None leaves that side open."""

    low: float | None
    high: float | None

    json_name = "clip"
    constant = False
    shared = False

    def __post_init__(self) -> None:
        low, high = self.low, self.high
        object.__setattr__(self, "low", None if low is None else finite(low))
        object.__setattr__(self, "high", None if high is None else finite(high))
        if low is None and high is None:
            raise ParameterError("clip() without low and high changes nothing", hint="give one: clip(x, 0, 1)")
        if low is not None and high is not None and low > high:
            raise ParameterError(f"clip(low={low!r}, high={high!r}): low is above high")

    def apply(self, *operands: Any) -> Expression:
        (x,) = operands
        return Reward(self, (as_reward(x, "clip"),))

    def values(self, node: Expression, operands: Sequence[Values], context: Context) -> Values:
        return strict(node, operands, np.clip(operands[0].value, self.low, self.high))

    def bounds(self, node: Expression, operands: Sequence[Interval], case: Case | None) -> Interval:
        low = -math.inf if self.low is None else self.low
        high = math.inf if self.high is None else self.high
        return Interval(min(max(operands[0].low, low), high), min(max(operands[0].high, low), high))

    def monotonicity(self, i: int, operands: Sequence[Interval]) -> Direction:
        return Direction.RISES

    def applicability(self, node: Expression) -> bool:
        return any_steps_out(node)

    def needs(self) -> frozenset[str]:
        return NOTHING

    def text(self, operands: Sequence[Text]) -> Text:
        limits = ("None" if end is None else number_text(end) for end in (self.low, self.high))
        return call("clip", operands[0].text, *limits)

    def slips(self, node: Expression) -> Iterable[tuple[str, Expression]]:
        yield f"drop {short(node)}'s clip", node.args[0]

    def demand(self, node: Expression, rows: Mask, plan: Plan) -> None:
        ask_all(node, rows, plan)

    def decided(self, i: int, operands: Sequence[Interval]) -> None:
        return None

    def paid(self, node: Expression, case: Case) -> Sequence[Expression]:
        return node.args

    def multiples(self, node: Expression) -> Sequence[Expression]:
        return ()

    def addends(self, node: Expression, weight: float) -> None:
        return None


class Fold(Operation, family=True):
    """What one number made of several rewards says of itself; operands that are NOT_APPLICABLE step out."""

    __slots__ = ()

    constant = False
    shared = False

    def apply(self, *operands: Any) -> Expression:
        name = self.json_name
        if not operands:
            raise ParameterError(f"{name}() of nothing", hint=f"give at least one reward: {name}(a, b)")
        if len(operands) == 1 and isinstance(operands[0], list | tuple):
            raise KindError(
                f"{name} got one {type(operands[0]).__name__}; expected rewards", hint=f"unpack it: {name}(*rewards)"
            )
        return Reward(self, tuple(as_reward(r, name) for r in operands))

    def monotonicity(self, i: int, operands: Sequence[Interval]) -> Direction:
        return Direction.RISES

    def applicability(self, node: Expression) -> bool:
        return all(may_step_out(a) for a in payers(node))

    def needs(self) -> frozenset[str]:
        return NOTHING

    def text(self, operands: Sequence[Text]) -> Text:
        return call(self.json_name, *(o.text for o in operands))

    def slips(self, node: Expression) -> Iterable[tuple[str, Expression]]:
        if len(node.args) > 1:
            for i, operand in enumerate(node.args):
                yield f"drop {short(operand)} from {self.json_name}", without(node, i)

    def paid(self, node: Expression, case: Case) -> Sequence[Expression]:
        return node.args

    def addends(self, node: Expression, weight: float) -> None:
        return None


class Extremum(Fold, family=True):
    """The least or the most: one operand decides alone, and the plan leaves the expensive ones out where it does."""

    __slots__ = ()

    def demand(self, node: Expression, rows: Mask, plan: Plan) -> None:
        plan.ask_open(node, rows)

    def multiples(self, node: Expression) -> Sequence[Expression]:
        return ()


@dataclass(frozen=True, slots=True)
class Minimum(Extremum):
    """The smallest of its operands, for each response."""

    json_name = "minimum"

    def values(self, node: Expression, operands: Sequence[Values], context: Context) -> Values:
        return folding(node, operands, np.fmin.reduce(_stack(operands)))

    def bounds(self, node: Expression, operands: Sequence[Interval], case: Case | None) -> Interval:
        most = max if any_steps_out(node) else min
        return Interval(min(o.low for o in operands), most(o.high for o in operands))

    def decided(self, i: int, operands: Sequence[Interval]) -> tuple[float, float]:
        return -math.inf, operands[i].low


@dataclass(frozen=True, slots=True)
class Maximum(Extremum):
    """The largest of its operands, for each response."""

    json_name = "maximum"

    def values(self, node: Expression, operands: Sequence[Values], context: Context) -> Values:
        return folding(node, operands, np.fmax.reduce(_stack(operands)))

    def bounds(self, node: Expression, operands: Sequence[Interval], case: Case | None) -> Interval:
        least = min if any_steps_out(node) else max
        return Interval(least(o.low for o in operands), max(o.high for o in operands))

    def decided(self, i: int, operands: Sequence[Interval]) -> tuple[float, float]:
        return operands[i].high, math.inf


@dataclass(frozen=True, slots=True)
class Mean(Fold):
    """The mean of its operands, for each response."""

    json_name = "mean"

    def values(self, node: Expression, operands: Sequence[Values], context: Context) -> Values:
        known = np.stack([v.known for v in operands])
        total = np.where(known, _stack(operands), 0.0).sum(axis=0)
        return folding(node, operands, total / np.maximum(known.sum(axis=0), 1))

    def bounds(self, node: Expression, operands: Sequence[Interval], case: Case | None) -> Interval:
        if any_steps_out(node):
            return hull(operands)
        return reduce(Interval.__add__, operands) / len(operands)

    def demand(self, node: Expression, rows: Mask, plan: Plan) -> None:
        ask_all(node, rows, plan)

    def decided(self, i: int, operands: Sequence[Interval]) -> None:
        return None

    def multiples(self, node: Expression) -> Sequence[Expression]:
        return node.args


def _stack(operands: Sequence[Values]) -> Floats:
    return np.stack([v.value for v in operands])


@function()
def clip(x: Reward | float, low: float | None = None, high: float | None = None) -> Reward:
    """``min(max(x, low), high)``; None leaves that side open.

    Raises:
        ParameterError: no bound at all, a bound that is not finite, or ``low > high``.
    """
    return Reward(Clip(low, high), (as_reward(x, "clip"),))


@function()
def minimum(*rewards: Reward | float) -> Reward:
    """The smallest of its operands, for each response. Those that are NOT_APPLICABLE step out."""
    return as_reward(Minimum().apply(*rewards), "minimum")


@function()
def maximum(*rewards: Reward | float) -> Reward:
    """The largest of its operands, for each response. Those that are NOT_APPLICABLE step out."""
    return as_reward(Maximum().apply(*rewards), "maximum")


@function()
def mean(*rewards: Reward | float) -> Reward:
    """The mean of its operands, for each response. Those that are NOT_APPLICABLE step out."""
    return as_reward(Mean().apply(*rewards), "mean")
