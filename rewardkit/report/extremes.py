"""The best- and the worst-paid texts of a dump: distinct ones, the latest of equals, for those are today's policy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from rewardkit.batch import Status
from rewardkit.report.chunk import Rollouts
from rewardkit.report.texts import kept

SHOWN: Final = 5
"""Texts at each end."""
_LOOKED_AT: Final = 64
"""Rows of a chunk that are looked at for distinct texts."""
_PROMPT: Final = 1_500


@dataclass(frozen=True, slots=True)
class Paid:
    """A response and what it was paid for.

    Attributes:
        where: its file and line.
        step: when; None where steps are not known.
        total: what it was paid.
        terms: each term's value, and its status where that is not plain.
        text: the response, cut to what is kept of a text.
        characters: how long it was.
        prompt: what was asked.
        ground_truth: the ground truth.
    """

    where: str
    step: int | None
    total: float
    terms: Mapping[str, tuple[float, str]]
    text: str
    characters: int
    prompt: str | None
    ground_truth: str | None


class Extremes:
    """The texts at one end.

    Args:
        best: the best-paid, or else the worst-paid.
    """

    def __init__(self, *, best: bool) -> None:
        self._sign = 1.0 if best else -1.0
        self._held: dict[int, tuple[tuple[float, int, int], Paid]] = {}
        self._seen = 0

    def add(self, rows: Rollouts) -> None:
        """Take in a chunk."""
        if rows.responses is None:
            return
        start, self._seen = self._seen, self._seen + len(rows)
        rank = np.where(np.isnan(rows.total), -np.inf, self._sign * rows.total)
        steps = np.zeros(len(rows), dtype=np.int64) if rows.steps is None else rows.steps
        order = np.lexsort((np.arange(len(rows)), steps, rank))[::-1]
        for i in order[:_LOOKED_AT].tolist():
            key = (float(rank[i]), int(steps[i]), start + i)
            if key[0] == -np.inf or (len(self._held) >= SHOWN and key <= self._least()):
                return
            name = hash(rows.responses[i].strip())
            if name in self._held and key <= self._held[name][0]:
                continue
            self._held[name] = (key, _paid(rows, i))
            if len(self._held) > SHOWN:
                del self._held[min(self._held, key=lambda name: self._held[name][0])]

    def found(self) -> tuple[Paid, ...]:
        """The texts, the most extreme first."""
        return tuple(paid for _, paid in sorted(self._held.values(), key=lambda pair: pair[0], reverse=True))

    def _least(self) -> tuple[float, int, int]:
        return min(key for key, _ in self._held.values())


def _paid(rows: Rollouts, i: int) -> Paid:
    assert rows.responses is not None
    text = rows.responses[i]
    prompt = None if rows.prompts is None else rows.prompts[i]
    return Paid(
        where=rows.where(i),
        step=None if rows.steps is None else int(rows.steps[i]),
        total=float(rows.total[i]),
        terms={name: (float(v[i]), _named(rows.statuses[name][i])) for name, v in rows.terms.items()},
        text=kept(text),
        characters=len(text),
        prompt=None if prompt is None else kept(prompt, _PROMPT, _PROMPT // 2),
        ground_truth=_truth(None if rows.ground_truths is None else rows.ground_truths[i]),
    )


def _named(status: Any) -> str:
    return "" if status == Status.SCORED else Status(int(status)).name.lower()


def _truth(value: Any) -> str | None:
    return None if value is None else kept(str(value), 400, 100)
