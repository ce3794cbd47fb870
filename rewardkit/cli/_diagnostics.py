"""Diagnostics as a terminal shows them, those of every command alike."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from rewardkit.diagnostics import Diagnostic, Severity, errors

if TYPE_CHECKING:
    from rich.console import Console

_STYLES: Final = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.NOTE: "dim"}


def show_diagnostics(out: Console, diagnostics: Iterable[Diagnostic]) -> None:
    """Each with its severity, code, place, message and hint."""
    from rich.text import Text

    for d in diagnostics:
        text = Text(line(d))
        text.stylize(_STYLES[d.severity], 0, len(d.severity))
        out.print(text)


def line(d: Diagnostic) -> str:
    """A diagnostic as plain text: one line, and one for its hint."""
    return f"{d.severity:<8}[{d.label}] {d}"


def count(number: int, what: str) -> str:
    """`1 error`, `2 errors`."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def counts(diagnostics: Iterable[Diagnostic]) -> str:
    """`1 error, 2 warnings`."""
    found = tuple(diagnostics)
    worst = len(errors(found))
    return f"{count(worst, 'error')}, {count(len(found) - worst, 'warning')}"
