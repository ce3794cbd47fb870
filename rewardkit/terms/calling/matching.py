"""Which call answers which: the pairing of calls and wanted calls under which the score is highest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from rewardkit.terms.calling.call import Call
from rewardkit.terms.calling.wanted import Wanted

_Gains = list[list[int]]
_Pairs = list[tuple[int, int]]


def share(calls: Sequence[Call], wanted: Sequence[Wanted], *, in_order: bool) -> float:
    """``right / (wanted + wrong)`` under the best pairing: 1 where nothing is amiss.

    Names and arguments are counted. What is given and not wanted is wrong, all of a call that is paired with none
    included; a value that differs is wrong, and what was wanted is not right. A call is paired with at most one wanted
    call, of its own name. More of what is wrong raises no pairing's score, and so not the best one's.
    """
    if not wanted:
        return float(not calls)
    best: Callable[[_Gains], _Pairs] = _in_order if in_order else _assigned
    sizes = [1 + len(call.arguments) for call in calls]
    compared = [
        [w.compared(call) if w.name == call.name else (0, size) for w in wanted]
        for call, size in zip(calls, sizes, strict=True)
    ]
    least = sum(w.size for w in wanted)
    above, below = 0, 1
    while True:
        # A ratio's maximum (Dinkelbach 1967): under its own value, no pairing gains more than the best one does.
        gains = [
            [below * right + above * (size - wrong) for right, wrong in row]
            for row, size in zip(compared, sizes, strict=True)
        ]
        pairs = best(gains)
        right = sum(compared[i][j][0] for i, j in pairs)
        wrong = sum(sizes) - sum(sizes[i] - compared[i][j][1] for i, j in pairs)
        if right * below <= above * (least + wrong):
            return above / below
        above, below = right, least + wrong


def _in_order(gains: _Gains) -> _Pairs:
    """The pairs of the most total gain in which neither side turns back."""
    n, m = len(gains), len(gains[0]) if gains else 0
    best = [[0] * (m + 1) for _ in range(n + 1)]
    for i in reversed(range(n)):
        for j in reversed(range(m)):
            best[i][j] = max(best[i + 1][j], best[i][j + 1], best[i + 1][j + 1] + gains[i][j])
    pairs, i, j = [], 0, 0
    while i < n and j < m:
        if best[i][j] == best[i + 1][j]:
            i += 1
        elif best[i][j] == best[i][j + 1]:
            j += 1
        else:
            pairs.append((i, j))
            i, j = i + 1, j + 1
    return pairs


_NEVER: Final = 1 << 62


def _assigned(gains: _Gains) -> _Pairs:
    """The pairs of the most total gain: the Hungarian method with potentials, over the shorter side's entries."""
    if not gains:
        return []
    turned = len(gains) > len(gains[0])
    rows = [list(row) for row in zip(*gains, strict=True)] if turned else gains
    n, m = len(rows), len(rows[0])
    of_row, of_column = [0] * (n + 1), [0] * (m + 1)  # potentials
    row_at, came_from = [0] * (m + 1), [0] * (m + 1)  # rows count from 1; 0 is none
    for row in range(1, n + 1):
        row_at[0], column = row, 0
        slack, seen = [_NEVER] * (m + 1), [False] * (m + 1)
        while row_at[column]:
            seen[column] = True
            at, nearest, step = row_at[column], 0, _NEVER
            for j in range(1, m + 1):
                if seen[j]:
                    continue
                left = -rows[at - 1][j - 1] - of_row[at] - of_column[j]
                if left < slack[j]:
                    slack[j], came_from[j] = left, column
                if slack[j] < step:
                    step, nearest = slack[j], j
            for j in range(m + 1):
                if seen[j]:
                    of_row[row_at[j]] += step
                    of_column[j] -= step
                else:
                    slack[j] -= step
            column = nearest
        while column:
            row_at[column], column = row_at[came_from[column]], came_from[column]
    pairs = [(row_at[j] - 1, j - 1) for j in range(1, m + 1) if row_at[j]]
    return [(j, i) for i, j in pairs] if turned else pairs
