"""Sums and products."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Final

import numpy as np

from rewardkit.algebra.direction import Direction
from rewardkit.algebra.expression import Reward, TokenReward, as_number_node, builds, number
from rewardkit.algebra.interval import ZERO, Interval
from rewardkit.algebra.operation import Case, Context, Expression, Operation, Plan, may_step_out, short
from rewardkit.algebra.operations.constants import Number
from rewardkit.algebra.operations.naming import is_observed, observed
from rewardkit.algebra.operations.rules import NOTHING, any_steps_out, ask_all, without
from rewardkit.algebra.print import ADD, MUL, Text, chain
from rewardkit.algebra.statuses import folding, strict
from rewardkit.algebra.values import Values
from rewardkit.batch import Mask
from rewardkit.errors import KindError


@dataclass(frozen=True, slots=True)
class Add(Operation):
    """The sum of its operands; those that are NOT_APPLICABLE step out, and observed ones have no say in it."""

    json_name = "add"
    constant = False
    shared = False

    def apply(self, *operands: Any) -> Expression:
        node: Expression = reduce(add, operands)
        return node

    def values(self, node: Expression, operands: Sequence[Values], context: Context) -> Values:
        total = np.zeros(context.n)
        for v in operands:
            total = total + np.where(v.known, v.value, 0.0)
        values = folding(node, operands, total, payers(node))
        if not isinstance(node, TokenReward):
            return values
        return values.at(tuple(p for v in operands for p in v.placed))

    def bounds(self, node: Expression, operands: Sequence[Interval], case: Case | None) -> Interval:
        """An operand that can step out of the sum may also count as 0."""
        parts = [o.hull(ZERO) if may_step_out(a) else o for a, o in zip(node.args, operands, strict=True)]
        return reduce(Interval.__add__, parts)

    def monotonicity(self, i: int, operands: Sequence[Interval]) -> Direction:
        return Direction.RISES

    def applicability(self, node: Expression) -> bool:
        return all(may_step_out(a) for a in payers(node))

    def needs(self) -> frozenset[str]:
        return NOTHING

    def text(self, operands: Sequence[Text]) -> Text:
        parts = [operands[0].at(ADD)]
        for t in operands[1:]:
            parts.append(f" + {t.at(MUL)}" if t.negated is None else f" - {t.negated.at(MUL)}")
        return Text("".join(parts), ADD)

    def slips(self, node: Expression) -> Iterable[tuple[str, Expression]]:
        for i, addend in enumerate(node.args):
            yield f"drop {short(addend)}", without(node, i)

    def demand(self, node: Expression, rows: Mask, plan: Plan) -> None:
        ask_all(node, rows, plan)

    def decided(self, i: int, operands: Sequence[Interval]) -> None:
        return None

    def paid(self, node: Expression, case: Case) -> Sequence[Expression]:
        return node.args

    def multiples(self, node: Expression) -> Sequence[Expression]:
        return node.args

    def addends(self, node: Expression, weight: float) -> Sequence[tuple[Expression, float]]:
        return [(a, weight) for a in node.args]


_ADD: Final = Add()


@dataclass(frozen=True, slots=True)
class Mul(Operation):
    """The product of its operands, of which one at most is a TokenReward."""

    json_name = "mul"
    constant = False
    shared = False

    def apply(self, *operands: Any) -> Expression:
        node: Expression = reduce(multiply, operands)
        return node

    def values(self, node: Expression, operands: Sequence[Values], context: Context) -> Values:
        product = operands[0].value
        for v in operands[1:]:
            product = product * v.value
        values = strict(node, operands, product)
        dense = [i for i, v in enumerate(operands) if v.pieces is not None]
        if not isinstance(node, TokenReward) or not dense:
            return values
        factor = np.ones(context.n)
        for i, v in enumerate(operands):
            if i != dense[0]:
                factor = factor * np.where(v.known, v.value, 0.0)
        return values.at(tuple(p.scaled(factor) for p in operands[dense[0]].placed))

    def bounds(self, node: Expression, operands: Sequence[Interval], case: Case | None) -> Interval:
        return reduce(Interval.__mul__, operands)

    def monotonicity(self, i: int, operands: Sequence[Interval]) -> Direction:
        """As the sign of the other operands' product."""
        others = Interval(1.0, 1.0)
        for j, other in enumerate(operands):
            if j != i:
                others = others * other
        if others.low >= 0:
            return Direction.RISES
        return Direction.FALLS if others.high <= 0 else Direction.MIXED

    def applicability(self, node: Expression) -> bool:
        return any_steps_out(node)

    def needs(self) -> frozenset[str]:
        return NOTHING

    def text(self, operands: Sequence[Text]) -> Text:
        return chain("*", MUL, operands)

    def slips(self, node: Expression) -> Iterable[tuple[str, Expression]]:
        return ()

    def demand(self, node: Expression, rows: Mask, plan: Plan) -> None:
        plan.ask_open(node, rows)

    def decided(self, i: int, operands: Sequence[Interval]) -> tuple[float, float]:
        return 0.0, 0.0

    def paid(self, node: Expression, case: Case) -> Sequence[Expression]:
        return node.args

    def multiples(self, node: Expression) -> Sequence[Expression]:
        """The only operand that a response can change."""
        moving = [a for a in node.args if not a.operation.constant or is_observed(a)]
        return moving if len(moving) == 1 else ()

    def addends(self, node: Expression, weight: float) -> Sequence[tuple[Expression, float]] | None:
        """The only operand that is not a plain number."""
        rest = [a for a in node.args if not isinstance(a.operation, Number)]
        if len(rest) != 1:
            return None
        factors = [a.operation.value for a in node.args if isinstance(a.operation, Number)]
        return [(rest[0], weight * float(np.prod(factors)))]


_MUL: Final = Mul()


def payers(node: Expression) -> Sequence[Expression]:
    """The operands of a sum that decide whether it applies: all but the observed ones, which are worth 0 always."""
    return tuple(a for a in node.args if not is_observed(a)) or node.args


@builds("+")
def add(left: object, right: object) -> Reward | TokenReward:
    """``left + right``: numbers are added up, and a sum on the left goes on."""
    a, b = as_number_node(left, "+"), as_number_node(right, "+")
    if isinstance(a.operation, Number) and isinstance(b.operation, Number):
        return number(a.operation.value + b.operation.value)
    args = (*a.args, b) if isinstance(a.operation, Add) else (a, b)
    return _kind(args)(_ADD, args)


@builds("*")
def multiply(left: object, right: object) -> Reward | TokenReward:
    """``left * right``: numbers are multiplied out, a product on the left goes on, and weight 0 observes.

    Raises:
        KindError: a product of two TokenRewards.
    """
    a, b = as_number_node(left, "*"), as_number_node(right, "*")
    if isinstance(a, TokenReward) and isinstance(b, TokenReward):
        raise KindError(
            f"a product of two TokenRewards: {a!r} and {b!r}", hint="sum the tokens of one first: (...).total()"
        )
    if isinstance(a.operation, Number) and isinstance(b.operation, Number):
        return number(a.operation.value * b.operation.value)
    for weight, weighted in ((a, b), (b, a)):
        if isinstance(weight.operation, Number) and weight.operation.value == 0:
            return observed(weighted)
    args = (*a.args, b) if isinstance(a.operation, Mul) else (a, b)
    return _kind(args)(_MUL, args)


def _kind(args: Sequence[Expression]) -> type[Reward] | type[TokenReward]:
    return TokenReward if any(isinstance(x, TokenReward) for x in args) else Reward
