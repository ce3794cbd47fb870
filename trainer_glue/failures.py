"""The first failure of each term, told in full on standard error; the metrics count the others.

A trainer's log is read by people, and a term that fails on one row mostly fails on thousands.
"""

from __future__ import annotations

import sys

from rewardkit.batch import Status
from rewardkit.scores import Scores

_TOLD = (Status.ERROR, Status.BAD_GOLD)


class FirstFailures:
    """Remembers what was told already."""

    def __init__(self) -> None:
        self._told: set[str] = set()

    def tell_of(self, scores: Scores) -> None:
        """Tell the reason of the first row of each term that the policy did not cause."""
        for name, reasons in scores.reasons.items():
            if name in self._told:
                continue
            first = next((row for row in sorted(reasons) if scores.statuses[name][row] in _TOLD), None)
            if first is not None:
                self.tell(name, reasons[first])

    def tell(self, name: str, reason: str) -> None:
        """Tell one, unless that name had its turn."""
        if name not in self._told:
            self._told.add(name)
            print(f"rewardkit: {name} could not score a row (shown once): {reason}", file=sys.stderr, flush=True)
