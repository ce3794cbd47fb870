"""The three shapes in which data sets write a row's instructions, made checks."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from rewardkit.errors import did_you_mean
from rewardkit.terms.instructions.arguments import Arguments, listed
from rewardkit.terms.instructions.ifeval import IFEVAL, Check
from rewardkit.terms.instructions.rlvr import RLVR
from rewardkit.terms.strict_json import MAX_CHARS, OverLimit, read_json

_KNOWN: Final = {**IFEVAL, **RLVR}
_IDS: Final = ("instruction_id_list", "instruction_id")


def checks_of(ground_truth: Any) -> Sequence[Check]:
    """The checks that a ground truth asks for, at least one.

    Args:
        ground_truth: a mapping, or its text as JSON or as Python's literal, or a list of these:
            ``{"instruction_id_list": [...], "kwargs": [...]}`` (IF-Eval), the same under ``instruction_id``
            (IF_multi_constraints), or ``{"func_name": ..., "N": ...}`` (RLVR-IFeval).

    Raises:
        ValueError: another shape, an unknown instruction, or an argument that is missing.
    """
    return _from_text(ground_truth) if isinstance(ground_truth, str) else _checks(ground_truth)


@lru_cache(maxsize=4096)
def _from_text(text: str) -> Sequence[Check]:
    return _checks(_value(text))


def _value(text: str) -> Any:
    if len(text) > MAX_CHARS:
        raise ValueError(f"a text of more than {MAX_CHARS} characters")
    try:
        return read_json(text)
    except OverLimit as limit:
        raise ValueError(str(limit)) from None
    except ValueError:
        pass
    try:
        return ast.literal_eval(text)  # IF_multi_constraints has Python's None and quotes
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        raise ValueError(f"{text!r:.60} is neither JSON nor a literal of Python") from None


def _checks(value: Any) -> Sequence[Check]:
    value = listed(value)
    if isinstance(value, list | tuple):
        return [check for entry in value for check in checks_of(entry)] or _none()
    if not isinstance(value, Mapping):
        raise ValueError(f"{value!r:.60} is no mapping of instructions")
    if isinstance(name := value.get("func_name"), str):
        return [_check(name, {key: entry for key, entry in value.items() if key != "func_name"})]
    ids, given = (
        listed(next((value[key] for key in _IDS if value.get(key) is not None), None)),
        listed(value.get("kwargs")),
    )
    ids = [ids] if isinstance(ids, str) else ids
    if not isinstance(ids, list | tuple) or not ids:
        return _none()
    given = [None] * len(ids) if given is None else [given] if isinstance(given, Mapping) else given
    if len(given) != len(ids):
        raise ValueError(f"{len(ids)} instructions and {len(given)} kwargs")
    return [_check(name, arguments or {}) for name, arguments in zip(ids, given, strict=True)]


def _none() -> Sequence[Check]:
    raise ValueError("no instructions: expected instruction_id_list, instruction_id or func_name")


def _check(name: Any, arguments: Any) -> Check:
    make = _KNOWN.get(name) if isinstance(name, str) else None
    if make is None:
        raise ValueError(f"unknown instruction {name!r:.60}; {did_you_mean(str(name), _KNOWN) or 'see follows()'}")
    if not isinstance(arguments, Mapping):
        raise ValueError(f"{name}: its kwargs are a {type(arguments).__name__}; expected a mapping")
    return make(Arguments(name, {key: value for key, value in arguments.items() if value is not None}))
