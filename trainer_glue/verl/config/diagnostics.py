"""What a check of a configuration says: diagnostics, and the one error that lists them all."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from rewardkit.diagnostics import Diagnostic, errors, ordered
from rewardkit.errors import ConfigError
from trainer_glue.verl.config import codes as _codes  # noqa: F401  # registers them

_FILE_LINE: Final = re.compile(r"(?!command line: |recipe )(?P<file>.+):(?P<line>\d+)")


@dataclass(frozen=True, slots=True)
class ConfigDiagnostic(Diagnostic):
    """One thing to know about a configuration before it runs.

    ``where`` is the file and line, or the command line; empty when the value is a default.

    Attributes:
        key: the dotted key it is about; empty when it is about none.
        value: what came, as text; None where the config's own value says it.
        expected: what may stand there, in words; empty where the message or the hint says it.
    """

    key: str = ""
    value: str | None = None
    expected: str = ""

    @property
    def file(self) -> str | None:
        """The user's file that it is about. None for the command line, a recipe, a default."""
        match = _FILE_LINE.fullmatch(self.where)
        return match["file"] if match else None

    @property
    def line(self) -> int | None:
        """The line in that file."""
        match = _FILE_LINE.fullmatch(self.where)
        return int(match["line"]) if match else None

    @property
    def text(self) -> str:
        """The place, the key and the message."""
        return ": ".join(part for part in (self.where, self.key, self.message) if part)

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON, with the file and the line."""
        return Diagnostic.as_dict(self) | {"file": self.file, "line": self.line}


class ConfigErrors(ConfigError):
    """Everything that is wrong with a configuration, in one message.

    Attributes:
        errors: what is wrong, in the order of the message.
        warnings: what else is to be known.
    """

    def __init__(self, errors: Sequence[ConfigDiagnostic], warnings: Sequence[ConfigDiagnostic] = ()) -> None:
        self.errors = ordered(errors)
        self.warnings = ordered(warnings)
        count = len(self.errors)
        head = "the configuration has an error" if count == 1 else f"the configuration has {count} errors"
        super().__init__("\n  ".join([f"{head}:", *map(str, self.errors)]), hint=_migrate(self.errors))

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (self.errors, self.warnings))


def _migrate(diagnostics: Iterable[ConfigDiagnostic]) -> str | None:
    """The command that rewrites a file with keys of an older verl."""
    files = [d.file for d in diagnostics if d.code == "dead-key" and d.file]
    return f"rewardkit config migrate {files[0]} --out NEW.yaml writes it anew for today's verl" if files else None


def raise_errors(diagnostics: Iterable[ConfigDiagnostic]) -> tuple[ConfigDiagnostic, ...]:
    """The diagnostics, each once, if all are warnings.

    Raises:
        ConfigErrors: at least one is an error.
    """
    unique = ordered(dict.fromkeys(diagnostics))
    wrong = errors(unique)
    if wrong:
        raise ConfigErrors(wrong, unique[len(wrong) :])
    return unique
