"""Findings on a config, as a terminal shows them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console


def show_findings(out: Console, findings: Iterable[Any]) -> None:
    """Each with its severity, place, key, message and hint."""
    from rich.text import Text

    for finding in findings:
        style = "red" if finding.severity == "error" else "yellow"
        out.print(Text.assemble((f"{finding.severity:<8}", style), str(finding)))


def count(number: int, what: str) -> str:
    """`1 error`, `2 errors`."""
    return f"{number} {what}{'' if number == 1 else 's'}"
