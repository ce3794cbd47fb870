"""What the user wrote: a recipe or file, and `key=value` arguments over it; and where each key was written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from trainer_glue.verl.config.diagnostics import ConfigDiagnostic
from trainer_glue.verl.config.keys import check_key, check_keys
from trainer_glue.verl.config.overrides import COMMAND_LINE, Override
from trainer_glue.verl.config.schema import Key
from trainer_glue.verl.config.yaml_file import YamlFile

SECTION: Final = "rewardkit"
"""The section of a config file that is rewardkit's own; verl never sees it."""

_TEXT: Final = Key(frozenset({"str", "none"}))
OWN: Final = Key(children={SECTION: Key(children={"reward": _TEXT, "chat_template": _TEXT, "assets": _TEXT})})
"""The schema of that section."""


@dataclass(frozen=True)
class Written:
    """A file's content and the overrides over it.

    Attributes:
        file: the recipe or the user's file.
        recipe: the recipe's name, or None for a user's file.
        overrides: the arguments, in order.
    """

    file: YamlFile
    recipe: str | None = None
    overrides: tuple[Override, ...] = ()
    _by_key: dict[str, Override] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_by_key", {o.key: o for o in self.overrides})

    @property
    def name(self) -> str:
        """The recipe's name, or the stem of the user's file."""
        return self.recipe or self.file.path.stem

    @property
    def theirs(self) -> dict[str, Any]:
        """What the file says to verl."""
        return {k: v for k, v in self.file.data.items() if k not in (SECTION, "hydra", "defaults")}

    @property
    def verl_overrides(self) -> tuple[Override, ...]:
        """The overrides of verl's keys."""
        return tuple(o for o in self.overrides if not o.key.startswith(f"{SECTION}."))

    @property
    def groups(self) -> tuple[str, ...]:
        """The overrides that choose a config group of verl's."""
        return tuple(o.text for o in self.overrides if o.action == "group")

    def own(self) -> tuple[dict[str, Any], list[ConfigDiagnostic]]:
        """The section that is rewardkit's own, overrides in it, without the keys that a diagnostic is about."""
        section = self.file.data.get(SECTION)
        diagnostics = check_keys({SECTION: section}, OWN, self.where) if section is not None else []
        own = dict(section) if isinstance(section, Mapping) else {}
        for o in self.overrides:
            if o.key.startswith(f"{SECTION}."):
                diagnostics += check_key(o.key, o.value, OWN, self.where)
                own[o.key.removeprefix(f"{SECTION}.")] = o.value
        wrong = {f.key for f in diagnostics}
        return {k: v for k, v in own.items() if f"{SECTION}.{k}" not in wrong}, diagnostics

    def defaults_list(self) -> list[ConfigDiagnostic]:
        """Entries of a hydra defaults list that would be followed by hydra and are not here."""
        entries = self.file.data.get("defaults")
        followed = [e for e in entries or [] if e not in ("ppo_trainer", "_self_") and "hydra/" not in str(e)]
        hint = "choose config groups on the command line, such as model_engine=megatron"
        return [
            ConfigDiagnostic(
                "defaults", f"{e!r} is not followed: only ppo_trainer is", self.where("defaults"), hint, key="defaults"
            )
            for e in followed
        ]

    def is_set(self, key: str) -> bool:
        """Whether the user, or the recipe, wrote exactly this key."""
        return key in self._by_key or key in self.file.lines

    def keys_below(self, key: str) -> Iterator[str]:
        """The keys that were written, this one or below it, without sections."""
        for path in dict.fromkeys((*self.file.lines, *self._by_key)):
            if (path == key or path.startswith(f"{key}.")) and not isinstance(self.value(path), Mapping):
                yield path

    def on_command_line(self, key: str) -> bool:
        """Whether an override sets exactly this key."""
        return key in self._by_key

    def value(self, key: str) -> Any:
        """What was written for a key; None when nothing was."""
        return self._by_key[key].value if key in self._by_key else dig(self.file.data, key)

    def interpolations(self) -> Iterator[str]:
        """The keys whose written value refers to others."""
        for key in (*self._by_key, *self.file.lines):
            if isinstance(value := self.value(key), str) and "${" in value:
                yield key

    def where(self, key: str) -> str:
        """Where a key was written, by itself or as a part of an override; empty for a default."""
        if key in self._by_key or key not in self.file.lines:
            above = key
            while above and above not in self._by_key:
                above = above.rpartition(".")[0]
            return f"{COMMAND_LINE}: {self._by_key[above].text}" if above else ""
        return f"recipe {self.recipe}:{self.file.lines[key]}" if self.recipe else self.file.where(key)


def dig(data: Any, path: str) -> Any:
    """The value at a dotted path of nested mappings; None when there is none."""
    for name in path.split("."):
        data = data.get(name) if isinstance(data, Mapping) else None
    return data


def put(data: dict[str, Any], path: str, value: Any) -> None:
    """Set a dotted path of nested mappings; sections are made on the way."""
    *sections, name = path.split(".")
    for section in sections:
        below = data.get(section)
        if not isinstance(below, dict):
            below = data[section] = {}
        data = below
    data[name] = value


def drop(data: dict[str, Any], path: str) -> None:
    """Remove a dotted path of nested mappings, if it is there."""
    parent, _, name = path.rpartition(".")
    section = dig(data, parent) if parent else data
    if isinstance(section, dict):
        section.pop(name, None)


def merge(below: dict[str, Any], above: Mapping[str, Any]) -> None:
    """Lay nested mappings over others: sections are merged, all else is replaced."""
    for name, value in above.items():
        if isinstance(value, Mapping):
            section = below.get(name)
            if not isinstance(section, dict):
                section = below[name] = {}
            merge(section, value)
        else:
            below[name] = value


def without(data: Mapping[str, Any], keys: frozenset[str], prefix: str = "") -> dict[str, Any]:
    """A copy of nested mappings without some dotted keys."""
    return {
        k: without(v, keys, f"{prefix}{k}.") if isinstance(v, Mapping) else v
        for k, v in data.items()
        if f"{prefix}{k}" not in keys
    }
