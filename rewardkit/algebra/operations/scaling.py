"""A sign, and division by a number: one operand, stretched."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from rewardkit.algebra.direction import Direction
from rewardkit.algebra.expression import Reward, TokenReward, as_number_node, builds, number
from rewardkit.algebra.interval import Interval
from rewardkit.algebra.operation import Case, Context, Expression, Operation, Plan
from rewardkit.algebra.operations.constants import Number
from rewardkit.algebra.operations.rules import NOTHING, any_steps_out, ask_all
from rewardkit.algebra.print import MUL, UNARY, Text
from rewardkit.algebra.statuses import strict
from rewardkit.algebra.values import Values
from rewardkit.batch import Floats, Mask
from rewardkit.errors import KindError, ParameterError


class Scaling(Operation, family=True):
    """What a number times its first operand says of itself, whatever the number."""

    __slots__ = ()

    constant = False
    shared = False

    def applicability(self, node: Expression) -> bool:
        return any_steps_out(node)

    def needs(self) -> frozenset[str]:
        return NOTHING

    def slips(self, node: Expression) -> Iterable[tuple[str, Expression]]:
        return ()

    def demand(self, node: Expression, rows: Mask, plan: Plan) -> None:
        ask_all(node, rows, plan)

    def decided(self, i: int, operands: Sequence[Interval]) -> None:
        return None

    def paid(self, node: Expression, case: Case) -> Sequence[Expression]:
        return node.args

    def multiples(self, node: Expression) -> Sequence[Expression]:
        return node.args[:1]


@dataclass(frozen=True, slots=True)
class Neg(Scaling):
    """``-x``."""

    json_name = "neg"

    def apply(self, *operands: Any) -> Expression:
        (x,) = operands
        return negative(x)

    def values(self, node: Expression, operands: Sequence[Values], context: Context) -> Values:
        return _scaled(node, operands, -operands[0].value, -1.0)

    def bounds(self, node: Expression, operands: Sequence[Interval], case: Case | None) -> Interval:
        return -operands[0]

    def monotonicity(self, i: int, operands: Sequence[Interval]) -> Direction:
        return Direction.FALLS

    def text(self, operands: Sequence[Text]) -> Text:
        return Text(f"-{operands[0].at(UNARY)}", UNARY, negated=operands[0])

    def addends(self, node: Expression, weight: float) -> Sequence[tuple[Expression, float]]:
        return [(node.args[0], -weight)]


_NEG: Final = Neg()


@dataclass(frozen=True, slots=True)
class Div(Scaling):
    """``x / 4``: a node by a number that is not 0."""

    json_name = "div"

    def apply(self, *operands: Any) -> Expression:
        return divide(*operands)

    def values(self, node: Expression, operands: Sequence[Values], context: Context) -> Values:
        divisor = _divisor(node.args[1])
        return _scaled(node, operands, operands[0].value / divisor, 1.0 / divisor)

    def bounds(self, node: Expression, operands: Sequence[Interval], case: Case | None) -> Interval:
        return operands[0] / operands[1].low

    def monotonicity(self, i: int, operands: Sequence[Interval]) -> Direction:
        return Direction.RISES if operands[1].low > 0 else Direction.FALLS

    def text(self, operands: Sequence[Text]) -> Text:
        return Text(f"{operands[0].at(MUL)} / {operands[1].at(UNARY)}", MUL)

    def addends(self, node: Expression, weight: float) -> Sequence[tuple[Expression, float]]:
        return [(node.args[0], weight / _divisor(node.args[1]))]


_DIV: Final = Div()


@builds("-")
def negative(x: Reward | TokenReward) -> Reward | TokenReward:
    """``-x``; of a number the number."""
    if isinstance(x.operation, Number):
        return number(-x.operation.value)
    return TokenReward(_NEG, (x,)) if isinstance(x, TokenReward) else Reward(_NEG, (x,))


@builds("/")
def divide(left: object, right: object) -> Reward | TokenReward:
    """``left / right``; of two numbers the number.

    Raises:
        KindError: the divisor is not a number.
        ParameterError: the divisor is 0.
    """
    divisor, x = _divisor(right), as_number_node(left, "/")
    if isinstance(x.operation, Number):
        return number(x.operation.value / divisor)
    kind = TokenReward if isinstance(x, TokenReward) else Reward
    return kind(_DIV, (x, number(divisor)))


def _divisor(value: object) -> float:
    if isinstance(value, Expression):
        if not isinstance(value.operation, Number):
            raise KindError(
                f"division by a node, {value!r}; a formula is divided by numbers only",
                hint="a node that can come near 0 has no bounds: multiply, or write when(...) for the cases you mean",
            )
        value = value.operation.value
    node = Number(value)  # type: ignore[arg-type]
    if node.value == 0:
        raise ParameterError("division of a formula by 0")
    return node.value


def _scaled(node: Expression, operands: Sequence[Values], value: Floats, factor: float) -> Values:
    values = strict(node, operands, value)
    pieces = operands[0].pieces
    return values.at(None if pieces is None else tuple(p.scaled(np.full(len(value), factor)) for p in pieces))
