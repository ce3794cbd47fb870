"""What a check of a configuration says: findings, and the one error that lists them all."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from rewardkit.errors import ConfigError

Severity = Literal["error", "warning"]
_FILE_LINE: Final = re.compile(r"(?!command line: |recipe )(?P<file>.+):(?P<line>\d+)")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to know about a configuration before it runs.

    Attributes:
        code: what kind of finding, stable over versions: `unknown-key`, `wrong-type`, ...
        key: the dotted key it is about; empty when it is about none.
        message: what came and what was expected.
        where: the file and line, or the command line; empty when the value is a default.
        hint: the likely fix.
        severity: an error stops the run, a warning doesn't.
        value: what came, as text; None where the config's own value says it.
        expected: what may stand there, in words; empty where the message or the hint says it.
    """

    code: str
    key: str
    message: str
    where: str = ""
    hint: str | None = None
    severity: Severity = "error"
    value: str | None = None
    expected: str = ""

    @property
    def file(self) -> str | None:
        """The user's file that it is about; None for the command line, a recipe, a default."""
        match = _FILE_LINE.fullmatch(self.where)
        return match["file"] if match else None

    @property
    def line(self) -> int | None:
        """The line in that file."""
        match = _FILE_LINE.fullmatch(self.where)
        return int(match["line"]) if match else None

    def __str__(self) -> str:
        head = ": ".join(part for part in (self.where, self.key, self.message) if part)
        return head if self.hint is None else f"{head}\n    hint: {self.hint}"


class ConfigFindings(ConfigError):
    """Everything that is wrong with a configuration, in one message.

    Attributes:
        findings: the errors, in the order of the message.
        warnings: what else was found.
    """

    def __init__(self, findings: Sequence[Finding], warnings: Sequence[Finding] = ()) -> None:
        self.findings = tuple(findings)
        self.warnings = tuple(warnings)
        count = len(self.findings)
        head = "the configuration has an error" if count == 1 else f"the configuration has {count} errors"
        super().__init__("\n  ".join([f"{head}:", *(str(f) for f in self.findings)]), hint=_migrate(self.findings))

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (self.findings, self.warnings))


def _migrate(findings: Iterable[Finding]) -> str | None:
    """The command that rewrites a file with keys of an older verl."""
    files = [f.file for f in findings if f.code == "dead-key" and f.file]
    return f"rewardkit config migrate {files[0]} --out NEW.yaml writes it anew for today's verl" if files else None


def raise_errors(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The warnings among the findings, each once.

    Raises:
        ConfigFindings: at least one is an error.
    """
    unique = list(dict.fromkeys(findings))
    errors = [f for f in unique if f.severity == "error"]
    if errors:
        raise ConfigFindings(errors, [f for f in unique if f.severity != "error"])
    return tuple(unique)
