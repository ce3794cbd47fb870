"""What a program returns: totals, statuses, the terms' own values, and the token-level tensor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from rewardkit.algebra.values import Piece
from rewardkit.batch import UNSCORED, Floats, Mask, Status, Statuses
from rewardkit.engine.placement import TokenEnds, place
from rewardkit.errors import DataError

_UNSCORED = tuple(UNSCORED)
UNSCORED_KEY: Final = "unscored"
"""The key of a row without a score, 0 or 1, wherever numbers stand beside a reward; in a summary, the share of them."""


def status_key(name: str) -> str:
    """The key of a term's status code, wherever numbers stand beside a reward."""
    return f"{name}/status"


def milliseconds_key(name: str) -> str:
    """The key of the milliseconds that a term took for a row: those of its batch, shared evenly."""
    return f"{name}/ms"


@dataclass(frozen=True)
class Scores:
    """The scores of a batch of n responses."""

    total: Floats
    """Shape (n,). NaN where the row is unscored."""
    status: Statuses
    """Shape (n,): a :class:`Status` for each total."""
    values: Mapping[str, Floats]
    """By name, shape (n,): each term's and each named node's own value, before any weight; NaN where it has none."""
    statuses: Mapping[str, Statuses]
    """By name, shape (n,)."""
    reasons: Mapping[str, Mapping[int, str]]
    """By term and row: why a row is not scored, where there is more to say than the status does."""
    pieces: tuple[Piece, ...] | None = field(default=None, repr=False)
    texts: Sequence[str] = field(default=(), repr=False)

    def __len__(self) -> int:
        return len(self.total)

    @property
    def unscored(self) -> Mask:
        """Rows without a total: they must not count as zeros for the policy."""
        return np.isin(self.status, _UNSCORED)

    def token_rewards(
        self,
        mask: npt.ArrayLike,
        *,
        token_ends: TokenEnds | None = None,
        fill: npt.ArrayLike = 0.0,
        scored: npt.ArrayLike | None = None,
    ) -> npt.NDArray[np.float32]:
        """The token-level reward tensor, shape (n, T), float32.

        Its sum over a row's tokens is the row's total; everything outside the mask is 0. A row without any token in
        the mask is all 0, whatever its total: there is no token to put it on.

        Args:
            mask: shape (n, T); true or 1 on the response tokens that the policy wrote.
            token_ends: for ``.on(pattern)``: where each token ends in the response's text.
            fill: what unscored rows get, on their last token; a number or shape (n,).
            scored: shape (n, T); true on the tokens of the text that was scored, where the policy wrote more than
                that, in several turns. ``token_ends`` and token-level terms are about these tokens; ``spread()``
                shares a value among all tokens in the mask.

        Raises:
            DataError: the mask's shape doesn't fit, it holds anything but numbers and truth values, or ``scored`` is
                true outside the mask.
            CompileError: a pattern placement and no ``token_ends``.
        """
        given = np.asarray(mask)
        if given.dtype.kind not in "biuf" or (given.dtype.kind == "f" and np.isnan(given).any()):
            raise DataError(f"a mask of {given.dtype} that holds more than numbers; expected true or 1 on the tokens")
        where = given.astype(np.bool_, copy=False)
        if where.ndim != 2 or len(where) != len(self):
            raise DataError(f"a mask of shape {where.shape} for {len(self)} responses; expected (n, tokens)")
        within = where if scored is None else np.asarray(scored).astype(np.bool_, copy=False)
        if within is not where and (within.shape != where.shape or (within & ~where).any()):
            raise DataError(
                f"`scored` of shape {within.shape} is not a part of the mask of shape {where.shape}",
                hint="what is scored was written by the policy: mask it in, too",
            )
        unscored = self.unscored
        alive = (~unscored).astype(np.float64)
        pieces = self.pieces if self.pieces is not None else (Piece(np.where(unscored, 0.0, self.total)),)
        filled = np.where(unscored, np.broadcast_to(np.asarray(fill, dtype=np.float64), (len(self),)), 0.0)
        return place([*(p.scaled(alive) for p in pieces), Piece(filled)], where, self.texts, token_ends, within)

    def summary(self) -> dict[str, float]:
        """Numbers for the logs: mean and spread of the total and of every name, and the share of each status.

        Keys: ``total/mean``, ``total/std``, ``unscored``, and for every name ``<name>/mean``, ``<name>/std`` (over
        the rows that have a value; left out when none has) and ``<name>/status/<status>``.
        """
        summary = _moments("total", self.total)
        summary[UNSCORED_KEY] = float(self.unscored.mean()) if len(self) else 0.0
        for name, values in self.values.items():
            summary.update(_moments(name, values))
            statuses = self.statuses[name]
            for status in Status:
                summary[f"{status_key(name)}/{status.name.lower()}"] = (
                    float((statuses == status).mean()) if len(self) else 0.0
                )
        return summary

    def first_reason(self) -> str | None:
        """The first explanation of an ERROR or BAD_GOLD, with the term's name. None when nothing failed."""
        for name, reasons in self.reasons.items():
            statuses = self.statuses[name]
            for row in sorted(reasons):
                if statuses[row] in (Status.ERROR, Status.BAD_GOLD):
                    return f"{name}, row {row}: {reasons[row]}"
        return None


def _moments(name: str, values: Floats) -> dict[str, float]:
    known = values[np.isfinite(values)]
    if not len(known):
        return {}
    return {f"{name}/mean": float(known.mean()), f"{name}/std": float(known.std())}


def headline(reason: str) -> str:
    """What one of :attr:`Scores.reasons` says on one line: of a traceback the error that it ends with, and its hint."""
    lines = reason.strip().splitlines() or [""]
    last = max(i for i, line in enumerate(lines) if not line[:1].isspace())
    return "  ".join(line.strip() for line in lines[last:])
