"""Endings that many responses share. A policy that found what pays says it at the end, whatever was asked.

Counted over all rows by lossy counting (Manku and Motwani, VLDB 2002): memory is bounded, and a count is short by at
most one in ten thousand rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from rewardkit.report.chunk import Rollouts
from rewardkit.report.texts import encodable

WORDS: Final = 6
"""Words that make an ending."""
_LAST: Final = 240
"""Characters that are looked at for them, so that text without blanks has an ending too."""
_BUCKET: Final = 10_000
"""Rows after which what is rare is forgotten."""
_PROMPTS: Final = 3
"""Different prompts that are told apart; more are as telling as these."""


@dataclass(slots=True)
class Ending:
    """Responses that end alike.

    Attributes:
        text: the last words.
        count: how many, of all rows.
        paid: the sum of what they were paid.
        scored: how many of them have a total.
        prompts: hashes of some of their prompts.
        first: the step at which it was seen first; None where steps are not known.
        missed: how many may have been forgotten before.
    """

    text: str
    count: int
    paid: float
    scored: int
    prompts: set[int]
    first: int | None
    missed: int

    @property
    def mean(self) -> float:
        """What such a response is paid."""
        return self.paid / self.scored if self.scored else math.nan

    @property
    def across(self) -> bool:
        """Whether it stands under more than one prompt."""
        return len(self.prompts) > 1


class Endings:
    """Counts endings over a stream."""

    def __init__(self) -> None:
        self._found: dict[str, Ending] = {}
        self._rows = 0

    def add(self, rows: Rollouts) -> None:
        """Take in a chunk."""
        if rows.responses is None:
            return
        steps = [None] * len(rows) if rows.steps is None else rows.steps.tolist()
        prompts: Sequence[str | None] = [None] * len(rows) if rows.prompts is None else rows.prompts
        for text, total, step, prompt in zip(rows.responses, rows.total.tolist(), steps, prompts, strict=True):
            self._rows += 1
            if self._rows % _BUCKET == 0:
                self._forget()
            words = text[-_LAST:].split()[-WORDS:]
            if not words:
                continue
            key = " ".join(words)
            ending = self._found.get(key)
            if ending is None:
                ending = self._found[key] = Ending(key, 0, 0.0, 0, set(), step, self._rows // _BUCKET)
            ending.count += 1
            if total == total:  # not NaN
                ending.paid += total
                ending.scored += 1
            if prompt is not None and len(ending.prompts) < _PROMPTS:
                ending.prompts.add(hash(prompt))
            if step is not None and (ending.first is None or step < ending.first):
                ending.first = step

    def found(self, least: int) -> list[Ending]:
        """Endings of at least so many responses, the most frequent first."""
        many = [ending for ending in self._found.values() if ending.count >= least]
        for ending in many:
            ending.text = encodable(ending.text)
        return sorted(many, key=lambda ending: -ending.count)

    def _forget(self) -> None:
        buckets = self._rows // _BUCKET
        self._found = {key: e for key, e in self._found.items() if e.count + e.missed > buckets}
