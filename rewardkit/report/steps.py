"""What each training step came to: the time axis of a report."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from rewardkit.batch import POLICY_CAUSED, Floats, Statuses
from rewardkit.report.chunk import Steps
from rewardkit.scoring.tally import Moments

POINTS: Final = 200
"""Points of a curve, at most: more steps are drawn as means over as many."""
WINDOW: Final = 0.2
"""The share of the steps at the start, and at the end, that are compared to see a drift."""
_CAUSED: Final = [int(status) for status in POLICY_CAUSED]


@dataclass
class StepTally:
    """One step."""

    total: Moments = field(default_factory=Moments)
    words: Moments = field(default_factory=Moments)
    terms: dict[str, Moments] = field(default_factory=dict)
    groups: int = 0
    dead: int = 0
    rows: int = 0


@dataclass(frozen=True, slots=True)
class Point:
    """A value at a step, or its mean over neighbouring steps."""

    step: int
    mean: float
    std: float


class Timeline:
    """The steps of a run, in order, however they came."""

    def __init__(self) -> None:
        self._steps: dict[int, StepTally] = {}

    def __len__(self) -> int:
        return len(self._steps)

    def __getitem__(self, step: int) -> StepTally:
        return self._steps.setdefault(step, StepTally())

    def items(self) -> list[tuple[int, StepTally]]:
        """All steps with what they came to."""
        return sorted(self._steps.items())

    def add(
        self,
        steps: Steps,
        total: Floats,
        terms: Mapping[str, Floats],
        statuses: Mapping[str, Statuses],
        words: Floats | None,
    ) -> None:
        """Take in a chunk."""
        for step in np.unique(steps).tolist():
            here = steps == step
            tally = self[step]
            tally.rows += int(here.sum())
            nothing = np.zeros(int(here.sum()), dtype=np.int8)
            tally.total.add(total[here], nothing)
            if words is not None:
                tally.words.add(words[here], nothing)
            for name, values in terms.items():
                tally.terms.setdefault(name, Moments()).add(values[here], statuses[name][here])

    def curve(self, of: Callable[[StepTally], Moments | None]) -> list[Point]:
        """A value over the steps, in at most so many points; steps without it are left out."""
        steps = [(step, moments) for step, tally in self.items() if (moments := of(tally)) and moments.count]
        return [_point(part) for part in _parts(steps)]

    def shares(self, of: Callable[[StepTally], tuple[int, int]]) -> list[Point]:
        """A share over the steps, from its count and what it is of."""
        steps = [(step, pair) for step, tally in self.items() if (pair := of(tally))[1]]
        return [
            Point(part[len(part) // 2][0], sum(n for _, (n, _) in part) / sum(m for _, (_, m) in part), 0.0)
            for part in _parts(steps)
        ]

    def first_and_last(self, of: Callable[[StepTally], Moments | None]) -> tuple[float, float]:
        """The mean over the first and over the last steps; NaN where there is none."""
        return self._first_and_last(lambda ts: _mean([m for t in ts if (m := of(t)) and m.count]))

    def first_and_last_share(self, of: Callable[[StepTally], tuple[int, int]]) -> tuple[float, float]:
        """A share over the first and over the last steps; NaN where there is none."""

        def share(tallies: Sequence[StepTally]) -> float:
            pairs = [of(tally) for tally in tallies]
            whole = sum(m for _, m in pairs)
            return sum(n for n, _ in pairs) / whole if whole else math.nan

        return self._first_and_last(share)

    def _first_and_last(self, of: Callable[[Sequence[StepTally]], float]) -> tuple[float, float]:
        tallies = [tally for _, tally in self.items()]
        if len(tallies) < 2:
            return math.nan, math.nan
        n = max(1, round(WINDOW * len(tallies)))
        return of(tallies[:n]), of(tallies[-n:])


def total_of(tally: StepTally) -> Moments:
    """The total of a step."""
    return tally.total


def words_of(tally: StepTally) -> Moments:
    """The lengths of a step's responses."""
    return tally.words


def term_of(name: str) -> Callable[[StepTally], Moments | None]:
    """A term of a step."""
    return lambda tally: tally.terms.get(name)


def dead_of(tally: StepTally) -> tuple[int, int]:
    """Dead groups among a step's groups."""
    return tally.dead, tally.groups


def caused_of(name: str) -> Callable[[StepTally], tuple[int, int]]:
    """Rows of a step that fail a term through the policy's own doing: no answer, several, over a limit."""

    def counts(tally: StepTally) -> tuple[int, int]:
        moments = tally.terms.get(name)
        return (0, 0) if moments is None else (int(moments.statuses[_CAUSED].sum()), int(moments.statuses.sum()))

    return counts


def _parts(steps: Sequence[tuple[int, Any]]) -> list[Sequence[tuple[int, Any]]]:
    size = max(1, math.ceil(len(steps) / POINTS))
    return [steps[i : i + size] for i in range(0, len(steps), size)]


def _point(part: Sequence[tuple[int, Moments]]) -> Point:
    moments = [m for _, m in part]
    count = sum(m.count for m in moments)
    variance = sum(m.count * m.std**2 for m in moments) / count
    return Point(part[len(part) // 2][0], _mean(moments), math.sqrt(variance))


def _mean(moments: Sequence[Moments]) -> float:
    count = sum(m.count for m in moments)
    return sum(m.count * m.mean for m in moments) / count if count else math.nan
