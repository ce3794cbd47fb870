"""What an assertion may do with plain data in this process: a part of Python's expressions, without side effects.

The data came out of a program that nobody trusts, so it is only ever of the plain types themselves, and whatever is
done with it is bounded by its size.
"""

from __future__ import annotations

import ast
import math
import operator
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Final

MAX_REPEATED: Final = 1_000_000
"""Longest text, list or range that an expression makes (entries)."""
MAX_BITS: Final = 100_000
"""Largest whole number that an expression makes."""

MAX_ONE_HASH: Final = 64
"""Most entries of a set that have one hash."""

TYPES: Final[Mapping[str, type]] = {
    t.__name__: t for t in (bool, int, float, complex, str, bytes, list, tuple, set, frozenset, dict)
}

SCALARS: Final = (type(None), bool, int, float, complex, str, bytes)


def _range(*ends: int) -> range:
    made = range(*ends)
    if len(made) > MAX_REPEATED:
        raise ValueError(f"a range of over {MAX_REPEATED:,} numbers")
    return made


def _spread(make: Callable[[Any], Any]) -> Callable[..., Any]:
    """A set or a dict, of entries that do not all have one hash: such ones take a time that grows as their square."""

    def made(entries: Any = ()) -> Any:
        if isinstance(entries, set | frozenset | dict):
            return make(entries)
        listed = list(entries)
        keys = [pair[0] for pair in listed] if make is dict else listed
        if len(keys) > MAX_ONE_HASH and max(Counter(map(hash, keys)).values()) > MAX_ONE_HASH:
            raise ValueError("entries that all have one hash")
        return make(listed)

    return made


def _power(base: Any, exponent: Any, *modulus: Any) -> Any:
    whole = isinstance(base, int) and isinstance(exponent, int) and not modulus
    if whole and base.bit_length() * max(exponent, 0) > MAX_BITS:
        raise ValueError("a power that is too large")
    return pow(base, exponent, *modulus)


def _times(one: Any, other: Any) -> Any:
    for text, count in ((one, other), (other, one)):
        repeats = isinstance(text, str | bytes | list | tuple) and isinstance(count, int)
        if repeats and len(text) * count > MAX_REPEATED:
            raise ValueError("a repetition that is too long")
    return one * other


def _remainder(one: Any, other: Any) -> Any:
    if isinstance(one, str | bytes):  # it fills in a format
        raise TypeError("formats are not filled in")
    return one % other


class Approximately:
    """What `pytest.approx` makes of a number, or of a list or dict of them, with its default tolerances."""

    def __init__(self, expected: Any, rel: float = 1e-6, abs: float = 1e-12) -> None:  # noqa: A002
        self._expected, self._relative, self._absolute = expected, rel, abs

    def __eq__(self, value: object) -> bool:
        expected = self._expected
        if isinstance(expected, list | tuple):
            same = type(value) is type(expected) and len(value) == len(expected)
            return same and all(self._each(e) == v for v, e in zip(value, expected, strict=True))  # type: ignore[call-overload]
        if isinstance(expected, dict):
            return (
                isinstance(value, dict)
                and value.keys() == expected.keys()
                and all(self._each(e) == value[key] for key, e in expected.items())
            )
        if not isinstance(value, int | float | complex) or not isinstance(expected, int | float | complex):
            return bool(value == expected)
        distance = max(self._relative * abs(expected), self._absolute)
        return bool(value == expected) or (math.isfinite(abs(expected)) and abs(value - expected) <= distance)

    __hash__ = None  # type: ignore[assignment]

    def _each(self, expected: Any) -> Approximately:
        return Approximately(expected, self._relative, self._absolute)


FUNCTIONS: Final[Mapping[str, Callable[..., Any]]] = {
    **{f.__name__: f for f in (abs, all, any, bool, divmod, isinstance, len, max, min, repr, round, sorted, sum, type)},
    **{f.__name__: f for f in (ord, chr, list, tuple, str, int, float, complex)},
    **{f.__name__: _spread(f) for f in (set, frozenset, dict)},
    "range": _range,
    "pow": _power,
    "enumerate": lambda values, start=0: list(enumerate(values, start)),
    "reversed": lambda values: list(reversed(values)),
    "zip": lambda *values: list(zip(*values, strict=False)),
}
GATHERING: Final = frozenset({"dict", "frozenset", "list", "set", "sorted", "tuple"})
"""Functions that a test calls on what may be an iterator: those of a program's result are called where it is."""
MATH: Final[Mapping[str, Any]] = {
    name: getattr(math, name)
    for name in (
        "ceil", "copysign", "cos", "e", "exp", "fabs", "floor", "fsum", "gcd", "hypot", "inf", "isclose", "isfinite",
        "isinf", "isnan", "isqrt", "log", "log10", "log2", "nan", "pi", "prod", "sin", "sqrt", "tan", "tau", "trunc",
    )
}  # fmt: skip
METHODS: Final[Mapping[type, frozenset[str]]] = {
    str: frozenset((
        "count", "endswith", "find", "index", "isalnum", "isalpha", "isdigit", "islower", "isnumeric", "isspace",
        "isupper", "join", "lower", "lstrip", "rstrip", "split", "splitlines", "startswith", "strip", "title", "upper",
    )),
    list: frozenset(("count", "index", "copy")),
    tuple: frozenset(("count", "index")),
    dict: frozenset(("get", "items", "keys", "values")),
    set: frozenset((
        "difference", "intersection", "isdisjoint", "issubset", "issuperset", "symmetric_difference", "union",
    )),
    int: frozenset(("bit_length",)),
    float: frozenset(("is_integer",)),
}  # fmt: skip


def method(value: Any, name: str, args: list[Any]) -> Any:
    """A method of plain data that gives plain data and changes nothing.

    Raises:
        TypeError: it is none of these.
    """
    if name not in METHODS.get(type(value), ()):
        raise TypeError(f"{type(value).__name__}.{name} is not looked at")
    made = getattr(value, name)(*args)
    return list(made) if name in ("items", "keys", "values") else made


BINARY: Final[Mapping[type[ast.operator], Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: _times,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: _remainder,
    ast.Pow: _power,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}
UNARY: Final[Mapping[type[ast.unaryop], Callable[[Any], Any]]] = {
    ast.Not: operator.not_,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
}
COMPARED: Final[Mapping[type[ast.cmpop], Callable[[Any, Any], Any]]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda one, other: one in other,
    ast.NotIn: lambda one, other: one not in other,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}


def is_plain(value: Any) -> bool:
    """Whether a value is plain data throughout, and so can be sent to a program."""
    if isinstance(value, list | tuple | set | frozenset):
        return all(map(is_plain, value))
    if isinstance(value, dict):
        return all(is_plain(key) and is_plain(entry) for key, entry in value.items())
    return type(value) in SCALARS
