"""What an audit found: a code, how bad it is, the text that shows it, and what to write instead."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Severity(StrEnum):
    """How bad a finding is."""

    HIGH = "high"
    """A policy can earn as much as, or more than, a right answer without giving one."""
    MEDIUM = "medium"
    """A policy can earn a considerable share without an answer, or the reward breaks on some text."""
    LOW = "low"
    """Worth knowing."""

    def reaches(self, other: Severity) -> bool:
        """Whether this is as bad as the other, or worse."""
        return _ORDER[self] >= _ORDER[other]


_ORDER: Final = {Severity.LOW: 0, Severity.MEDIUM: 1, Severity.HIGH: 2}

CODES: Final[Mapping[str, str]] = {
    "outscores-right": "A text that is not right is paid more than a right answer.",
    "paid-as-right": "A text that is not right is paid as if it were.",
    "last-counts": "Of several answers one counts by its place: the others cost nothing.",
    "part-paid": "A text that is not right earns a share of what a right answer does.",
    "no-signal": "A right answer earns nothing over an empty text.",
    "gold-blind": "A wrong answer is paid what the right one is, in every form that was tried.",
    "padding-pays": "More words earn more.",
    "length-outweighs": "A right answer that is long is paid less than a wrong one.",
    "right-unpaid": "A right answer in a usual form is not read.",
    "tail-matters": "Characters that nobody sees, at the end, change the pay.",
    "cut-off-paid": "A response that was cut off is paid for its ending.",
    "repetition-unseen": "The reward punishes repetition, and not this one.",
    "no-variance": "Many different texts are all paid the same, and best: a group of them teaches nothing.",
    "fails": "The reward fails on a text that a model may write.",
    "slow": "One text takes long.",
    "not-deterministic": "The same text is not paid the same twice.",
}
"""Every code, and what it means."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A text and its pay beside an honest text's.

    Attributes:
        text: the text, as small as it could be made.
        pay: what it is paid; NaN where the reward failed.
        parts: what each part of the formula paid for it; empty for a function.
        says: what the text says, in words.
        gold: the row's gold answer.
        honest: the right answer that it is compared with.
        honest_pay: what that is paid.
        honest_parts: the same for the right answer.
        truncated: whether the text was handed over as cut off.
    """

    text: str
    pay: float
    parts: Mapping[str, float]
    says: str
    gold: str
    honest: str
    honest_pay: float
    honest_parts: Mapping[str, float]
    truncated: bool = False

    @property
    def culprit(self) -> str | None:
        """The part that paid most above what it paid the honest text."""
        excess = {k: v - self.honest_parts.get(k, 0.0) for k, v in self.parts.items()}
        best = max(excess, key=lambda k: excess[k], default=None)
        return (
            best
            if best is not None and excess[best] > 1e-9
            else max(self.parts, key=lambda k: self.parts[k], default=None)
        )


@dataclass(frozen=True, slots=True)
class AuditFinding:
    """One finding.

    Attributes:
        code: one of :data:`CODES`.
        severity: how bad it is.
        family: the family of attacks that shows it.
        also: other families that the same part pays, and as badly.
        message: one sentence with the numbers.
        evidence: the text that shows it; None where no single text does.
        rows: on how many of the audited rows it holds.
        fix: what to do, in words or as a formula.
    """

    code: str
    severity: Severity
    family: str
    message: str
    evidence: Evidence | None = None
    rows: int = 0
    fix: str | None = None
    also: tuple[str, ...] = ()
