"""One number for a whole group: what the responses to a prompt have in common.

Rows without a value don't count, and get none. A statistic is the same on every row, so a row's own failure is paid
where its own value stands: in `x - group_mean(x)` an unanswered row is paid the low end of `x`, although the mean falls
with it too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from rewardkit.algebra.direction import Direction
from rewardkit.algebra.expression import Reward, as_reward
from rewardkit.algebra.interval import Interval
from rewardkit.algebra.operation import Case, Expression
from rewardkit.algebra.operations.groups import Group
from rewardkit.algebra.registry import function
from rewardkit.batch import Floats

_WIDEST: Final = 1 / math.sqrt(2)
"""The standard deviation over n - 1 of values in [0, 1], at most: two values, one at each end."""


class GroupStatistic(Group, family=True):
    """A number between the lowest and the highest value of the group."""

    __slots__ = ()

    shared = True

    def bounds(self, node: Expression, operands: Sequence[Interval], case: Case | None) -> Interval:
        return operands[0]

    def monotonicity(self, i: int, operands: Sequence[Interval]) -> Direction:
        return Direction.RISES


def _mean(x: Floats) -> Floats:
    return np.full(len(x), x.mean())


def _median(x: Floats) -> Floats:
    return np.full(len(x), np.median(x))


def _min(x: Floats) -> Floats:
    return np.full(len(x), x.min())


def _max(x: Floats) -> Floats:
    return np.full(len(x), x.max())


def _std(x: Floats) -> Floats:
    return np.full(len(x), x.std(ddof=1) if len(x) > 1 and x.min() < x.max() else 0.0)


@dataclass(frozen=True, slots=True)
class GroupMean(GroupStatistic):
    """The mean of the group."""

    json_name = "group_mean"
    place = _mean


@dataclass(frozen=True, slots=True)
class GroupMedian(GroupStatistic):
    """The median of the group."""

    json_name = "group_median"
    place = _median


@dataclass(frozen=True, slots=True)
class GroupMin(GroupStatistic):
    """The lowest value of the group."""

    json_name = "group_min"
    place = _min


@dataclass(frozen=True, slots=True)
class GroupMax(GroupStatistic):
    """The highest value of the group."""

    json_name = "group_max"
    place = _max


@dataclass(frozen=True, slots=True)
class GroupStd(GroupStatistic):
    """The standard deviation of the group."""

    json_name = "group_std"
    place = _std

    def bounds(self, node: Expression, operands: Sequence[Interval], case: Case | None) -> Interval:
        (x,) = operands
        return Interval(0.0, (x.high - x.low) * _WIDEST if x.low < x.high else 0.0)

    def monotonicity(self, i: int, operands: Sequence[Interval]) -> Direction:
        return Direction.MIXED


@function("group")
def group_mean(x: Reward) -> Reward:
    """The mean of x over the row's group, the row itself included. Needs whole groups.

    A group of one gives x itself. Rows without a value don't count, and get none. ``x - group_mean(x)`` is what GRPO
    learns from without its division (Dr. GRPO, Liu et al. 2025, arXiv 2503.20783).
    """
    return Reward(GroupMean(), (as_reward(x, "group_mean"),))


@function("group")
def group_median(x: Reward) -> Reward:
    """The median of x over the row's group. Of an even number of values the mean of the two in the middle.

    A group of one gives x itself. Rows without a value don't count, and get none. Needs whole groups.
    """
    return Reward(GroupMedian(), (as_reward(x, "group_median"),))


@function("group")
def group_min(x: Reward) -> Reward:
    """The lowest x of the row's group. Needs whole groups.

    A group of one gives x itself. Rows without a value don't count, and get none.
    """
    return Reward(GroupMin(), (as_reward(x, "group_min"),))


@function("group")
def group_max(x: Reward) -> Reward:
    """The highest x of the row's group. Needs whole groups.

    A group of one gives x itself. Rows without a value don't count, and get none. ``when(group_max(gsm8k()) < 1,
    length(0.001, cap=0.1), gsm8k())`` pays length only where no response of the group is right.
    """
    return Reward(GroupMax(), (as_reward(x, "group_max"),))


@function("group")
def group_std(x: Reward) -> Reward:
    """The standard deviation of x over the row's group, over n - 1. Needs whole groups.

    A group of one, or one whose values are all equal, gives 0. Rows without a value don't count, and get none.
    """
    return Reward(GroupStd(), (as_reward(x, "group_std"),))
