"""Checks of what the user wrote against the schema: unknown keys, wrong types, keys of older verl versions."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from trainer_glue.verl.config.dead_keys import DeadKey, dead_key
from trainer_glue.verl.config.diagnostics import ConfigDiagnostic
from trainer_glue.verl.config.schema import Key

Where = Callable[[str], str]
"""From a dotted key to where the user wrote it."""

_COMMON: Final = 8
"""A name that stands in more places than this, such as `path` or `enable`, says nothing about which was meant."""
_SECONDARY: Final = ("critic.", "distillation.", "reward.", "actor_rollout_ref.ref.")
"""Sections whose keys repeat those of the actor, the rollout and the model, which users set first."""
_WORDS: Final[Mapping[str, str]] = {
    "bool": "true or false",
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "list": "a list",
    "dict": "a section",
    "none": "null",
}


def check_keys(data: Mapping[str, Any], schema: Key, where: Where) -> list[ConfigDiagnostic]:
    """Every key of a user's mapping that verl doesn't know, no longer reads, or would not accept the value of."""
    return list(_check(data, schema, schema, "", where))


def check_key(path: str, value: object, schema: Key, where: Where, *, new: bool = False) -> list[ConfigDiagnostic]:
    """The same for one dotted key, such as an override's.

    Args:
        path: the dotted key.
        value: what it is set to.
        schema: the root of the schema.
        where: where the user wrote it.
        new: hydra's ``+key``: a key that may be unknown where verl ignores what it doesn't know.
    """
    dead = dead_key(path, value, schema)
    if dead is not None:
        return [_dead(path, value, dead, where)]
    parent, _, name = path.rpartition(".")
    section = schema.find(parent) if parent else schema
    if section is None or not (section.is_section or section.open):
        return [] if new and section is None else [_unknown(path, value, schema, where)]
    key = section.children.get(name)
    if key is None:
        if section.open or (new and "_target_" not in section.children):
            return []
        return [_unknown(path, value, schema, where)]
    if isinstance(value, Mapping) and key.is_section:
        return list(_check(value, key, schema, f"{path}.", where))
    return list(_check_value(path, value, key, where))


def _check(data: Mapping[str, Any], section: Key, root: Key, prefix: str, where: Where) -> Iterator[ConfigDiagnostic]:
    for name, value in data.items():
        path = f"{prefix}{name}"
        key = section.children.get(name)
        dead = dead_key(path, value, root)
        if dead is not None:
            yield _dead(path, value, dead, where)
        elif key is None:
            if not section.open:
                yield _unknown(path, value, root, where)
            elif section.children and (close := difflib.get_close_matches(name, section.children, n=1, cutoff=0.85)):
                message = f"is not one of the keys known here; {prefix}{close[0]} is"
                yield ConfigDiagnostic("near-miss", message, where(path), key=path)
        elif isinstance(value, Mapping) and key.is_section:
            yield from _check(value, key, root, f"{path}.", where)
        else:
            yield from _check_value(path, value, key, where)


def _check_value(path: str, value: object, key: Key, where: Where) -> Iterator[ConfigDiagnostic]:
    if _fits(value, key):
        return
    expected, hint = in_words(key), None
    if isinstance(value, str) and key.types & {"bool", "int", "float"}:
        hint = "without the quotes" if _reads_as(value, key) else None
    elif value is None and key.is_section:
        hint = "leave the section out; a section can't be switched off by null"
    message = f"is {_shown(value)}; expected {expected}"
    yield ConfigDiagnostic("wrong-type", message, where(path), hint, key=path, value=_shown(value), expected=expected)


def _fits(value: object, key: Key) -> bool:
    types = key.types
    if "any" in types or (isinstance(value, str) and "${" in value):
        return True
    match value:
        case None:
            return "none" in types
        case bool():
            return "bool" in types
        case int():
            return bool(types & {"int", "float"})
        case float():
            return "float" in types
        case str():
            return "str" in types
        case list() | tuple():
            return "list" in types
        case Mapping():
            return "dict" in types
        case _:
            return False


def in_words(key: Key) -> str:
    """What may stand at a key: `a number or null`."""
    if "any" in key.types:
        return "anything"
    return " or ".join(_WORDS.get(t, "a section" if t.endswith("Config") else t) for t in sorted(key.types))


def _reads_as(text: str, key: Key) -> bool:
    lowered = text.strip().lower()
    if "bool" in key.types and lowered in {"true", "false"}:
        return True
    try:
        float(lowered)
    except ValueError:
        return False
    return bool(key.types & {"int", "float"})


def _shown(value: object) -> str:
    if isinstance(value, Mapping):
        return "a section"
    text = {None: "null", True: "true", False: "false"}.get(value) if value is None or isinstance(value, bool) else None
    text = text or repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _unknown(path: str, value: object, schema: Key, where: Where) -> ConfigDiagnostic:
    hint = suggest(path, schema)
    return ConfigDiagnostic("unknown-key", "verl has no such key", where(path), hint, key=path, value=_shown(value))


def _dead(path: str, value: object, dead: DeadKey, where: Where) -> ConfigDiagnostic:
    return ConfigDiagnostic(
        "dead-key", dead.message, where(path), dead.hint, severity=dead.severity, key=path, value=_shown(value)
    )


def suggest(path: str, schema: Key) -> str | None:
    """The known key that was probably meant: the same name elsewhere, or a near spelling."""
    known = [p for p in schema.paths(listed=True) if not p.endswith("._target_")]
    if path in known:
        *sections, leaf = path.split(".")
        return f"nest it: {': {'.join(sections)}: {{{leaf}: ...{'}' * len(sections)}"
    parent, _, leaf = path.rpartition(".")
    siblings = [p.rpartition(".")[2] for p in known if p.rpartition(".")[0] == parent]
    elsewhere = [p for p in known if p.rpartition(".")[2] == leaf]
    if 0 < len(elsewhere) <= _COMMON:
        near = min(elsewhere, key=lambda p: (p.startswith(_SECONDARY), -_likeness(p, path), p.count(".")))
    elif spelled := difflib.get_close_matches(leaf, siblings, n=1, cutoff=0.6):
        near = f"{parent}.{spelled[0]}" if parent else spelled[0]
    elif distant := difflib.get_close_matches(path, known, n=1, cutoff=0.7):
        near = distant[0]
    else:
        return None
    return f"did you mean {near}?"


def _likeness(a: str, b: str) -> float:
    return difflib.SequenceMatcher(None, a, b).ratio()
