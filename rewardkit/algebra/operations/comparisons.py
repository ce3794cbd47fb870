"""``< <= > >=`` between two rewards."""

from __future__ import annotations

import operator
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import numpy as np

from rewardkit.algebra.direction import Direction
from rewardkit.algebra.expression import Condition, as_reward, builds
from rewardkit.algebra.interval import UNIT, ZERO, Interval
from rewardkit.algebra.operation import Case, Context, Expression, Operation, Plan
from rewardkit.algebra.operations.constants import Number
from rewardkit.algebra.operations.rules import NOTHING, any_steps_out, ask_all
from rewardkit.algebra.print import COMPARE, OR, Text
from rewardkit.algebra.statuses import strict
from rewardkit.algebra.values import Values
from rewardkit.batch import Mask

TRUE: Final = Interval(1.0, 1.0)
FALSE: Final = ZERO


class Comparison(Operation, family=True):
    """What a comparison says of itself, whatever its sign. A subclass says how its sign is written and worked out."""

    __slots__ = ()

    constant = False
    shared = False
    sign: ClassVar[str]
    compare: ClassVar[Callable[..., Any]]
    python: ClassVar[Callable[..., Any]]
    """Python's operator. It turns `1 < x` round to `x > 1`, and `reward < verdict`, since a Verdict is a Reward."""

    def apply(self, *operands: Any) -> Expression:
        node: Expression = type(self).python(*(as_reward(operand, "a comparison") for operand in operands))
        return node

    def built(self, left: object, right: object) -> Condition:
        """What the operator builds."""
        a, b = as_reward(left, "a comparison"), as_reward(right, "a comparison")
        if isinstance(a.operation, Number) and not isinstance(b.operation, Number):
            turned: Condition = type(self).python(a.operation.value, b)
            return turned
        return Condition(self, (a, b))

    def values(self, node: Expression, operands: Sequence[Values], context: Context) -> Values:
        held = type(self).compare(operands[0].value, operands[1].value)
        return strict(node, operands, held.astype(np.float64))

    def bounds(self, node: Expression, operands: Sequence[Interval], case: Case | None) -> Interval:
        return UNIT if case is None else self.holds(operands[0], operands[1])

    @abstractmethod
    def holds(self, left: Interval, right: Interval) -> Interval:
        """Whether it is true or false of all numbers in two intervals."""

    def applicability(self, node: Expression) -> bool:
        return any_steps_out(node)

    def needs(self) -> frozenset[str]:
        return NOTHING

    def text(self, operands: Sequence[Text]) -> Text:
        return Text(f" {self.sign} ".join(o.at(OR) for o in operands), COMPARE)

    def slips(self, node: Expression) -> Iterable[tuple[str, Expression]]:
        return ()

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


class Below(Comparison, family=True):
    """``<`` and ``<=``: held by a low left side."""

    __slots__ = ()

    def monotonicity(self, i: int, operands: Sequence[Interval]) -> Direction:
        return Direction.FALLS if i == 0 else Direction.RISES


class Above(Comparison, family=True):
    """``>`` and ``>=``: held by a high left side."""

    __slots__ = ()

    def monotonicity(self, i: int, operands: Sequence[Interval]) -> Direction:
        return Direction.RISES if i == 0 else Direction.FALLS


@dataclass(frozen=True, slots=True)
class Less(Below):
    """``a < b``."""

    json_name = "lt"
    sign = "<"
    compare = np.less
    python = operator.lt

    def holds(self, left: Interval, right: Interval) -> Interval:
        return _less(left, right)


@dataclass(frozen=True, slots=True)
class AtMost(Below):
    """``a <= b``."""

    json_name = "le"
    sign = "<="
    compare = np.less_equal
    python = operator.le

    def holds(self, left: Interval, right: Interval) -> Interval:
        return _at_most(left, right)


@dataclass(frozen=True, slots=True)
class Greater(Above):
    """``a > b``."""

    json_name = "gt"
    sign = ">"
    compare = np.greater
    python = operator.gt

    def holds(self, left: Interval, right: Interval) -> Interval:
        return _less(right, left)


@dataclass(frozen=True, slots=True)
class AtLeast(Above):
    """``a >= b``."""

    json_name = "ge"
    sign = ">="
    compare = np.greater_equal
    python = operator.ge

    def holds(self, left: Interval, right: Interval) -> Interval:
        return _at_most(right, left)


def _less(a: Interval, b: Interval) -> Interval:
    if a.high < b.low:
        return TRUE
    return FALSE if a.low >= b.high else UNIT


def _at_most(a: Interval, b: Interval) -> Interval:
    if a.high <= b.low:
        return TRUE
    return FALSE if a.low > b.high else UNIT


for _comparison in (Less(), AtMost(), Greater(), AtLeast()):
    builds(_comparison.sign)(_comparison.built)
