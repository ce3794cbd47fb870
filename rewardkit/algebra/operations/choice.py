"""One of several rewards for each row: by a condition, or by the kind of row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, overload

import numpy as np
import numpy.typing as npt

from rewardkit.algebra.direction import Direction
from rewardkit.algebra.expression import Condition, Reward, TokenReward, as_condition, as_reward
from rewardkit.algebra.interval import ZERO, Interval
from rewardkit.algebra.operation import Case, Context, Expression, Operation, Plan, may_step_out, short
from rewardkit.algebra.operations.rules import NOTHING, any_steps_out, hull
from rewardkit.algebra.print import Text, call
from rewardkit.algebra.registry import function
from rewardkit.algebra.values import NOT_RUN, Piece, Values
from rewardkit.batch import Batch, Mask, Status
from rewardkit.errors import ParameterError


@dataclass(frozen=True, slots=True)
class When(Operation):
    """``then`` where a condition holds, ``otherwise`` where it doesn't."""

    json_name = "when"
    constant = False
    shared = False

    def apply(self, *operands: Any) -> Expression:
        node: Expression = when(*operands)
        return node

    def values(self, node: Expression, operands: Sequence[Values], context: Context) -> Values:
        condition = operands[0]
        choice = np.where(condition.value == 1.0, 0, np.where(condition.value == 0.0, 1, -1))
        chosen = _chosen(choice, operands[1:], isinstance(node, TokenReward))
        status = np.where(choice < 0, condition.status, chosen.status).astype(np.int8)
        status[status == NOT_RUN] = Status.NOT_APPLICABLE
        return Values(chosen.value, status, chosen.floored | condition.floored, chosen.pieces)

    def bounds(self, node: Expression, operands: Sequence[Interval], case: Case | None) -> Interval:
        condition, then, otherwise = operands
        if case is not None and condition.low > 0:
            return then
        if case is not None and condition.high < 1:
            return otherwise
        return then.hull(otherwise)

    def monotonicity(self, i: int, operands: Sequence[Interval]) -> Direction:
        _, then, otherwise = operands
        if i > 0 or then.low >= otherwise.high:
            return Direction.RISES
        return Direction.FALLS if then.high <= otherwise.low else Direction.MIXED

    def applicability(self, node: Expression) -> bool:
        return any_steps_out(node)

    def needs(self) -> frozenset[str]:
        return NOTHING

    def text(self, operands: Sequence[Text]) -> Text:
        return call("when", *(o.text for o in operands))

    def slips(self, node: Expression) -> Iterable[tuple[str, Expression]]:
        condition, then, otherwise = node.args
        yield f"open the gate {short(condition)}", then
        yield f"never {short(condition)}", otherwise
        yield f"swap the branches of {short(condition)}", self.apply(condition, otherwise, then)

    def demand(self, node: Expression, rows: Mask, plan: Plan) -> None:
        """A branch on the rows that take it, unless the condition is known too late to say which."""
        condition, then, otherwise = node.args
        plan.ask(condition, rows)
        if plan.is_late(condition):
            plan.ask(then, rows)
            plan.ask(otherwise, rows)
            return
        value = plan.values(condition).value
        plan.ask(then, rows & (value == 1.0))
        plan.ask(otherwise, rows & (value == 0.0))

    def decided(self, i: int, operands: Sequence[Interval]) -> None:
        return None

    def paid(self, node: Expression, case: Case) -> Sequence[Expression]:
        return node.args

    def multiples(self, node: Expression) -> Sequence[Expression]:
        return ()

    def addends(self, node: Expression, weight: float) -> Sequence[tuple[Expression, float]]:
        """Both branches, of which a row takes one."""
        return [(branch, weight) for branch in node.args[1:]]


_WHEN: Final = When()


@dataclass(frozen=True, slots=True)
class Route(Operation):
    """The reward whose key equals the row's ``by``; one more operand than keys is for all other rows."""

    keys: tuple[str, ...]
    by: str

    json_name = "route"
    constant = False
    shared = False

    def __post_init__(self) -> None:
        if not self.keys:
            raise ParameterError("route({}); expected a mapping such as {'openai/gsm8k': gsm8k()}")
        bad = [k for k in self.keys if not isinstance(k, str)]
        if bad:
            got = type(bad[0]).__name__
            raise ParameterError(f"route: the key {bad[0]!r} is {got}; expected text, a value of {self.by!r}")
        if not isinstance(self.by, str) or not self.by:
            raise ParameterError(f"route(by={self.by!r}); expected 'data_source' or the name of an entry of extra_info")

    def apply(self, *operands: Any) -> Expression:
        n = len(self.keys)
        if not n <= len(operands) <= n + 1:
            raise ParameterError(f"route: {len(operands)} rewards for {n} keys")
        names = [*(f"route[{k!r}]" for k in self.keys), "route(otherwise=...)"]
        return Reward(self, tuple(as_reward(r, name) for r, name in zip(operands, names, strict=False)))

    def values(self, node: Expression, operands: Sequence[Values], context: Context) -> Values:
        return _chosen(self.choice(node, context.batch), operands, isinstance(node, TokenReward))

    def choice(self, node: Expression, batch: Batch) -> npt.NDArray[np.intp]:
        """For each row the number of its route; that of ``otherwise``, or -1, where no key equals."""
        number_of = {key: i for i, key in enumerate(self.keys)}
        default = len(self.keys) if len(node.args) > len(self.keys) else -1
        keys: Sequence[object] = [None] * len(batch)
        if self.by == "data_source":
            keys = batch.data_sources or keys
        elif batch.extra_infos is not None:
            keys = [info.get(self.by) for info in batch.extra_infos]
        return np.asarray([number_of.get(v, default) if isinstance(v, str) else default for v in keys], dtype=np.intp)

    def taken(self, node: Expression, value: str | None) -> int | None:
        """The number of the branch that is taken on a value; None where there is none."""
        if value in self.keys:
            return self.keys.index(value)
        return len(node.args) - 1 if len(node.args) > len(self.keys) else None

    def bounds(self, node: Expression, operands: Sequence[Interval], case: Case | None) -> Interval:
        if case is None or self.by not in case:
            return hull(operands)
        taken = self.taken(node, case[self.by])
        return ZERO if taken is None else operands[taken]

    def monotonicity(self, i: int, operands: Sequence[Interval]) -> Direction:
        return Direction.RISES

    def applicability(self, node: Expression) -> bool:
        return len(node.args) == len(self.keys) or any(may_step_out(a) for a in node.args)

    def needs(self) -> frozenset[str]:
        return frozenset({"data_source" if self.by == "data_source" else "extra_info"})

    def text(self, operands: Sequence[Text]) -> Text:
        pairs = ", ".join(f"{k!r}: {o.text}" for k, o in zip(self.keys, operands, strict=False))
        by = [] if self.by == "data_source" else [f"by={self.by!r}"]
        otherwise = [f"otherwise={operands[-1].text}"] if len(operands) > len(self.keys) else []
        return call("route", f"{{{pairs}}}", *by, *otherwise)

    def slips(self, node: Expression) -> Iterable[tuple[str, Expression]]:
        return ()

    def demand(self, node: Expression, rows: Mask, plan: Plan) -> None:
        """A branch on the rows that take it."""
        choice = self.choice(node, plan.batch)
        for i, branch in enumerate(node.args):
            plan.ask(branch, rows & (choice == i))

    def decided(self, i: int, operands: Sequence[Interval]) -> None:
        return None

    def paid(self, node: Expression, case: Case) -> Sequence[Expression]:
        if self.by not in case:
            return node.args
        taken = self.taken(node, case[self.by])
        return () if taken is None else (node.args[taken],)

    def multiples(self, node: Expression) -> Sequence[Expression]:
        return ()

    def addends(self, node: Expression, weight: float) -> None:
        return None


def _chosen(choice: npt.NDArray[np.intp], branches: Sequence[Values], placed: bool) -> Values:
    """For each row the branch of that number; rows with -1 are NOT_APPLICABLE."""
    n = len(choice)
    value, status = np.full(n, np.nan), np.full(n, Status.NOT_APPLICABLE, dtype=np.int8)
    floored = np.zeros(n, dtype=np.bool_)
    pieces: list[Piece] = []
    for i, branch in enumerate(branches):
        rows = choice == i
        value[rows], status[rows], floored[rows] = branch.value[rows], branch.status[rows], branch.floored[rows]
        if placed:
            pieces.extend(p.scaled(rows.astype(np.float64)) for p in branch.placed)
    status[status == NOT_RUN] = Status.NOT_APPLICABLE
    return Values(value, status, floored, tuple(pieces) if placed else None)


@overload
def when(condition: Condition, then: TokenReward, otherwise: Reward | TokenReward | float) -> TokenReward: ...
@overload
def when(condition: Condition, then: Reward | float, otherwise: TokenReward) -> TokenReward: ...
@overload
def when(condition: Condition, then: Reward | float, otherwise: Reward | float) -> Reward: ...
@function()
def when(
    condition: Condition, then: Reward | TokenReward | float, otherwise: Reward | TokenReward | float
) -> Reward | TokenReward:
    """``then`` where the condition holds, ``otherwise`` where it doesn't. The branch that no row takes does not run.

    Raises:
        KindError: the condition is not a Condition or Verdict, or a branch is not a number.
    """
    args = (as_condition(condition, "when"), _branch(then), _branch(otherwise))
    kind = TokenReward if any(isinstance(a, TokenReward) for a in args) else Reward
    return kind(_WHEN, args)


def _branch(value: object) -> Reward | TokenReward:
    return value if isinstance(value, TokenReward) else as_reward(value, "a branch of when")


@function("data_source")
def route(
    rewards: Mapping[str, Reward | float], by: str = "data_source", otherwise: Reward | float | None = None
) -> Reward:
    """One reward a kind of row: the one whose key equals the row's ``by``.

    Args:
        rewards: from the value of ``by`` to the reward of such rows.
        by: ``data_source``, or the name of an entry of ``extra_info``.
        otherwise: the reward of all other rows; without it they are NOT_APPLICABLE, never a silent 0.

    Raises:
        ParameterError: no routes, a key that is not text, or an empty ``by``.
    """
    if not isinstance(rewards, Mapping) or not rewards:
        raise ParameterError(f"route({rewards!r}); expected a mapping such as {{'openai/gsm8k': gsm8k()}}")
    others = () if otherwise is None else (otherwise,)
    return as_reward(Route(tuple(rewards), by).apply(*rewards.values(), *others), "route")
