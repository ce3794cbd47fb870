"""What an audit says: the codes, the text that shows it, and what to write instead."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rewardkit.diagnostics import Diagnostic, Severity, register

register(
    "audit",
    {
        "outscores-right": (Severity.ERROR, "A text that is not right is paid more than a right answer."),
        "paid-as-right": (Severity.ERROR, "A text that is not right is paid as if it were."),
        "last-counts": (Severity.WARNING, "Of several answers one counts by its place: the others cost nothing."),
        "part-paid": (Severity.WARNING, "A text that is not right earns a share of what a right answer does."),
        "no-signal": (Severity.ERROR, "A right answer earns nothing over an empty text."),
        "others-paid": (Severity.ERROR, "What a tool or a user wrote is paid as the policy's answer."),
        "gold-blind": (Severity.WARNING, "A wrong answer is paid what the right one is, in every form that was tried."),
        "padding-pays": (Severity.WARNING, "More words earn more."),
        "length-outweighs": (Severity.ERROR, "A right answer that is long is paid less than a wrong one."),
        "right-unpaid": (Severity.NOTE, "A right answer in a usual form is not read."),
        "tail-matters": (Severity.NOTE, "Characters that nobody sees, at the end, change the pay."),
        "cut-off-paid": (Severity.NOTE, "A response that was cut off is paid for its ending."),
        "repetition-unseen": (Severity.NOTE, "The reward punishes repetition, and not this one."),
        "no-variance": (
            Severity.NOTE,
            "Many different texts are all paid the same, and best: a group of them teaches nothing.",
        ),
        "fails": (Severity.WARNING, "The reward fails on a text that a model may write."),
        "slow": (Severity.WARNING, "One text takes long."),
        "not-deterministic": (Severity.WARNING, "The same text is not paid the same twice."),
    },
)


@dataclass(frozen=True, slots=True)
class Evidence:
    """A text and its pay beside an honest text's.

    Attributes:
        text: the text, as small as it could be made.
        pay: what it is paid; NaN where the reward failed.
        parts: what each part of the formula paid for it; empty for a function.
        says: what the text says, in words.
        truth: the row's ground truth.
        honest: the right answer that it is compared with.
        honest_pay: what that is paid.
        honest_parts: the same for the right answer.
        truncated: whether the text was handed over as cut off.
    """

    text: str
    pay: float
    parts: Mapping[str, float]
    says: str
    truth: str
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
class AuditDiagnostic(Diagnostic):
    """One thing to know about a reward. ``where`` is the part of the formula that paid most, where it is known.

    Attributes:
        family: the family of attacks that shows it.
        evidence: the text that shows it; None where no single text does.
        rows: on how many of the audited rows it holds.
        also: other families that the same part pays, and as badly.
    """

    family: str = ""
    evidence: Evidence | None = None
    rows: int = 0
    also: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """The code and the family."""
        return f"{self.code}/{self.family}"

    @property
    def text(self) -> str:
        """The message, which names the part."""
        return self.message
