"""What an audit says, as plain data: for JSON, for the terminal, for a page."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from rewardkit.audit.board import Line
from rewardkit.audit.controls import Control
from rewardkit.audit.diagnostics import AuditDiagnostic, Evidence
from rewardkit.audit.fixes import Fix
from rewardkit.audit.forms import Forms
from rewardkit.diagnostics import Diagnostic, Severity


@dataclass(frozen=True)
class AuditReport:
    """The result of an audit.

    Attributes:
        reward: what was audited, as the user named it.
        by_part: whether the formula's parts were seen; False for a Python function.
        data: the file.
        rows: rows that were audited.
        forms: how answers are written, and which of it the reward reads.
        diagnostics: the worst first.
        static: what the formula's tree says, before any text was tried.
        board: the strategies, the best paid first.
        controls: the audits of rewards of which the result is known.
        fix: a formula without the holes; None where none is needed or none was found.
        no_fix: why none is offered though one was looked for.
        tried: texts that were scored.
        searched: of these, by the search.
        search_skipped: why there was no search; None where there was one.
        seconds: how long it took.
    """

    reward: str
    by_part: bool
    data: str
    rows: int
    forms: Forms
    diagnostics: tuple[AuditDiagnostic, ...]
    static: tuple[Diagnostic, ...]
    board: tuple[Line, ...]
    controls: tuple[Control, ...]
    fix: Fix | None
    no_fix: str | None
    tried: int
    searched: int
    search_skipped: str | None
    seconds: float

    def reaches(self, severity: Severity) -> bool:
        """Whether some diagnostic is as bad as this, or worse."""
        return any(f.severity.reaches(severity) for f in self.diagnostics)

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON. What is not a number is None."""
        return {
            "reward": self.reward,
            "by_part": self.by_part,
            "data": self.data,
            "rows": self.rows,
            "answer_form": self.forms.best.name,
            "forms_read": [f.name for f in self.forms.read],
            "diagnostics": [_plain(d) for d in self.diagnostics],
            "static": [d.as_dict() for d in self.static],
            "board": [
                {"strategy": x.strategy, "right": x.right, "pay": _number(x.pay), "parts": _numbers(x.parts)}
                for x in self.board
            ],
            "controls": [
                {"reward": c.name, "expected": list(c.expected), "found": list(c.found), "as_expected": c.as_expected}
                for c in self.controls
            ],
            "fix": None if self.fix is None else {"formula": self.fix.formula, "left": list(self.fix.left)},
            "no_fix": self.no_fix,
            "texts_tried": self.tried,
            "texts_searched": self.searched,
            "search_skipped": self.search_skipped,
            "seconds": round(self.seconds, 2),
        }


def _plain(d: AuditDiagnostic) -> dict[str, Any]:
    shown = {"evidence": None if d.evidence is None else _evidence(d.evidence)}
    return replace(d, evidence=None).as_dict() | shown


def _evidence(e: Evidence) -> dict[str, Any]:
    return {
        "text": e.text,
        "says": e.says,
        "pay": _number(e.pay),
        "parts": _numbers(e.parts),
        "truncated": e.truncated,
        "gold": e.truth,
        "honest": e.honest,
        "honest_pay": _number(e.honest_pay),
        "honest_parts": _numbers(e.honest_parts),
    }


def _numbers(parts: Mapping[str, float]) -> dict[str, float | None]:
    return {k: _number(v) for k, v in parts.items()}


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
