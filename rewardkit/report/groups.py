"""Groups of responses to one prompt, and which of them are dead: all paid the same, so that GRPO learns nothing.

A group is looked for within one file and one step: a prompt that comes back later is another group.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from rewardkit.report.chunk import Rollouts

_EQUAL: Final = 1e-6
"""Totals nearer than this to each other are equal: a trainer's sums are single-precision."""


@dataclass(slots=True)
class Group:
    """The totals of one group, as far as they need be kept.

    The sums of squares are of the distances from the group's first total and first advantage.
    """

    step: int | None
    count: int
    low: float
    high: float
    first: float
    first_advantage: float
    sums: list[float]

    @property
    def compares(self) -> bool:
        """Whether there are two scored responses to compare."""
        return self.count > 1

    @property
    def dead(self) -> bool:
        """Whether all of them are paid the same."""
        return self.high - self.low <= _EQUAL * max(1.0, abs(self.high))

    @property
    def agreement(self) -> float:
        """The correlation of totals and logged advantages; NaN where one of them doesn't vary or none is logged."""
        t, a, tt, aa, ta = self.sums
        n = self.count
        spread = (tt - t * t / n) * (aa - a * a / n)
        return (ta - t * a / n) / math.sqrt(spread) if spread > 0 else math.nan


class Groups:
    """The groups of one file, as its chunks come."""

    def __init__(self) -> None:
        self._open: dict[int, Group] = {}  # by hash: 64 bits, however long a prompt is

    def add(self, rows: Rollouts) -> None:
        """Take in a chunk."""
        if rows.groups is None:
            return
        steps = [None] * len(rows) if rows.steps is None else rows.steps.tolist()
        advantages = [math.nan] * len(rows) if rows.advantages is None else rows.advantages.tolist()
        for key, step, total, advantage in zip(rows.groups, steps, rows.total.tolist(), advantages, strict=True):
            if total != total:  # unscored: no value to compare
                continue
            name = hash((step, key))
            group = self._open.get(name)
            if group is None:
                self._open[name] = Group(step, 1, total, total, total, advantage, [0.0] * 5)
                continue
            group.count += 1
            group.low, group.high = min(group.low, total), max(group.high, total)
            t, a = total - group.first, advantage - group.first_advantage
            if a == a:
                for i, value in enumerate((t, a, t * t, a * a, t * a)):
                    group.sums[i] += value

    def close(self) -> Iterator[Group]:
        """The file's groups, which are then forgotten."""
        yield from self._open.values()
        self._open = {}
