"""JSON as its standard has it, within limits that stand before the parser."""

from __future__ import annotations

import json
from typing import Any, Final, NoReturn

import regex

MAX_CHARS: Final = 100_000
"""Longest text that is parsed: an object that a model is asked for has a hundredth of it."""
MAX_VALUES: Final = 10_000
"""Most values in one text: checking a schema looks at each of them, slowly."""
MAX_DEPTH: Final = 64
"""Deepest nesting. Schemas in use stay under ten."""
MAX_DIGITS: Final = 1000
"""Longest number; Python refuses to read 4,301 digits."""

_STRUCTURE: Final = regex.compile(r'"(?:[^"\\]++|\\.)*+"|[\[{]|[\]}]')


class OverLimit(Exception):
    """The text is over one of the limits above."""


def read_json(text: str) -> Any:
    """The value that a JSON text says.

    Raises:
        OverLimit: too long, too deep, too many values, or a number of too many digits.
        ValueError: no JSON by RFC 8259; ``NaN`` and ``Infinity`` are none, which Python's own reader takes.
    """
    _refuse_large(text)
    value = json.loads(text, parse_constant=_no_constant, parse_int=_integer)
    if text.count(",") > MAX_VALUES and _values(value) > MAX_VALUES:
        raise OverLimit(f"more than {MAX_VALUES} values")
    return value


def read_json_sequence(text: str, most: int) -> list[Any]:
    """The values of at most so many JSON texts that follow one another, with blanks or a semicolon between them.

    Raises:
        OverLimit, ValueError: as :func:`read_json`.
    """
    _refuse_large(text)
    values: list[Any] = []
    at = _BETWEEN.match(text).end()
    while at < len(text):
        value, at = _DECODER.raw_decode(text, at)
        values.append(value)
        if len(values) > most:
            raise OverLimit(f"more than {most} values one after another")
        at = _BETWEEN.match(text, at).end()
    if text.count(",") > MAX_VALUES and _values(values) > MAX_VALUES:
        raise OverLimit(f"more than {MAX_VALUES} values")
    return values


def _refuse_large(text: str) -> None:
    if len(text) > MAX_CHARS:
        raise OverLimit(f"more than {MAX_CHARS} characters")
    if text.count("[") + text.count("{") > MAX_DEPTH and _depth(text) > MAX_DEPTH:
        raise OverLimit(f"more than {MAX_DEPTH} levels")


def _values(value: Any) -> int:
    children = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(map(_values, children))


def _depth(text: str) -> int:
    deepest = depth = 0
    for match in _STRUCTURE.finditer(text):
        mark = match[0]
        if mark in ("[", "{"):
            depth += 1
            if depth > MAX_DEPTH:
                return depth
            deepest = max(deepest, depth)
        elif mark in ("]", "}"):
            depth -= 1
    return deepest


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise OverLimit(f"a number of more than {MAX_DIGITS} digits")
    return int(digits)


_DECODER: Final = json.JSONDecoder(parse_constant=_no_constant, parse_int=_integer)
_BETWEEN: Final = regex.compile(r"[\s;]*+")
