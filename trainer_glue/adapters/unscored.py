"""What a trainer gets for a row that has no score.

A trainer that has no way to say "unscored" gets a number for every row. The one that teaches least is the mean of the
scored rest of the row's group, since a group-relative advantage of it is 0. Every such row is counted, and a batch with
too many of them stops the run: a reward that fails on a fifth of its rows is broken, whatever it pays the others.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Final

import numpy as np

from rewardkit.batch import Floats, Status
from rewardkit.engine.scores import Scores
from rewardkit.errors import UnscoredError

UNSCORED_LIMIT: Final = 0.2
"""The share of a batch that may be unscored before the run is stopped."""
ROWS_THAT_SAY_SOMETHING: Final = 50
"""Rows over which a running share says something."""


def fill_unscored(scores: Scores, groups: Sequence[Hashable] | None) -> Floats:
    """A total for every row: unscored ones get the mean of their group's scored rows, or 0 where there is none.

    Without groups an unscored row gets the mean of the batch's scored rows.
    """
    unscored = scores.unscored
    filled = np.where(unscored, 0.0, scores.total)
    if not unscored.any():
        return filled
    keys = list(groups) if groups is not None else [None] * len(scores)
    for key in {keys[i] for i in np.flatnonzero(unscored)}:
        members = np.asarray([k == key for k in keys])
        scored = members & ~unscored
        if scored.any():
            filled[members & unscored] = scores.total[scored].mean()
    return filled


def check_unscored(scores: Scores, limit: float, reason: str | None = None) -> None:
    """Stop when too large a share of a batch is unscored.

    Raises:
        UnscoredError: over the limit; the message names the statuses, the terms, and the first reason.
    """
    unscored = int(scores.unscored.sum())
    if unscored <= limit * len(scores):
        return
    causes = []
    for name, statuses in scores.statuses.items():
        for status in (Status.BAD_GOLD, Status.ERROR, Status.NOT_APPLICABLE):
            count = int((statuses == status).sum())
            if count:
                causes.append(f"{name}: {count} {status.name}")
    raise _over_the_limit(
        f"{len(scores)} responses could not be scored",
        f" ({'; '.join(causes) or 'no route applies'})",
        unscored / len(scores),
        limit,
        reason or scores.first_reason(),
    )


class RunningShare:
    """The share of unscored rows over a whole run, for a trainer that hands over a row at a time.

    Args:
        limit: the share that may be unscored.
    """

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self.rows = self.unscored = 0

    def count(self, scores: Scores) -> None:
        """Count a batch.

        Raises:
            UnscoredError: over the limit, once ``ROWS_THAT_SAY_SOMETHING`` rows have come.
        """
        self.rows += len(scores)
        self.unscored += int(scores.unscored.sum())
        if self.rows < ROWS_THAT_SAY_SOMETHING or self.unscored <= self.limit * self.rows:
            return
        what = f"{self.rows} responses so far could not be scored"
        raise _over_the_limit(what, "", self.unscored / self.rows, self.limit, scores.first_reason())


def _over_the_limit(what: str, causes: str, share: float, limit: float, reason: str | None) -> UnscoredError:
    return UnscoredError(
        f"{share:.0%} of {what}, and the limit is {limit:.0%}{causes}"
        + (f"\nfirst reason: {reason.strip()}" if reason else ""),
        hint="mend the term or the data; `unscored_limit` raises the limit where such rows are expected",
    )
