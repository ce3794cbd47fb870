"""What a migration did, key by key."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal

Kind = Literal["mended", "renamed", "changed", "dropped", "added", "kept"]
KINDS: Final[tuple[Kind, ...]] = ("mended", "renamed", "changed", "dropped", "added", "kept")


@dataclass(frozen=True, slots=True)
class Change:
    """What became of one key.

    Attributes:
        kind: kept as it was; renamed, its value kept or converted; changed, another value under the same key;
            dropped; added; mended, text that was not YAML.
        key: the dotted key, the old one where it was renamed.
        line: its line in the old file; None for a key that was added.
        why: the reason; empty for a key that was kept.
        to: the new key of a renamed one.
        value: what stands there now, where that is new.
    """

    kind: Kind
    key: str
    line: int | None
    why: str = ""
    to: str | None = None
    value: Any = None

    def __str__(self) -> str:
        line = "" if self.line is None else f" (line {self.line})"
        to = "" if self.to is None else f" -> {self.to}"
        new = f": {_shown(self.value)}" if self.kind in ("added", "changed") else ""
        return f"{self.kind:<8} {self.key}{line}{to}{new}{f'; {self.why}' if self.why else ''}"


@dataclass(frozen=True)
class Report:
    """A migrated file.

    Attributes:
        text: the new file.
        changes: in the order of the old file; what was added comes last.
        notes: what the user has to know beside.
        groups: config groups that a run of the new file has to be given.
    """

    text: str
    changes: tuple[Change, ...]
    notes: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()

    def of(self, kind: Kind) -> list[Change]:
        """The changes of one kind."""
        return [c for c in self.changes if c.kind == kind]

    def counts(self) -> dict[str, int]:
        """How many keys of each kind."""
        return {kind: len(self.of(kind)) for kind in KINDS}

    def lines(self) -> Iterator[str]:
        """The report for a reader: every change, then the keys that were kept."""
        yield from (str(c) for c in self.changes if c.kind != "kept")
        kept = self.of("kept")
        if kept:
            yield f"{'kept':<8} {len(kept)} keys: {', '.join(_short(c.key for c in kept))}"
        yield from (f"note     {note}" for note in self.notes)


def _short(keys: Iterable[str]) -> Iterator[str]:
    """Each key without the section that the key before it stands in too."""
    before = ""
    for key in keys:
        section = key.rpartition(".")[0]
        yield f".{key.rpartition('.')[2]}" if section and section == before else key
        before = section


def _shown(value: Any) -> str:
    from trainer_glue.verl.config.migration.edits import scalar

    return scalar(value)
