"""Orders and groups against the plainest reckoning, a row and a pair at a time."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit.comparison.orders import MOST_APART, best_changes, in_groups, pairs, ranks, spearman

VALUES = st.sampled_from([0.0, 0.1, 0.3, 0.1 + 0.2, 1.0, -1.0, 2.5])
ROWS = st.lists(st.tuples(VALUES, VALUES, st.integers(0, 4)), max_size=14)


def columns(rows: list[tuple[float, float, int]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    a, b, codes = zip(*rows, strict=True) if rows else ((), (), ())
    return np.array(a, dtype=float), np.array(b, dtype=float), np.array(codes, dtype=np.int64)


def sign(x: float) -> int:
    return 0 if abs(x) < 1e-6 else 1 if x > 0 else -1


@given(ROWS)
def test_pairs_within_groups(rows: list[tuple[float, float, int]]) -> None:
    alike = turned = only_a = only_b = 0
    for (a, b, group), (c, d, other) in itertools.combinations(rows, 2):
        if group == other:
            x, y = sign(a - c), sign(b - d)
            alike += x * y > 0
            turned += x * y < 0
            only_a += bool(x and not y)
            only_b += bool(y and not x)
    counts = pairs(*columns(rows))
    assert (counts.alike, counts.turned, counts.only_a, counts.only_b) == (alike, turned, only_a, only_b)
    if alike + turned + only_a and alike + turned + only_b:
        assert -1 <= counts.kendall <= 1
    else:
        assert math.isnan(counts.kendall)


@given(ROWS)
def test_advantages_best_rows_and_dead_groups(rows: list[tuple[float, float, int]]) -> None:
    a, b, codes = columns(rows)
    of = defaultdict(list)
    for i, group in enumerate(codes.tolist()):
        of[group].append(i)
    groups = [members for members in of.values() if len(members) > 1]
    of_a = in_groups(a, codes)
    assert of_a.groups == len(groups)
    assert of_a.dead == sum(max(a[g]) - min(a[g]) < 1e-6 for g in groups)
    assert of_a.member.tolist() == [len(of[group]) > 1 for group in codes.tolist()]
    for g in groups:
        assert np.sign(of_a.centred[g]).tolist() == [sign(a[i] - a[g].mean()) for i in g]
        assert of_a.best[g].tolist() == [abs(a[i] - max(a[g])) < 1e-6 for i in g]
    kept = [any(abs(a[i] - max(a[g])) < 1e-6 and abs(b[i] - max(b[g])) < 1e-6 for i in g) for g in groups]
    assert best_changes(of_a, in_groups(b, codes), codes) == len(kept) - sum(kept)


def test_ranks_share_the_mean_of_equal_values() -> None:
    assert ranks(np.array([3.0, 1.0, 0.3, 0.1 + 0.2, 9.0])).tolist() == [4, 3, 1.5, 1.5, 5]


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ([1, 2, 3, 4], [10, 20, 30, 1000], 1.0),
        ([1, 2, 3, 4], [4, 3, 2, 1], -1.0),
        ([1, 2, 3, 4, 5], [2, 1, 4, 3, 5], 0.8),  # 1 - 6 * 4 / (5 * 24)
        ([1, 1, 2, 2], [1, 2, 1, 2], 0.0),
        ([1, 1, 1], [1, 2, 3], math.nan),
        ([1], [1], math.nan),
    ],
)
def test_spearman(a: list[float], b: list[float], expected: float) -> None:
    assert spearman(np.array(a, float), np.array(b, float)) == pytest.approx(expected, nan_ok=True)


def test_a_group_of_thousands_is_compared_in_part() -> None:
    n = 3 * MOST_APART
    rising = np.arange(n, dtype=float)
    counts = pairs(rising, rising, np.zeros(n, dtype=np.int64))
    assert counts.alike == sum(n - apart for apart in range(1, MOST_APART + 1)) and counts.kendall == 1
