"""What the rows of a batch came to: the column of a term, the values of a node, and where on the tokens they stand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from rewardkit.batch import Floats, Mask, Statuses

NOT_RUN: Final = -1
"""The status of rows that the plan left out; outside the engine they are NOT_APPLICABLE."""


@dataclass(slots=True)
class TermColumn:
    """Values and statuses of one term, and why rows have no value."""

    values: Floats
    statuses: Statuses
    reasons: dict[int, str] = field(default_factory=dict)
    """By row: why it is not SCORED, where there is more to say than the status does."""
    tokens: list[Floats] | None = None
    """For a token-level term: one array a row, as long as the row's token ids."""

    @classmethod
    def unrun(cls, n: int, *, tokens: bool = False) -> TermColumn:
        """A column of n rows that nothing has run for."""
        return cls(
            np.full(n, np.nan),
            np.full(n, NOT_RUN, dtype=np.int8),
            tokens=[np.zeros(0)] * n if tokens else None,
        )

    def put(self, rows: Sequence[int], part: TermColumn) -> None:
        """Write the results of some rows into their places."""
        self.values[rows] = part.values
        self.statuses[rows] = part.statuses
        self.reasons.update({rows[i]: why for i, why in part.reasons.items()})
        if self.tokens is not None and part.tokens is not None:
            for i, row in enumerate(rows):
                self.tokens[row] = part.tokens[i]


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a token-level reward: an amount for each row, and where it goes."""

    amount: Floats
    """Shape (n,); for ``dense`` the factor on the term's own numbers."""
    place: str = "end"
    """``end``, ``spread``, ``on`` or ``dense``."""
    pattern: str = ""
    dense: Sequence[Floats] | None = None

    def scaled(self, factor: Floats) -> Piece:
        """The same piece, each row times a factor."""
        return Piece(self.amount * factor, self.place, self.pattern, self.dense)


@dataclass(frozen=True, slots=True)
class Values:
    """One node over all rows."""

    value: Floats
    """NaN where there is none."""
    status: Statuses
    floored: Mask
    """Rows that a failure of mixed direction sends to the formula's floor."""
    pieces: tuple[Piece, ...] | None = None
    """For a TokenReward: where its value stands."""

    @property
    def known(self) -> Mask:
        """Rows that have a value."""
        return ~np.isnan(self.value)

    @property
    def placed(self) -> tuple[Piece, ...]:
        """Its pieces; a plain reward stands on the last token, and rows without a value hold none."""
        if self.pieces is not None:
            return self.pieces
        return (Piece(np.where(np.isnan(self.value), 0.0, self.value)),)

    def at(self, pieces: tuple[Piece, ...] | None) -> Values:
        """The same values in another place."""
        return Values(self.value, self.status, self.floored, pieces)


def constant(value: float, n: int) -> Values:
    """One number on all of n rows."""
    return Values(np.full(n, value), np.zeros(n, dtype=np.int8), np.zeros(n, dtype=np.bool_))
