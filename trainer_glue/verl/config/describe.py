"""`rewardkit config schema`: everything that is known of a key before it is set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from rewardkit.errors import ConfigError
from trainer_glue.verl.config.comments import verl_comments
from trainer_glue.verl.config.compose import composed
from trainer_glue.verl.config.dead_keys import dead_key
from trainer_glue.verl.config.keys import in_words, suggest
from trainer_glue.verl.config.overrides import full_key
from trainer_glue.verl.config.schema import Key
from trainer_glue.verl.config.settings import SETTINGS, Setting
from trainer_glue.verl.config.written import OWN, SECTION, dig
from trainer_glue.verl.versions.installed import find_verl


@dataclass(frozen=True)
class Description:
    """A key of the config.

    Attributes:
        key: the dotted key.
        types: what may stand there, in words.
        default: verl's own value; a text with `${...}` follows another key.
        about: what it means, in rewardkit's words; empty for a key that is not among the settings.
        expected: the values that make sense, in words.
        verl: what verl's file says above it.
        below: the keys below, for a section.
    """

    key: str
    types: str
    default: Any
    about: str = ""
    expected: str = ""
    verl: str = ""
    below: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self)


def describe_settings() -> list[Description]:
    """Every key that users set.

    Raises:
        MissingDependencyError: verl is not installed.
    """
    return list(_described(*_installed()))


def describe(field: str) -> Description:
    """One key: a setting, or any key of verl's.

    Args:
        field: the dotted key; `model.path` stands for `actor_rollout_ref.model.path`, as on the command line.

    Raises:
        ConfigError: there is no such key, or none any more.
        MissingDependencyError: verl is not installed.
    """
    key = full_key(field.strip())
    defaults, schema, comments = _installed()
    described = OWN.find(key) if key.partition(".")[0] == SECTION else schema.find(key)
    dead = dead_key(key, "set", schema)
    if dead is not None and (described is None or dead.severity == "error"):
        raise ConfigError(f"{key} {dead.message}", hint=dead.hint)
    if described is None:
        hint = suggest(key, schema) or "rewardkit config schema lists what users set"
        raise ConfigError(f"verl has no key {key}", hint=hint)
    return _description(key, described, defaults, comments)


def _installed() -> tuple[dict[str, Any], Key, Mapping[str, str]]:
    verl = find_verl()
    return (*composed(verl), verl_comments(verl))


def _described(defaults: dict[str, Any], schema: Key, comments: Mapping[str, str]) -> Iterator[Description]:
    for key in SETTINGS:
        described = OWN.find(key) if key.startswith(f"{SECTION}.") else schema.find(key)
        if described is not None:
            yield _description(key, described, defaults, comments)


def _description(key: str, described: Key, defaults: Mapping[str, Any], comments: Mapping[str, str]) -> Description:
    setting = SETTINGS.get(key, Setting(key, ""))
    below = tuple(name for name in described.children if name != "_target_")
    return Description(
        key=key,
        types="a section" if below else in_words(described),
        default=setting.default if key.startswith(f"{SECTION}.") else None if below else dig(defaults, key),
        about=setting.about,
        expected=setting.expected,
        verl=comments.get(key, ""),
        below=below,
    )
