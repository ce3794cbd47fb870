"""What the static checks say of a formula: the codes, and how sure a diagnostic is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from rewardkit.diagnostics import Diagnostic, Severity, register

register(
    "explain",
    {
        "unbounded-total": (Severity.WARNING, "The total has no end, or a term declares none."),
        "verdict-outweighed": (
            Severity.WARNING,
            "A wrong answer can earn more than a right one; a pair of texts shows it where this is proved.",
        ),
        "verdict-dominates": (Severity.NOTE, "No wrong answer outscores a right one."),
        "dead-branch": (Severity.WARNING, "A condition always or never holds, so a branch is never paid."),
        "no-effect": (Severity.WARNING, "A part with terms in it is always the same number."),
        "never-decides": (Severity.WARNING, "An operand of `minimum` or `maximum` is never the one."),
        "weight-zero": (Severity.NOTE, "A term is logged and never paid."),
        "group-relative": (Severity.NOTE, "A part compares the responses to one prompt."),
        "schedule-without-step": (Severity.NOTE, "A weight follows the training step, which only a run has."),
    },
)


class Certainty(StrEnum):
    """How sure a diagnostic is."""

    PROVED = "proved"
    """It holds whatever the terms do within their declarations, or a pair of texts shows it."""
    POSSIBLE = "possible"
    """The bounds allow it."""


@dataclass(frozen=True, slots=True)
class FormulaDiagnostic(Diagnostic):
    """One thing to know about a formula. ``where`` is the node, as text, which the message names.

    Attributes:
        certainty: proved or possible.
    """

    certainty: Certainty = Certainty.PROVED

    @property
    def label(self) -> str:
        """The code, and how sure it is."""
        return f"{self.code}, {self.certainty}"

    @property
    def text(self) -> str:
        """The message."""
        return self.message

    @property
    def place(self) -> tuple[str | int, ...]:
        """Nothing: the checks go over the tree in its order."""
        return ()
