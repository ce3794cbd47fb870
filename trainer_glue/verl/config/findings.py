"""What a check of a configuration says: findings, and the one error that lists them all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from rewardkit.errors import ConfigError

Severity = Literal["error", "warning"]


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
    """

    code: str
    key: str
    message: str
    where: str = ""
    hint: str | None = None
    severity: Severity = "error"

    def __str__(self) -> str:
        head = ": ".join(part for part in (self.where, self.key, self.message) if part)
        return head if self.hint is None else f"{head}\n    hint: {self.hint}"


class ConfigFindings(ConfigError):
    """Everything that is wrong with a configuration, in one message.

    Attributes:
        findings: the errors, in the order of the message.
    """

    def __init__(self, findings: Sequence[Finding]) -> None:
        self.findings = tuple(findings)
        count = len(self.findings)
        head = "the configuration has an error" if count == 1 else f"the configuration has {count} errors"
        super().__init__("\n  ".join([f"{head}:", *(str(f) for f in self.findings)]))

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (self.findings,))


def raise_errors(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The warnings among the findings, each once.

    Raises:
        ConfigFindings: at least one is an error.
    """
    unique = list(dict.fromkeys(findings))
    errors = [f for f in unique if f.severity == "error"]
    if errors:
        raise ConfigFindings(errors)
    return tuple(unique)
