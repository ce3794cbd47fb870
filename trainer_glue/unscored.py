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
from rewardkit.errors import UnscoredError
from rewardkit.scores import Scores

UNSCORED_LIMIT: Final = 0.2
"""The share of a batch that may be unscored before the run is stopped."""


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
    share = float(scores.unscored.mean()) if len(scores) else 0.0
    if share <= limit:
        return
    causes = []
    for name, statuses in scores.statuses.items():
        for status in (Status.BAD_GOLD, Status.ERROR, Status.NOT_APPLICABLE):
            count = int((statuses == status).sum())
            if count:
                causes.append(f"{name}: {count} {status.name}")
    why = reason or scores.first_reason()
    raise UnscoredError(
        f"{share:.0%} of {len(scores)} responses could not be scored, and the limit is {limit:.0%} "
        f"({'; '.join(causes) or 'no route applies'})" + (f"\nfirst reason: {why.strip()}" if why else ""),
        hint="mend the term or the data; `unscored_limit` raises the limit where such rows are expected",
    )
