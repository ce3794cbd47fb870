"""Plain data as JSON text: what goes to a program and what comes back from one.

Numbers that JSON has, text, None, true, false and lists stand for themselves; an object is one key that names a type.
Whatever the text says, :func:`unpack` builds only values of the types that are named here: nothing is imported,
called or looked up.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Hashable
from typing import Any, Final

MOST_NESTED: Final = 64
"""Containers within containers; Python's own stack allows some hundreds more."""
_MOST_SAME_HASH: Final = 64
"""A set of n elements of one hash takes n * n steps to build, and integers of one hash are easily made."""
_DIGITS_BITS: Final = 4_000
"""Longer integers travel as hexadecimal digits, which take no quadratic time."""


class NotPlain(TypeError):
    """A value, or a text, that is not plain data."""


def pack(value: Any, depth: int = 0) -> Any:
    """What JSON can carry, for a value. A subclass loses what it adds: a Counter is a dict, a named tuple a tuple.

    Raises:
        NotPlain: there is something else in it, or it is nested too deeply.
    """
    if value is None or value is True or value is False:
        return value
    if depth > MOST_NESTED:
        raise NotPlain(f"nested more than {MOST_NESTED} levels deep")
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        integer = int.__index__(value)
        return integer if integer.bit_length() <= _DIGITS_BITS else {"i": hex(integer)}
    if isinstance(value, float):
        return float.__float__(value)
    if isinstance(value, list):
        return [pack(element, depth + 1) for element in list.__iter__(value)]
    if isinstance(value, tuple):
        return {"t": [pack(element, depth + 1) for element in tuple.__iter__(value)]}
    if isinstance(value, dict):
        return {"d": [[pack(k, depth + 1), pack(v, depth + 1)] for k, v in dict.items(value)]}
    if isinstance(value, set):
        return {"s": [pack(element, depth + 1) for element in set.__iter__(value)]}
    if isinstance(value, frozenset):
        return {"f": [pack(element, depth + 1) for element in frozenset.__iter__(value)]}
    if isinstance(value, (bytes, bytearray)):
        return {"b": value.decode("latin-1")}
    if isinstance(value, complex):
        return {"c": [value.real, value.imag]}
    if hasattr(type(value), "tolist"):  # an array, or a number out of one
        return pack(value.tolist(), depth + 1)
    raise NotPlain(f"a {type(value).__name__}, which is not plain data")


def unpack(tree: Any, depth: int = 0) -> Any:
    """The value that JSON data stands for.

    Raises:
        NotPlain: it stands for none.
    """
    if depth > 3 * MOST_NESTED + 3:  # a dict in a dict is three lists further down
        raise NotPlain("nested too deeply")
    if isinstance(tree, list):
        return [unpack(element, depth + 1) for element in tree]
    if not isinstance(tree, dict):
        return tree
    if len(tree) != 1:
        raise NotPlain("an object with other than one key")
    ((kind, content),) = tree.items()
    if kind not in _TYPES:
        raise NotPlain("an object of unknown type")
    try:
        return _TYPES[kind](content if kind in "ib" else unpack(content, depth + 1))
    except (TypeError, ValueError, AttributeError, OverflowError, RecursionError) as e:
        raise NotPlain(f"no value of its type: {e}") from None


def _set(elements: Any) -> set[Any]:
    return set(_spread(elements))


def _frozenset(elements: Any) -> frozenset[Any]:
    return frozenset(_spread(elements))


def _dict(pairs: Any) -> dict[Any, Any]:
    _spread([key for key, _ in pairs])
    return {key: value for key, value in pairs}  # noqa: C416  # dict() would take a pair of two characters


def _spread(elements: list[Hashable]) -> list[Hashable]:
    """The elements, if they can be put into a set in a time that grows as their number does."""
    if not isinstance(elements, list):
        raise NotPlain("elements that are no list")
    if len(elements) > _MOST_SAME_HASH and max(Counter(map(hash, elements)).values()) > _MOST_SAME_HASH:
        raise NotPlain("a set or dict of keys that all have the same hash")
    return elements


def _tuple(elements: Any) -> tuple[Any, ...]:
    if not isinstance(elements, list):
        raise NotPlain("elements that are no list")
    return tuple(elements)


def _complex(parts: Any) -> complex:
    real, imaginary = parts
    return complex(float(real), float(imaginary))


_TYPES: Final[dict[str, Callable[[Any], Any]]] = {
    "t": _tuple,
    "d": _dict,
    "s": _set,
    "f": _frozenset,
    "i": lambda digits: int(digits, 16),
    "b": lambda text: text.encode("latin-1"),
    "c": _complex,
}


def dumps(tree: Any) -> bytes:
    """JSON text in ASCII, so that any string survives."""
    return json.dumps(tree).encode()


def loads(text: bytes) -> Any:
    """What JSON text says.

    Raises:
        NotPlain: it is no JSON, or nested too deeply.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as e:
        raise NotPlain(f"no JSON: {e}") from None
