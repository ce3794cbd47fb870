"""The first failure of each term, in full on standard error; the metrics count the others.

A trainer's log is read by people, and a term that fails on one row mostly fails on thousands.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable

from rewardkit.batch import FAULTS
from rewardkit.engine.scores import Scores


class FirstFailures:
    """Remembers which names were logged already.

    Args:
        silent: names that are never logged.
    """

    def __init__(self, silent: Iterable[str] = ()) -> None:
        self._logged = set(silent)

    def log(self, scores: Scores) -> None:
        """Log the reason of the first row of each term that the policy did not cause."""
        for name, reasons in scores.reasons.items():
            if name in self._logged:
                continue
            first = next((row for row in sorted(reasons) if scores.statuses[name][row] in FAULTS), None)
            if first is not None:
                self.log_once(name, reasons[first])

    def log_once(self, name: str, reason: str) -> None:
        """Log one reason, unless one was logged under that name."""
        if name not in self._logged:
            self._logged.add(name)
            print(f"rewardkit: {name} could not score a row (shown once): {reason}", file=sys.stderr, flush=True)
