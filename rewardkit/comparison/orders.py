"""How two columns of numbers order the same rows: over all rows, and within groups.

Everything here is numpy over whole columns: `a` and `b` of shape (n,), finite, and `codes` of shape (n,), whole numbers
that are equal for the rows of one group.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from rewardkit.batch import Floats, Mask

Codes = npt.NDArray[np.int64]
MOST_APART: Final = 256
"""Rows of a group are compared with so many that follow: a group of thousands would make millions of pairs."""


def near(a: Floats, b: Floats) -> Mask:
    """Where two columns hold the same number: sums in another order differ by less."""
    return np.isclose(a, b, rtol=1e-6, atol=1e-6)


def ranks(values: Floats) -> Floats:
    """The rank of each value, from 1; equal values, to nine decimals, share the mean of their ranks."""
    _, inverse, counts = np.unique(np.round(values, 9), return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return ((2 * last - counts + 1) / 2)[inverse]


def spearman(a: Floats, b: Floats) -> float:
    """Spearman's rank correlation; NaN where a column doesn't vary."""
    if len(a) < 2:
        return math.nan
    x, y = (r - r.mean() for r in (ranks(a), ranks(b)))
    spread = math.sqrt(float(x @ x) * float(y @ y))
    return float(x @ y) / spread if spread > 0 else math.nan


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs of rows of one group.

    Attributes:
        alike: pairs that both columns put in the same order.
        turned: pairs that they put in opposite orders.
        only_a: pairs that `a` orders and `b` pays the same.
        only_b: pairs that `b` orders and `a` pays the same.
    """

    alike: int
    turned: int
    only_a: int
    only_b: int

    @property
    def kendall(self) -> float:
        """Kendall's tau-b within groups; NaN where a column orders nothing."""
        by_a = self.alike + self.turned + self.only_a
        by_b = self.alike + self.turned + self.only_b
        return (self.alike - self.turned) / math.sqrt(by_a * by_b) if by_a and by_b else math.nan


def pairs(a: Floats, b: Floats, codes: Codes) -> Pairs:
    """Compare the rows of each group with each other, up to `MOST_APART` rows apart."""
    order = np.argsort(codes, kind="stable")
    a, b, codes = a[order], b[order], codes[order]
    counts = np.zeros(4, dtype=np.int64)
    first = np.arange(len(codes))
    for apart in range(1, MOST_APART + 1):
        first = first[: np.searchsorted(first, len(codes) - apart)]
        first = first[codes[first] == codes[first + apart]]
        if not len(first):
            break
        x, y = (np.where(near(v[first + apart], v[first]), 0, np.sign(v[first + apart] - v[first])) for v in (a, b))
        both = x * y
        counts += [(both > 0).sum(), (both < 0).sum(), ((y == 0) & (x != 0)).sum(), ((x == 0) & (y != 0)).sum()]
    return Pairs(*map(int, counts))


@dataclass(frozen=True, slots=True)
class InGroups:
    """One column, group by group; groups are those with at least two rows.

    Attributes:
        member: shape (n,): whether a row is in such a group.
        centred: shape (n,): the value less its group's mean, 0 outside groups: what GRPO's advantage has the sign of.
        best: shape (n,): whether no row of its group has more.
        dead: the number of groups whose rows are all paid the same.
        groups: the number of groups.
    """

    member: Mask
    centred: Floats
    best: Mask
    dead: int
    groups: int


def in_groups(values: Floats, codes: Codes) -> InGroups:
    """Means, best rows and dead groups. Where two values are `near`, they are the same."""
    _, codes = np.unique(codes, return_inverse=True)
    counts = np.bincount(codes)
    large = counts > 1
    member = large[codes]
    high, low = np.full(len(counts), -np.inf), np.full(len(counts), np.inf)
    np.maximum.at(high, codes, values)
    np.minimum.at(low, codes, values)
    same = near(high, low)
    centred = values - (np.bincount(codes, values) / np.maximum(1, counts))[codes]
    centred[same[codes] | near(values, values - centred) | ~member] = 0.0
    best = member & near(values, high[codes])
    return InGroups(member, centred, best, int((same & large).sum()), int(large.sum()))


def best_changes(a: InGroups, b: InGroups, codes: Codes) -> int:
    """The number of groups in which no best row of the one is a best row of the other."""
    _, codes = np.unique(codes, return_inverse=True)
    kept = np.bincount(codes, a.best & b.best) > 0
    return int((~kept & (np.bincount(codes) > 1)).sum())
