"""One exception tree. Every message says what came, what was expected, and the likely fix.

Whatever a user can cause by bad input is a :class:`RewardKitError`; anything else that escapes is a bug in
rewardkit. The command line turns a :class:`RewardKitError` into one message on standard error and exit code 2.
"""

from __future__ import annotations

import difflib
import errno
from collections.abc import Iterable
from typing import ClassVar, Final


class RewardKitError(Exception):
    """Base of everything that rewardkit raises on purpose."""

    code: ClassVar[str] = "error"

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message if hint is None else f"{message}\n  hint: {hint}")
        self.message = message
        self.hint = hint

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), self.message, self.hint))


def _rebuild(cls: type[RewardKitError], message: str, hint: str | None) -> RewardKitError:
    """Unpickle an error that crossed a process boundary."""
    return cls(message, hint=hint)


class FormulaError(RewardKitError):
    """A formula that can't be built: the base of the errors raised while a user composes or parses one."""

    code = "formula"


class ParseError(FormulaError):
    """A formula's text or JSON that isn't one."""

    code = "parse"


class KindError(FormulaError, TypeError):
    """An operator or function got the wrong kind of node, such as a condition where a reward is wanted."""

    code = "kind"


class ParameterError(FormulaError, ValueError):
    """A term or operator got a parameter that is missing, unknown or out of range."""

    code = "parameter"


class UnknownNameError(FormulaError):
    """A name that is in no vocabulary."""

    code = "unknown-name"


class CompileError(RewardKitError):
    """A well-formed formula that this trainer or batch can't carry."""

    code = "compile"


class UnscoredError(RewardKitError):
    """Too large a share of a batch could not be scored, for reasons the policy did not cause."""

    code = "unscored"


class DataError(RewardKitError):
    """A data file or a batch that is missing, malformed, or lacks a column."""

    code = "data"


class ConfigError(RewardKitError):
    """A configuration that would not run, or not mean what it says."""

    code = "config"


class MissingDependencyError(RewardKitError, ImportError):
    """An optional package is needed and absent, or present in a version that was not tested."""

    code = "dependency"


class CheckpointError(RewardKitError):
    """A checkpoint that is incomplete, inconsistent or unsafe to read."""

    code = "checkpoint"


class RunError(RewardKitError):
    """A training run that started and did not finish."""

    code = "run"


class BadRow(ValueError):
    """Why a row is not usable, in words that follow `FILE:LINE:`. Who reads the file makes a DataError of it."""


MAX_INTEGER: Final = 1 << 1023
"""A larger integer has no float near it, and Python doesn't print those of over 4,300 digits."""


_NO_ROOM: Final = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EFBIG: "the file size limit is reached",
}


def no_room(error: OSError) -> str | None:
    """What an error says where it is that nothing more can be written. None for any other."""
    return _NO_ROOM.get(error.errno or 0)


def shown(value: object) -> str:
    """A value for a message."""
    if isinstance(value, int) and abs(value) >= MAX_INTEGER:
        return f"an integer of about {value.bit_length() * 0.30103:,.0f} digits"
    try:
        return repr(value)
    except ValueError:  # such an integer is in it
        return f"a {type(value).__name__} with an integer of thousands of digits"


_LISTED: Final = 20


def listed(names: Iterable[object]) -> str:
    """Fields for a message: the first twenty, and how many more there are."""
    known = [f"`{name}`" for name in names]
    more = f" and {len(known) - _LISTED:,} more" if len(known) > _LISTED else ""
    return ", ".join(known[:_LISTED]) + more or "none"


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    """A ready hint for an unknown name, or None when nothing comes near."""
    close = difflib.get_close_matches(name, list(known), n=3, cutoff=0.6)
    if not close:
        return None
    return "did you mean " + " or ".join(repr(c) for c in close) + "?"
