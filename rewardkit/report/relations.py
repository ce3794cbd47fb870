"""What goes with what: correlations of the total, the terms and the length, within training steps.

Over a whole run everything that grows in training goes with everything else that grows. So each column's mean at a step
is taken off first, and what is left is what a policy update sees: responses of one step beside each other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from rewardkit.batch import Floats


def within(values: Floats, steps: Floats) -> Floats:
    """The values less their mean at each step; unchanged where no step is known.

    NaN stays NaN, and a value alone at its step, which has nothing beside it, becomes NaN.
    """
    known = np.isfinite(values) & np.isfinite(steps)
    if not known.any():
        return values
    out = np.full(len(values), np.nan)
    _, index = np.unique(steps[known], return_inverse=True)
    counts = np.bincount(index)
    means = np.bincount(index, weights=values[known]) / counts
    out[known] = np.where(counts[index] > 1, values[known] - means[index], np.nan)
    return out


def correlation(a: Floats, b: Floats) -> float:
    """Pearson's, over rows that have both; NaN where one of them doesn't vary or there are fewer than three."""
    both = np.isfinite(a) & np.isfinite(b)
    if both.sum() < 3:
        return math.nan
    a, b = a[both] - a[both].mean(), b[both] - b[both].mean()
    spread = math.sqrt(float(a @ a) * float(b @ b))
    # What is left of a column that doesn't vary is rounding.
    return float(np.clip(a @ b / spread, -1.0, 1.0)) if spread > 1e-12 * both.sum() else math.nan


def matrix(columns: Sequence[Floats]) -> npt.NDArray[np.float64]:
    """Each with each, shape (n, n); NaN on the diagonal for a column that doesn't vary."""
    n = len(columns)
    out = np.full((n, n), math.nan)
    for i in range(n):
        for j in range(i, n):
            out[i, j] = out[j, i] = correlation(columns[i], columns[j])
    return out
