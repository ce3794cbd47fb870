"""What every check says of its subject: one record, one scale of severity, one registry of codes.

A check registers its codes once, with :func:`register`. A diagnostic with another code is refused. What only some
checks know, such as a key of a config, is a field of a subclass beside the check.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, TypeVar


class Severity(StrEnum):
    """How bad it is. The worst is first."""

    ERROR = "error"
    """It has to be mended."""
    WARNING = "warning"
    """It should be looked at."""
    NOTE = "note"
    """It is worth knowing."""

    @property
    def rank(self) -> int:
        """0 for the worst."""
        return list(Severity).index(self)

    def reaches(self, other: Severity) -> bool:
        """Whether this is as bad as the other, or worse."""
        return self.rank <= other.rank


@dataclass(frozen=True, slots=True)
class Code:
    """What is known of a code.

    Attributes:
        producer: the check that says it.
        line: what it means, in a line.
        severity: how bad it usually is.
    """

    producer: str
    line: str
    severity: Severity


CODES: Final[dict[str, Code]] = {}
"""Every code of the checks that are imported. Codes are stable over versions."""


def register(producer: str, codes: Mapping[str, tuple[Severity, str]]) -> None:
    """Add a check's codes, each with its usual severity and what it means.

    Raises:
        ValueError: a code is taken.
    """
    for code, (severity, line) in codes.items():
        if code in CODES:
            raise ValueError(f"the code {code!r} of {producer} is one of {CODES[code].producer} already")
        CODES[code] = Code(producer, line, severity)


def registered(code: str) -> Code:
    """What is known of a code.

    Raises:
        ValueError: no check has registered it.
    """
    if code not in CODES:
        raise ValueError(f"the code {code!r} is not registered")
    return CODES[code]


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One thing to know about what was checked.

    Attributes:
        code: what kind it is, stable over versions.
        message: what came and what was expected.
        where: the place, such as a file and its line, or a part of the formula; empty where there is none.
        hint: the likely fix; None where there is nothing to fix.
        severity: by default, what is usual for the code.

    Raises:
        ValueError: the code is not registered.
    """

    code: str
    message: str
    where: str = ""
    hint: str | None = None
    severity: Severity = None  # type: ignore[assignment]  # never None once it is made

    def __post_init__(self) -> None:
        usual = registered(self.code).severity
        object.__setattr__(self, "severity", usual if self.severity is None else Severity(self.severity))

    @property
    def label(self) -> str:
        """The code, and what stands beside it on a terminal."""
        return self.code

    @property
    def text(self) -> str:
        """The place and the message."""
        return ": ".join(part for part in (self.where, self.message) if part)

    @property
    def place(self) -> tuple[str | int, ...]:
        """What those of one severity are sorted by. Line 10 of a file comes after line 9, and no place comes first."""
        parts = re.split(r"(\d+)", self.where)
        return tuple(int(part) if i % 2 else part for i, part in enumerate(parts))

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON: the fields, of which every check has the same first five."""
        return dataclasses.asdict(self)

    def __str__(self) -> str:
        return self.text if self.hint is None else f"{self.text}\n    hint: {self.hint}"


AnyDiagnostic = TypeVar("AnyDiagnostic", bound=Diagnostic)


def ordered(diagnostics: Iterable[AnyDiagnostic]) -> tuple[AnyDiagnostic, ...]:
    """The worst first, and those of one severity by their place."""
    return tuple(sorted(diagnostics, key=lambda d: (d.severity.rank, d.place)))


def errors(diagnostics: Iterable[AnyDiagnostic]) -> tuple[AnyDiagnostic, ...]:
    """Those that are errors."""
    return tuple(d for d in diagnostics if d.severity is Severity.ERROR)
