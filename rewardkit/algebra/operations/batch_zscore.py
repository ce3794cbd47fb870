"""A row among all rows that the trainer learns from together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rewardkit.algebra.direction import Direction
from rewardkit.algebra.expression import Reward, as_reward
from rewardkit.algebra.interval import ANY, Interval
from rewardkit.algebra.operation import Case, Context, Expression
from rewardkit.algebra.operations.groups import Group, zscore
from rewardkit.algebra.registry import function
from rewardkit.algebra.statuses import strict
from rewardkit.algebra.values import Values


def largest_zscore(n: int) -> float:
    """The largest z-score of one of n values, over n - 1: of one that differs from all others, which are equal."""
    return (n - 1) / math.sqrt(n) if n > 1 else 0.0


@dataclass(frozen=True, slots=True)
class BatchZscore(Group):
    """How many standard deviations above the batch's mean."""

    json_name = "batch_zscore"
    place = zscore

    def values(self, node: Expression, operands: Sequence[Values], context: Context) -> Values:
        (v,) = operands
        value = np.full(context.n, np.nan)
        value[v.known] = zscore(v.value[v.known])
        return strict(node, operands, value)

    def bounds(self, node: Expression, operands: Sequence[Interval], case: Case | None) -> Interval:
        return ANY  # `largest_zscore`: no bound without the batch's size

    def monotonicity(self, i: int, operands: Sequence[Interval]) -> Direction:
        return Direction.RISES

    def needs(self) -> frozenset[str]:
        return frozenset({"batch"})


@function("batch")
def batch_zscore(x: Reward) -> Reward:
    """``(x - mean) / (standard deviation + 1e-6)`` over the whole batch, standard deviation over n - 1.

    A batch of one, or one whose values are all equal, gives 0. Rows without a value don't count, and get none. The
    batch is what the trainer learns from together: all prompts of a training step. `rewardkit score` takes a whole
    file as one. Source: the last step of GDPO (Liu et al. 2026, arXiv 2601.05242).
    """
    return Reward(BatchZscore(), (as_reward(x, "batch_zscore"),))
