"""A call of a term: the leaves of a formula that look at a response."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rewardkit.algebra.direction import Direction
from rewardkit.algebra.expression import Reward, TokenReward, Verdict
from rewardkit.algebra.interval import Interval
from rewardkit.algebra.operation import Case, Context, Expression, Operation, Plan, short
from rewardkit.algebra.operations.logic import Not
from rewardkit.algebra.print import Text, call, value_text
from rewardkit.algebra.statuses import failed
from rewardkit.algebra.term import Term
from rewardkit.algebra.values import Piece, Values
from rewardkit.batch import Mask, Status


@dataclass(frozen=True, slots=True, eq=False)
class Call(Operation):
    """A term with its parameters, every default filled in. True is not 1: equal calls run once."""

    called: Term[Any, Any]
    given: tuple[tuple[str, Hashable], ...]

    json_name = "term"
    constant = False
    shared = False

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Call):
            return NotImplemented
        return self.called == other.called and self.given == other.given and _alike(self.given, other.given)

    def __hash__(self) -> int:
        return hash((self.called, self.given))

    @property
    def term(self) -> Term[Any, Any]:  # type: ignore[override]  # read only, as every field here
        """The term that it calls."""
        return self.called

    @property
    def params(self) -> tuple[tuple[str, Hashable], ...]:
        """The term's parameters by name, in order."""
        return self.given

    def apply(self, *operands: Any) -> Expression:
        node: Expression = self.called.node_kind(self.given)(self)
        return node

    def values(self, node: Expression, operands: Sequence[Values], context: Context) -> Values:
        """The term's column, in which a failure of the policy is paid at the worst end for the total."""
        column = context.columns[node]
        value, status = column.values.copy(), column.statuses.copy()
        fails = failed(status)
        floored = np.zeros(context.n, dtype=np.bool_)
        if fails.any():
            bounds = self.called.failure_bounds(self)
            direction = context.directions[node]
            worst = bounds.high if direction is Direction.FALLS else bounds.low
            if np.isfinite(worst):
                value[fails] = worst
                floored = fails & (direction is Direction.MIXED)
            else:
                status[fails] = Status.ERROR
                why = f"{self.called.name} has no bound to pay a failure at: declare @term(floor=(low, high))"
                column.reasons.update(dict.fromkeys(np.flatnonzero(fails).tolist(), why))
                fails = np.zeros(context.n, dtype=np.bool_)
        pieces: tuple[Piece, ...] | None = None
        if isinstance(node, TokenReward):
            assert column.tokens is not None
            scored = (status == Status.SCORED).astype(np.float64)
            pieces = (Piece(scored, "dense", dense=column.tokens), Piece(np.where(fails, value, 0.0)))
        return Values(value, status, floored, pieces)

    def bounds(self, node: Expression, operands: Sequence[Interval], case: Case | None) -> Interval:
        return self.called.bounds(self)

    def monotonicity(self, i: int, operands: Sequence[Interval]) -> Direction:
        return Direction.NONE

    def applicability(self, node: Expression) -> bool:
        return self.called.may_be_inapplicable

    def needs(self) -> frozenset[str]:
        return frozenset(self.called.needs(self))

    def text(self, operands: Sequence[Text]) -> Text:
        """The parameters that are not at their defaults, by position as long as none is left out."""
        parts, positional = [], True
        for (name, value), (default, keyword_only) in zip(self.given, self.called.defaults, strict=True):
            if value == default and isinstance(value, bool) == isinstance(default, bool):
                positional = False
                continue
            positional = positional and not keyword_only
            parts.append(value_text(value) if positional else f"{name}={value_text(value)}")
        return call(self.called.name, *parts)

    def slips(self, node: Expression) -> Iterable[tuple[str, Expression]]:
        if isinstance(node, Verdict):
            yield f"turn {short(node)} round", Not().apply(node)
        elif isinstance(node, Reward):
            yield f"turn the sign of {short(node)}", -node
        else:
            return
        yield f"double {short(node)}", 2 * node
        given = dict(self.given)
        if given.get("cap") is not None and any(p.name == "cap" and p.default is None for p in self.called.parameters):
            yield f"drop the cap of {short(node)}", self.called.node({**given, "cap": None})

    def demand(self, node: Expression, rows: Mask, plan: Plan) -> None:
        """A term that compares a group sees all of it, whichever rows are paid."""
        plan.run(node, np.ones_like(rows) if "group" in self.needs() else rows)

    def decided(self, i: int, operands: Sequence[Interval]) -> None:
        return None

    def paid(self, node: Expression, case: Case) -> Sequence[Expression]:
        return ()

    def multiples(self, node: Expression) -> Sequence[Expression]:
        return ()

    def addends(self, node: Expression, weight: float) -> None:
        return None


def _alike(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    """Whether the truth values of equal parameters stand in the same places."""
    for a, b in zip(one, other, strict=True):
        kind = type(a)
        if kind is tuple:
            if not _alike(a, b):
                return False
        elif kind is not type(b) and bool in (kind, type(b)):
            return False
    return True


def call_of(term: Term[Any, Any], given: tuple[tuple[str, Hashable], ...]) -> Any:
    """The node of a term with these parameters; of the term's own kind."""
    return term.node_kind(given)(Call(term, given))
