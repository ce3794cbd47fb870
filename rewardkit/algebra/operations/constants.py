"""What no response changes: plain numbers, and weights by the training step."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from rewardkit.algebra.direction import Direction
from rewardkit.algebra.expression import Reward, builds
from rewardkit.algebra.interval import Interval
from rewardkit.algebra.operation import Case, Context, Expression, Operation, Plan
from rewardkit.algebra.operations.rules import NOTHING
from rewardkit.algebra.print import NUMBER, Text, call, number_text
from rewardkit.algebra.registry import function
from rewardkit.algebra.values import Values, constant
from rewardkit.batch import Mask
from rewardkit.errors import MAX_INTEGER, DataError, KindError, ParameterError, shown


class Constant(Operation, family=True):
    """No operands, so nothing to ask, to vary or to take apart."""

    __slots__ = ()

    constant = True
    shared = False

    def apply(self, *operands: Any) -> Expression:
        return Reward(self)

    def monotonicity(self, i: int, operands: Sequence[Interval]) -> Direction:
        return Direction.NONE

    def applicability(self, node: Expression) -> bool:
        return False

    def slips(self, node: Expression) -> Iterable[tuple[str, Expression]]:
        return ()

    def demand(self, node: Expression, rows: Mask, plan: Plan) -> None:
        return None

    def decided(self, i: int, operands: Sequence[Interval]) -> None:
        return None

    def paid(self, node: Expression, case: Case) -> Sequence[Expression]:
        return ()

    def multiples(self, node: Expression) -> Sequence[Expression]:
        return ()

    def addends(self, node: Expression, weight: float) -> None:
        return None


@dataclass(frozen=True, slots=True)
class Number(Constant):
    """A plain number."""

    value: float

    json_name = "number"

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", finite(self.value))

    def values(self, node: Expression, operands: Sequence[Values], context: Context) -> Values:
        return constant(self.value, context.n)

    def bounds(self, node: Expression, operands: Sequence[Interval], case: Case | None) -> Interval:
        return Interval(self.value, self.value)

    def needs(self) -> frozenset[str]:
        return NOTHING

    def text(self, operands: Sequence[Text]) -> Text:
        minus = Text(number_text(-self.value), NUMBER) if self.value < 0 else None
        return Text(number_text(self.value), NUMBER, minus)


@dataclass(frozen=True, slots=True)
class Schedule(Constant):
    """A weight by the training step: in steps, or along straight lines."""

    points: tuple[tuple[int, float], ...]
    shape: Literal["step", "linear"]

    json_name = "schedule"

    def __post_init__(self) -> None:
        if not self.points:
            raise ParameterError("schedule() without points", hint="such as schedule({0: 0.5, 200: 0})")
        for step, _ in self.points:
            if isinstance(step, bool) or not isinstance(step, int) or not 0 <= step < MAX_INTEGER:
                raise ParameterError(f"schedule: the step {shown(step)} is not an integer from 0 on that a float holds")
        if self.shape not in ("step", "linear") or (self.shape == "linear" and len(dict(self.points)) != 2):
            raise ParameterError(f"a schedule of shape {self.shape!r} through {len(self.points)} points")
        ordered = tuple((step, finite(value)) for step, value in sorted(dict(self.points).items()))
        object.__setattr__(self, "points", ordered)

    def values(self, node: Expression, operands: Sequence[Values], context: Context) -> Values:
        return constant(self.at(self.points[0][0] if context.step is None else context.step), context.n)

    def at(self, step: Any) -> float:
        """The weight at a step, which comes from a trainer.

        Raises:
            DataError: the step is not a finite number.
        """
        if not isinstance(step, numbers.Real) or not math.isfinite(step):
            raise DataError(f"the training step {shown(step)}; expected an integer from 0 on", hint="Batch(step=...)")
        now = float(step)
        steps = [s for s, _ in self.points]
        values = [v for _, v in self.points]
        if self.shape == "linear":
            return float(np.interp(now, steps, values))
        return values[max(0, int(np.searchsorted(steps, now, side="right")) - 1)]

    def bounds(self, node: Expression, operands: Sequence[Interval], case: Case | None) -> Interval:
        values = [v for _, v in self.points]
        return Interval(min(values), max(values))

    def needs(self) -> frozenset[str]:
        return frozenset({"step"})

    def text(self, operands: Sequence[Text]) -> Text:
        if self.shape == "linear":
            (begin, start), (last, end) = self.points
            shift = [f"begin={begin}"] if begin else []
            return call("linear", number_text(start), number_text(end), f"steps={last - begin}", *shift)
        return call("schedule", f"{{{', '.join(f'{step}: {number_text(v)}' for step, v in self.points)}}}")


def finite(value: object) -> float:
    """A number of a formula as a float.

    Raises:
        KindError: not a number (a bool is none).
        ParameterError: NaN or infinite.
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise KindError(f"{value!r} ({type(value).__name__}) in a formula; expected a number or a node")
    try:
        as_float = float(value)
    except OverflowError:
        as_float = math.inf
    if not math.isfinite(as_float):
        raise ParameterError(f"{shown(value)} in a formula; expected a finite number")
    return as_float + 0.0  # there is one zero


@builds("number")
def _number(value: float) -> Reward:
    return Reward(Number(value))


@function("step")
def schedule(points: Mapping[int, float]) -> Reward:
    """A weight by the training step: each point's value from its step on, until the next point.

    Before the first point its value holds too. ``schedule({0: 0.5, 200: 0.0}) * length()`` pays length for 200 steps.

    Raises:
        ParameterError: no points, a step that is not an integer from 0 on, or a value that is not finite.
    """
    if not isinstance(points, Mapping) or not points:
        raise ParameterError(f"schedule({points!r}); expected a mapping from steps to values, {{0: 0.5, 200: 0.0}}")
    return Reward(Schedule(tuple(points.items()), "step"))


@function("step")
def linear(start: float, end: float, *, steps: int, begin: int = 0) -> Reward:
    """A weight that goes from ``start`` to ``end`` in a straight line over ``steps`` steps, then stays.

    Raises:
        ParameterError: fewer than one step, a negative ``begin``, or a value that is not finite.
    """
    for name, value, least in (("steps", steps, 1), ("begin", begin, 0)):
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise ParameterError(f"linear({name}={value!r}); expected an integer from {least} on")
    return Reward(Schedule(((begin, start), (begin + steps, end)), "linear"))
