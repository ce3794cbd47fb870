"""Whether a key, or a value, is one of an older verl's: the table of `versions.keys`, looked up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from rewardkit.diagnostics import Severity
from trainer_glue.verl.config.schema import Key
from trainer_glue.verl.versions.keys import MOVED, OLD_VALUES, Moved, OldValue

_MOVED: Final[Mapping[str, Moved]] = {m.old: m for m in MOVED}
_VALUES: Final[Mapping[tuple[str, str], OldValue]] = {(v.key, v.value): v for v in OLD_VALUES}


@dataclass(frozen=True, slots=True)
class DeadKey:
    """Why a key does nothing any more, and what to write. A warning where verl still reads it."""

    message: str
    hint: str
    severity: Severity = Severity.ERROR


def dead_key(path: str, value: Any, schema: Key) -> DeadKey | None:
    """What to say of a key that older versions of verl had, or None.

    Args:
        path: the dotted key.
        value: what it is set to. A null leaves verl's own default in place, where verl has the key.
        schema: the root of the schema of the installed verl.
    """
    old = old_value(path, value)
    if old is not None:
        return DeadKey(f"is {old.value!r}, {old.why}", f"set {old.new}" if old.new else "leave it out")
    moved = moved_key(path, schema)
    if moved is None:
        return None
    known = schema.find(path)
    if known is not None:
        if value is None or _all_null(value):
            return None
        if isinstance(value, Mapping) and known.children:
            return None  # its own keys are reported, each with its line
    hint = moved.hint
    if not hint:
        new = new_place(moved, path, schema)
        hint = f"set {new}" if new else "leave it out"
    return DeadKey(moved.why, hint, moved.severity)


def moved_key(path: str, schema: Key) -> Moved | None:
    """The entry of the table that covers a key, where the schema doesn't know the key or verl ignores it."""
    above = path
    while above:
        moved = _MOVED.get(above)
        if moved is not None:
            return moved if moved.ignored or schema.find(path) is None else None
        above = above.rpartition(".")[0]
    return None


def new_place(moved: Moved, path: str, schema: Key) -> str | None:
    """Where the value of a dead key belongs in this schema; None for nowhere."""
    rest = path.removeprefix(moved.old)
    places = [f"{new}{rest}" for new in moved.new]
    return next((p for p in places if schema.find(p) is not None), None)


def old_value(path: str, value: Any) -> OldValue | None:
    """The entry for a value that verl no longer takes."""
    return _VALUES.get((path, value)) if isinstance(value, str) else None


def _all_null(value: Any) -> bool:
    """True for a section in which nothing is set, such as the legacy sections of verl's own default config."""
    return isinstance(value, Mapping) and all(v is None or _all_null(v) for v in value.values())
