"""An even sample of a stream: what is drawn and compared is drawn from it, so memory doesn't grow with the dump."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from rewardkit.batch import Floats

NUMBERS: Final = 50_000
"""Rows whose numbers are kept: a share is off by 0.2 points at most times, and a plot by nothing that shows."""
TEXTS: Final = 4_000
"""Rows whose texts are kept: of a text that 1 % of the responses are, 40."""
_SEED: Final = 0
"""The same dump gives the same report."""


class Reservoir:
    """Says which rows of a stream to keep, and where, so that each is kept with the same chance.

    Vitter's algorithm R, a chunk at a time.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.seen = 0
        self._random = np.random.default_rng(_SEED)

    @property
    def kept(self) -> int:
        """How many rows are in the sample."""
        return min(self.seen, self.capacity)

    def place(self, n: int) -> Mapping[int, int]:
        """The next ``n`` rows: from a place in the sample to the row that goes there."""
        index = np.arange(self.seen, self.seen + n)
        slots = np.where(index < self.capacity, index, self._random.integers(0, index + 1))
        self.seen += n
        rows = np.flatnonzero(slots < self.capacity)
        return dict(zip(slots[rows].tolist(), rows.tolist(), strict=True))  # of two for one place the later stays


class Numbers:
    """A sample of rows of numbers. A column that comes up late is NaN before."""

    def __init__(self, capacity: int = NUMBERS) -> None:
        self._reservoir = Reservoir(capacity)
        self._columns: dict[str, Floats] = {}

    def add(self, columns: Mapping[str, npt.ArrayLike], n: int) -> None:
        """Take in a chunk of ``n`` rows."""
        places = self._reservoir.place(n)
        slots, rows = list(places), list(places.values())
        for name in columns:
            if name not in self._columns:
                self._columns[name] = np.full(self._reservoir.capacity, np.nan)
        for name, kept in self._columns.items():
            kept[slots] = np.asarray(columns[name], dtype=np.float64)[rows] if name in columns else np.nan

    def column(self, name: str) -> Floats:
        """A column of the sample, shape (kept,)."""
        return self._columns[name][: self._reservoir.kept]

    def __contains__(self, name: str) -> bool:
        return name in self._columns

    def __len__(self) -> int:
        return self._reservoir.kept


@dataclass(frozen=True, slots=True)
class Kept:
    """A response of the sample.

    Attributes:
        text: cut to what is kept of a text.
        total: what it was paid.
        prompt: a hash of its prompt; None where prompts are not known.
        step: when; None where steps are not known.
    """

    text: str
    total: float
    prompt: int | None
    step: int | None
