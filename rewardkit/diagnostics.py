"""One thing to know about a formula: what was found, where, and how sure it is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Certainty(StrEnum):
    """How sure a finding is."""

    PROVED = "proved"
    POSSIBLE = "possible"


class Level(StrEnum):
    """Whether a finding asks for something to be done."""

    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to know about a formula.

    Attributes:
        code: which kind of finding; stable, for programs.
        level: warning or note.
        certainty: proved or possible.
        where: the node, as text.
        message: one or two sentences.
        hint: the likely fix; None where there is nothing to fix.
    """

    code: str
    level: Level
    certainty: Certainty
    where: str
    message: str
    hint: str | None = None
