"""Means, spreads and status shares over a stream of scores, in memory that does not grow with it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

import numpy as np

from rewardkit.batch import Floats, Status, Statuses
from rewardkit.engine.scores import Scores
from rewardkit.scoring.reading import Skipped

MAX_LISTED: Final = 10_000
"""Skipped rows that are listed; all are counted."""
_UNSCORED: Final = [int(s) for s in Status if s.is_unscored]


class Moments:
    """One column: how many values, their mean and spread, and how many rows of each status."""

    def __init__(self) -> None:
        self.count = 0
        self.mean = math.nan
        self._squares = 0.0
        self.low = math.inf
        self.high = -math.inf
        self.statuses = np.zeros(len(Status), dtype=np.int64)

    def add(self, values: Floats, statuses: Statuses) -> None:
        """Take in a chunk. NaN is not a value."""
        chunk = Moments()
        chunk.statuses += np.bincount(statuses, minlength=len(Status))
        known = values[np.isfinite(values)]
        if len(known):
            chunk.count = len(known)
            chunk.mean = float(known.mean())
            chunk._squares = float(((known - chunk.mean) ** 2).sum())
            chunk.low, chunk.high = float(known.min()), float(known.max())
        self.merge(chunk)

    def merge(self, other: Moments) -> None:
        """Take in what others added up."""
        self.statuses += other.statuses
        if not other.count:
            return
        if self.count:  # Chan, Golub, LeVeque 1979: two sets' moments make those of their union
            apart = other.mean - self.mean
            total = self.count + other.count
            self._squares += other._squares + apart * apart * self.count * other.count / total
            self.mean += apart * other.count / total
        else:
            self.mean, self._squares = other.mean, other._squares
        self.count += other.count
        self.low, self.high = min(self.low, other.low), max(self.high, other.high)

    @property
    def std(self) -> float:
        """The standard deviation over all values (divided by n)."""
        return math.sqrt(self._squares / self.count) if self.count else math.nan

    def shares(self) -> dict[str, float]:
        """The share of rows of each status that came up."""
        rows = int(self.statuses.sum())
        return {s.name.lower(): int(self.statuses[s]) / rows for s in Status if self.statuses[s]}

    def as_dict(self) -> dict[str, Any]:
        """Plain data: numbers are None where no row has a value."""
        known = self.count > 0
        return {
            "mean": self.mean if known else None,
            "std": self.std if known else None,
            "min": self.low if known else None,
            "max": self.high if known else None,
            "status": self.shares(),
        }


class Tally:
    """What a scored file comes to: the total and every name of the logs."""

    def __init__(self) -> None:
        self.rows = 0
        self.total = Moments()
        self.terms: dict[str, Moments] = {}
        self.first_reason: str | None = None
        """The first explanation of a row that could not be scored, and where it is."""
        self.skipped = 0
        """Rows that were left out because they can't be used."""
        self.listed: list[Skipped] = []
        """The first of them."""

    def add(self, scores: Scores) -> None:
        """Take in a chunk."""
        self.rows += len(scores)
        self.total.add(scores.total, scores.status)
        for name, values in scores.values.items():
            self.terms.setdefault(name, Moments()).add(values, scores.statuses[name])

    def skip(self, rows: Sequence[Skipped]) -> None:
        """Take in rows that were left out."""
        self.skipped += len(rows)
        self.listed += rows[: MAX_LISTED - len(self.listed)]

    def merge(self, other: Tally) -> None:
        """Take in the tally of the rows that follow."""
        self.skipped += other.skipped
        self.listed += other.listed[: MAX_LISTED - len(self.listed)]
        self.rows += other.rows
        self.total.merge(other.total)
        for name, moments in other.terms.items():
            self.terms.setdefault(name, Moments()).merge(moments)
        if self.first_reason is None:
            self.first_reason = other.first_reason

    @property
    def unscored(self) -> float:
        """The share of rows without a total."""
        return int(self.total.statuses[_UNSCORED].sum()) / self.rows if self.rows else 0.0

    def as_dict(self) -> Mapping[str, Any]:
        """Plain data, for JSON."""
        return {
            "rows": self.rows,
            "unscored": self.unscored,
            "total": self.total.as_dict(),
            "terms": {name: moments.as_dict() for name, moments in self.terms.items()},
            "first_reason": self.first_reason,
            "skipped": self.skipped,
            "skipped_rows": [asdict(row) for row in self.listed],
        }
