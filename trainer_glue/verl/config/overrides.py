"""`key=value` arguments of the command line, in hydra's grammar, plus short names for the keys that are set most.

`model.path=...` is `actor_rollout_ref.model.path=...`; the same for `actor`, `rollout` and `ref`. A formula and a chat
template are taken as they are: hydra's grammar would want them quoted twice.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from trainer_glue.verl.config.diagnostics import ConfigDiagnostic

COMMAND_LINE: Final = "command line"
_SHORT: Final = ("model", "actor", "rollout", "ref")
_VERBATIM: Final = ("rewardkit.reward", "actor_rollout_ref.model.custom_chat_template")


@dataclass(frozen=True, slots=True)
class Override:
    """One parsed override.

    Attributes:
        text: as the user wrote it.
        key: the full dotted key, or a config group's.
        value: what it sets; None for a deletion.
        action: set a known key, add a new one (`+key`, `++key`), delete one (`~key`), or choose a config group.
    """

    text: str
    key: str
    value: Any
    action: Literal["set", "add", "delete", "group"]


def parse_overrides(texts: Sequence[str], config_folder: Path) -> tuple[list[Override], list[ConfigDiagnostic]]:
    """Overrides in order, and a diagnostic for each that isn't one.

    Args:
        texts: such as ``trainer.total_epochs=3``.
        config_folder: verl's config folder, whose sub-folders are the config groups.
    """
    parsed: list[Override] = []
    diagnostics: list[ConfigDiagnostic] = []
    for text in texts:
        try:
            parsed.append(_parse(text, config_folder))
        except ValueError as e:
            diagnostics.append(
                ConfigDiagnostic("bad-override", str(e), f"{COMMAND_LINE}: {text}", key=text.partition("=")[0].strip())
            )
    return parsed, diagnostics


def full_key(key: str) -> str:
    """The key that a short one stands for: ``model.path`` is ``actor_rollout_ref.model.path``."""
    return f"actor_rollout_ref.{key}" if key.partition(".")[0] in _SHORT and "." in key else key


def _parse(text: str, config_folder: Path) -> Override:
    name, equals, raw = text.partition("=")
    bare = name.strip().lstrip("+~")
    if not equals and not name.startswith("~"):
        raise ValueError("is neither key=value nor ~key")
    if full_key(bare) in _VERBATIM:
        return Override(text, full_key(bare), _unquoted(raw), "set")
    from hydra.errors import HydraException

    try:
        override = _parser().parse_override(text)
    except HydraException as e:
        detail = str(e).splitlines()[0]
        raise ValueError(f"can't be read ({detail}); put the value in quotes: {name}='\"...\"'") from None
    if override.is_sweep_override():
        raise ValueError("gives several values; expected one: a list is written [a,b]")
    key = override.key_or_group
    if "@" in text.partition("=")[0] or ((config_folder / key).is_dir() and not isinstance(override.value(), dict)):
        return Override(text, key, override.value(), "group")
    action: Literal["set", "add", "delete"] = "set"
    if override.is_delete():
        action = "delete"
    elif override.is_add() or override.is_force_add():
        action = "add"
    return Override(text, full_key(key), None if action == "delete" else _plain(override.value()), action)


@functools.cache
def _parser() -> Any:
    from hydra.core.override_parser.overrides_parser import OverridesParser

    return OverridesParser.create()


def _plain(value: Any) -> Any:
    """The parser's quoted strings and nested values as plain data."""
    from hydra.core.override_parser.types import QuotedString

    if isinstance(value, QuotedString):
        return value.text
    if isinstance(value, list):
        return [_plain(v) for v in value]
    if isinstance(value, dict):
        return {str(_plain(k)): _plain(v) for k, v in value.items()}
    return value


def _unquoted(text: str) -> str:
    stripped = text.strip()
    for quote in "'\"":
        if (
            len(stripped) > 1
            and stripped.startswith(quote)
            and stripped.endswith(quote)
            and quote not in stripped[1:-1]
        ):
            return stripped[1:-1]
    return stripped
