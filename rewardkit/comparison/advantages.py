"""The advantages that policy-gradient estimators make of rewards, on whole columns.

All take `rewards` of shape (n,), finite, and `codes` of shape (n,), whole numbers that are equal for the rows of one
group, and give the advantage of each row, shape (n,); of a group of one, what verl's code gives. They equal verl
0.9.1's `core_algos` on the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np

from rewardkit.batch import Floats
from rewardkit.comparison.orders import Codes

EPSILON: Final = 1e-6
"""What verl and TRL add to a standard deviation before they divide by it."""


def drgrpo(rewards: Floats, codes: Codes) -> Floats:
    """The reward less its group's mean. Source: Liu et al. 2025, arXiv 2503.20783."""
    codes, counts, means = _groups(rewards, codes)
    return rewards - np.where(counts > 1, means, 0.0)[codes]


def grpo(rewards: Floats, codes: Codes) -> Floats:
    """The same, divided by the group's standard deviation. Source: Shao et al. 2024, arXiv 2402.03300."""
    codes, counts, means = _groups(rewards, codes)
    centred = rewards - np.where(counts > 1, means, 0.0)[codes]
    squares = np.bincount(codes, (rewards - means[codes]) ** 2)
    spread = np.where(counts > 1, np.sqrt(squares / np.maximum(1, counts - 1)), 1.0)
    advantages: Floats = centred / (spread[codes] + EPSILON)
    return advantages


def rloo(rewards: Floats, codes: Codes) -> Floats:
    """The reward less the mean of the group's other rows. Source: Ahmadian et al. 2024, arXiv 2402.14740."""
    codes, counts, means = _groups(rewards, codes)
    others = np.where(counts > 1, counts / np.maximum(1, counts - 1), 1.0)
    advantages: Floats = (rewards - np.where(counts > 1, means, 0.0)[codes]) * others[codes]
    return advantages


def gdpo(parts: Sequence[Floats], weights: Sequence[float], codes: Codes, tokens: Floats) -> Floats:
    """Each part normalised within its group, summed by weight, and whitened over the batch's tokens.

    Args:
        parts: each of shape (n,).
        weights: one a part.
        codes: shape (n,).
        tokens: shape (n,): how many tokens a response has; each counts in the whitening.

    Source: Liu et al. 2026, arXiv 2601.05242.
    """
    summed = sum((w * grpo(part, codes) for part, w in zip(parts, weights, strict=True)), np.zeros(len(codes)))
    total = tokens.sum()
    if total < 2:
        return summed
    mean = float(summed @ tokens) / total
    spread = float((summed - mean) ** 2 @ tokens) / (total - 1)
    whitened: Floats = (summed - mean) / np.sqrt(spread + 1e-8)
    return whitened


def _groups(rewards: Floats, codes: Codes) -> tuple[Codes, Codes, Floats]:
    """Codes from 0 on, and of each group its rows and its mean."""
    _, codes = np.unique(codes, return_inverse=True)
    counts = np.bincount(codes)
    return codes, counts, np.bincount(codes, rewards) / np.maximum(1, counts)


LINEAR: Final[Mapping[str, Callable[[Floats, Codes], Floats]]] = {
    "grpo": grpo,
    "dapo": grpo,
    "drgrpo": drgrpo,
    "rloo": rloo,
}
"""Estimators that look at the total alone. DAPO's advantages are GRPO's, on groups that dynamic sampling keeps."""
ESTIMATORS: Final = (*LINEAR, "gdpo")
