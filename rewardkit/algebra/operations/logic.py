"""``&``, ``|`` and ``~`` between conditions, in Kleene's logic: what has no value is "unknown"."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, ClassVar

import numpy as np

from rewardkit.algebra.direction import Direction
from rewardkit.algebra.expression import Condition, Verdict, as_condition, builds
from rewardkit.algebra.interval import UNIT, Interval
from rewardkit.algebra.operation import Case, Context, Expression, Operation, Plan, short
from rewardkit.algebra.operations.rules import NOTHING, any_steps_out, ask_all, without
from rewardkit.algebra.print import AND, OR, UNARY, Text, chain
from rewardkit.algebra.statuses import strict
from rewardkit.algebra.values import Values
from rewardkit.batch import Mask, Status


class Logic(Operation, family=True):
    """What conditions made of conditions say of themselves."""

    __slots__ = ()

    constant = False
    shared = False

    def applicability(self, node: Expression) -> bool:
        return any_steps_out(node)

    def needs(self) -> frozenset[str]:
        return NOTHING

    def decided(self, i: int, operands: Sequence[Interval]) -> None:
        return None  # Kleene's logic decides by itself, below: cheap operands too, and statuses with them

    def paid(self, node: Expression, case: Case) -> Sequence[Expression]:
        return node.args

    def multiples(self, node: Expression) -> Sequence[Expression]:
        return ()

    def addends(self, node: Expression, weight: float) -> None:
        return None


class Junction(Logic, family=True):
    """``&`` and ``|``: one operand that decides is enough, whatever the others say or would have said.

    Where some decide, only those count: the row is SCORED if one of them is, and floored only if all of them are. So
    an operand that the plan left out, because another had decided, changes nothing.
    """

    __slots__ = ()

    sign: ClassVar[str]
    level: ClassVar[int]
    decides: ClassVar[float]
    """The value of an operand that makes all others idle."""

    def apply(self, *operands: Any) -> Expression:
        node: Expression = reduce(self._joined, operands)
        return node

    def _joined(self, left: object, right: object) -> Condition:
        a, b = as_condition(left, self.sign), as_condition(right, self.sign)
        args: tuple[Expression, ...] = (*a.args, b) if type(a.operation) is type(self) else (a, b)
        kind = Verdict if all(isinstance(x, Verdict) for x in args) else Condition
        return kind(self, args)

    def values(self, node: Expression, operands: Sequence[Values], context: Context) -> Values:
        values = strict(node, operands, np.full(context.n, 1.0 - self.decides))
        status, floored = values.status.copy(), values.floored.copy()
        decided = np.zeros(context.n, dtype=np.bool_)
        for v in operands:
            here = v.value == self.decides
            first = here & ~decided
            status[first] = v.status[first]
            status[here & (v.status == Status.SCORED)] = Status.SCORED
            floored[here] = v.floored[here] & (first | floored)[here]
            decided |= here
        return Values(np.where(decided, self.decides, values.value), status, floored)

    def bounds(self, node: Expression, operands: Sequence[Interval], case: Case | None) -> Interval:
        if case is None:
            return UNIT
        end = max if self.decides else min
        return Interval(end(o.low for o in operands), end(o.high for o in operands))

    def monotonicity(self, i: int, operands: Sequence[Interval]) -> Direction:
        return Direction.RISES

    def text(self, operands: Sequence[Text]) -> Text:
        return chain(self.sign, self.level, operands)

    def slips(self, node: Expression) -> Iterable[tuple[str, Expression]]:
        for i, operand in enumerate(node.args):
            yield f"drop {short(operand)} from {short(node)}", without(node, i)

    def demand(self, node: Expression, rows: Mask, plan: Plan) -> None:
        """Cheap operands run everywhere, for the logs' sake; expensive ones where the others leave it open."""
        for operand in sorted(node.args, key=plan.cost):
            if plan.is_expensive(operand):
                for other in node.args:
                    if other is not operand and not plan.is_late(other):
                        known = plan.values(other)
                        answered = (known.status == Status.SCORED) & ~known.floored
                        rows = rows & ~((known.value == self.decides) & answered)
            plan.ask(operand, rows)


@dataclass(frozen=True, slots=True)
class And(Junction):
    """``a & b``."""

    json_name = "and"
    sign = "&"
    level = AND
    decides = 0.0


@dataclass(frozen=True, slots=True)
class Or(Junction):
    """``a | b``."""

    json_name = "or"
    sign = "|"
    level = OR
    decides = 1.0


@dataclass(frozen=True, slots=True)
class Not(Logic):
    """``~a``."""

    json_name = "not"

    def apply(self, *operands: Any) -> Expression:
        (a,) = operands
        condition = as_condition(a, "~")
        return Verdict(self, (condition,)) if isinstance(condition, Verdict) else Condition(self, (condition,))

    def values(self, node: Expression, operands: Sequence[Values], context: Context) -> Values:
        return strict(node, operands, 1.0 - operands[0].value)

    def bounds(self, node: Expression, operands: Sequence[Interval], case: Case | None) -> Interval:
        return UNIT if case is None else Interval(1.0 - operands[0].high, 1.0 - operands[0].low)

    def monotonicity(self, i: int, operands: Sequence[Interval]) -> Direction:
        return Direction.FALLS

    def text(self, operands: Sequence[Text]) -> Text:
        return Text(f"~{operands[0].at(UNARY)}", UNARY)

    def slips(self, node: Expression) -> Iterable[tuple[str, Expression]]:
        return ()

    def demand(self, node: Expression, rows: Mask, plan: Plan) -> None:
        ask_all(node, rows, plan)


for _sign, _operation in (("&", And()), ("|", Or()), ("~", Not())):
    builds(_sign)(_operation.apply)
