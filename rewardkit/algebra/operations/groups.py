"""A row among the responses to the same prompt. The whole group must be there."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import numpy as np

from rewardkit.algebra.direction import Direction
from rewardkit.algebra.expression import Reward, as_reward
from rewardkit.algebra.interval import ANY, UNIT, Interval
from rewardkit.algebra.operation import Case, Context, Expression, Operation, Plan
from rewardkit.algebra.operations.rules import any_steps_out
from rewardkit.algebra.print import Text, call
from rewardkit.algebra.registry import function
from rewardkit.algebra.statuses import failed, strict
from rewardkit.algebra.values import Values
from rewardkit.batch import Floats, Mask
from rewardkit.errors import CompileError, DataError, shown

_EPSILON: Final = 1e-6
"""What GRPO adds to a group's standard deviation (verl, core_algos.py: compute_grpo_outcome_advantage)."""


class Group(Operation, family=True):
    """What a place in the group says of itself.

    A subclass says what the place is worth, between which bounds, and which way it moves.
    """

    __slots__ = ()

    constant = False
    shared = False
    place: ClassVar[Callable[[Floats], Floats]]
    """From the values of a group's members that have one to the places of these."""

    def apply(self, *operands: Any) -> Expression:
        (x,) = operands
        return Reward(self, (as_reward(x, self.json_name),))

    def values(self, node: Expression, operands: Sequence[Values], context: Context) -> Values:
        return strict(node, operands, _by_group(node, operands[0], context, type(self).place))

    def applicability(self, node: Expression) -> bool:
        return any_steps_out(node)

    def needs(self) -> frozenset[str]:
        return frozenset({"group"})

    def text(self, operands: Sequence[Text]) -> Text:
        return call(self.json_name, operands[0].text)

    def slips(self, node: Expression) -> Iterable[tuple[str, Expression]]:
        return ()

    def demand(self, node: Expression, rows: Mask, plan: Plan) -> None:
        """Every row counts in its group, whichever rows are paid."""
        plan.ask(node.args[0], np.ones_like(rows))

    def decided(self, i: int, operands: Sequence[Interval]) -> None:
        return None

    def paid(self, node: Expression, case: Case) -> Sequence[Expression]:
        return node.args

    def multiples(self, node: Expression) -> Sequence[Expression]:
        return ()

    def addends(self, node: Expression, weight: float) -> None:
        return None


def _by_group(node: Expression, v: Values, context: Context, place: Callable[[Floats], Floats]) -> Floats:
    if context.groups is None:
        raise CompileError(
            f"{node!r} compares the responses of one prompt, and no groups came",
            hint="give Batch(groups=...), one entry a row, equal for the responses of one prompt",
        )
    members: dict[Hashable, list[int]] = {}
    for row, group in enumerate(context.groups):
        if group is None or not isinstance(group, Hashable) or group != group:
            raise DataError(
                f"row {row} has the group {shown(group)}; expected text or a number, equal for one prompt's responses"
            )
        if v.known[row]:
            members.setdefault(group, []).append(row)
    value = np.full(context.n, np.nan)
    for rows in members.values():
        value[rows] = place(v.value[rows])
    return value


def zscore(x: Floats) -> Floats:
    """Standard deviations above the mean; 0 for a single value, and where all are equal."""
    if len(x) < 2 or x.min() == x.max():
        return np.zeros(len(x))
    scores: Floats = (x - x.mean()) / (x.std(ddof=1) + _EPSILON)
    return scores


@dataclass(frozen=True, slots=True)
class GroupZscore(Group):
    """How many standard deviations above the group's mean."""

    json_name = "group_zscore"
    place = zscore

    def bounds(self, node: Expression, operands: Sequence[Interval], case: Case | None) -> Interval:
        return ANY  # |x - mean| / s is at most (n - 1) / sqrt(n), whatever n: no bound without the group's size

    def monotonicity(self, i: int, operands: Sequence[Interval]) -> Direction:
        return Direction.RISES


@function("group")
def group_zscore(x: Reward) -> Reward:
    """``(x - mean) / (standard deviation + 1e-6)`` within the row's group, standard deviation over n - 1.

    A group of one, or one whose values are all equal, gives 0. Needs whole groups. Source: GRPO's
    advantage (Shao et al. 2024, arXiv 2402.03300, eq. 3).
    """
    return Reward(GroupZscore(), (as_reward(x, "group_zscore"),))


def _rank(x: Floats) -> Floats:
    if len(x) < 2:
        return np.full(len(x), 0.5)
    below = (x[None, :] < x[:, None]).sum(axis=1)
    equal = (x[None, :] == x[:, None]).sum(axis=1) - 1
    ranks: Floats = (below + equal / 2) / (len(x) - 1)
    return ranks


@dataclass(frozen=True, slots=True)
class GroupRank(Group):
    """The mean rank in the group, from 0 to 1."""

    json_name = "group_rank"
    place = _rank

    def bounds(self, node: Expression, operands: Sequence[Interval], case: Case | None) -> Interval:
        return UNIT

    def monotonicity(self, i: int, operands: Sequence[Interval]) -> Direction:
        return Direction.RISES


@function("group")
def group_rank(x: Reward) -> Reward:
    """The rank of x within the row's group, from 0 (lowest) to 1 (highest). Equal values share their mean rank.

    A group of one, or one whose values are all equal, gives 0.5. Needs whole groups.
    """
    return Reward(GroupRank(), (as_reward(x, "group_rank"),))


def _minmax(x: Floats) -> Floats:
    low, high = x.min(), x.max()
    if low == high:
        return np.full(len(x), 0.5)
    places: Floats = (x - low) / (high - low)
    return places


@dataclass(frozen=True, slots=True)
class GroupMinmax(Group):
    """The place between the group's lowest and highest value, from 0 to 1."""

    json_name = "group_minmax"
    place = _minmax

    def bounds(self, node: Expression, operands: Sequence[Interval], case: Case | None) -> Interval:
        return UNIT

    def monotonicity(self, i: int, operands: Sequence[Interval]) -> Direction:
        return Direction.RISES


@function("group")
def group_minmax(x: Reward) -> Reward:
    """``(x - min) / (max - min)`` over the row's group: 0 for its lowest, 1 for its highest.

    A group of one, or one whose values are all equal, gives 0.5. Needs whole groups. With it the length reward of
    Kimi k1.5 (arXiv 2501.12599, section 2.3.3) is ``when(right, shorter, minimum(0, shorter))``, where ``right`` is
    ``math_equal()`` and ``shorter`` is ``0.5 - group_minmax(length(unit='tokens'))``.
    """
    return Reward(GroupMinmax(), (as_reward(x, "group_minmax"),))


def _share(x: Floats) -> Floats:
    shares: Floats = (x[None, :] == x[:, None]).mean(axis=1)
    return shares


@dataclass(frozen=True, slots=True)
class GroupShare(Group):
    """The share of the group whose value is the same."""

    json_name = "group_share"
    place = _share

    def values(self, node: Expression, operands: Sequence[Values], context: Context) -> Values:
        """Rows that failed are members of their group and agree with nobody: their share is the worst that there is."""
        (v,) = operands
        fails = failed(v.status)
        alone = np.where(fails, np.inf, v.value)  # no value of a formula is infinite
        marked = Values(np.where(v.known, alone, np.nan), v.status, v.floored)
        shares = strict(node, [marked], _by_group(node, marked, context, _share))
        worst = 1.0 if context.directions[node] is Direction.FALLS else 0.0
        return Values(np.where(fails & shares.known, worst, shares.value), shares.status, shares.floored)

    def bounds(self, node: Expression, operands: Sequence[Interval], case: Case | None) -> Interval:
        return UNIT

    def monotonicity(self, i: int, operands: Sequence[Interval]) -> Direction:
        """Other values can move it either way. A failure below is paid here, and needs no direction of its own."""
        return Direction.RISES


@function("group")
def group_share(x: Reward) -> Reward:
    """The share of the row's group whose x equals this row's, the row itself included. Needs whole groups.

    ``group_share(answer_key())`` is the share of the rollouts that give the same answer, and
    ``when(group_share(answer_key()) > 0.5, 1, 0)`` the majority vote as a reward. A row that a policy-caused failure
    left without an answer agrees with nobody: it gets 0 (1 where the share is a penalty). Source: majority voting as
    the label, TTRL (Zuo et al. 2025, arXiv 2504.16084).
    """
    return Reward(GroupShare(), (as_reward(x, "group_share"),))
