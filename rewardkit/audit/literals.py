"""The texts and numbers that a reward itself is written with: what it looks for, counts, and compares lengths with.

A policy finds the odd word that a reward pays for by trying; an auditor may read it in the reward. Of a formula these
are its terms' parameters, of a function the constants of its code and of what that calls in its own module.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from types import CodeType
from typing import Any, Final

from rewardkit.algebra.expression import Expression
from rewardkit.algebra.operations.constants import Number
from rewardkit.audit.patterns import samples, templates

MOST_TEXTS: Final = 24
LONGEST: Final = 200
"""Characters of a text; a longer one is a prompt or a message."""
MOST_NUMBERS: Final = 8
MOST_TEMPLATES: Final = 4
_DEPTH: Final = 3
"""Functions that call one another, from the reward on."""
_PATTERN: Final = re.compile(r"[\\^$.*+?\[\]{}|()]")


@dataclass(frozen=True, slots=True)
class Literals:
    """What a reward is written with.

    Attributes:
        texts: its texts, and for those that are patterns what matches them.
        numbers: its whole numbers from 2 on.
        templates: texts in which its patterns find an answer, with `{answer}` in its place.
    """

    texts: tuple[str, ...] = ()
    numbers: tuple[int, ...] = ()
    templates: tuple[str, ...] = ()

    @property
    def keys(self) -> tuple[str, ...]:
        """Those of its texts that may be keys of an object."""
        return tuple(t for t in self.texts if t.replace("_", "").isalnum())


def literals_of(source: Expression | Callable[..., Any]) -> Literals:
    """The literals of a formula or a function."""
    values = list(_of_formula(source) if isinstance(source, Expression) else _of_callable(source, _DEPTH, set()))
    strings = [v for v in dict.fromkeys(v for v in values if isinstance(v, str)) if 0 < len(v) <= LONGEST]
    matching = [s for text in strings if _PATTERN.search(text) for s in samples(text)]
    numbers = dict.fromkeys(int(v) for v in values if isinstance(v, int | float) and v >= 2 and v == v // 1)
    texts = dict.fromkeys([*matching, *strings])
    forms = dict.fromkeys(t for text in strings if "(" in text for t in templates(text))
    whole = tuple(n for n in numbers if n <= 20_000)[:MOST_NUMBERS]
    return Literals(tuple(texts)[:MOST_TEXTS], whole, tuple(forms)[:MOST_TEMPLATES])


def _of_formula(root: Expression) -> Iterator[Any]:
    for node in root.walk():
        if node.term is not None:
            for _, value in node.params:
                yield from _plain(value)
        elif isinstance(node.operation, Number):
            yield node.operation.value


def _of_callable(function: Any, depth: int, seen: set[int]) -> Iterator[Any]:
    if depth == 0 or id(function) in seen:
        return
    seen.add(id(function))
    if isinstance(function, functools.partial):
        yield from _plain([*function.args, *function.keywords.values()])
        yield from _of_callable(function.func, depth, seen)
        return
    function = getattr(function, "__wrapped__", None) or getattr(function, "__func__", function)
    code = getattr(function, "__code__", None)
    if code is None:  # an object that can be called
        yield from _plain(list(vars(function).values()) if hasattr(function, "__dict__") else [])
        call = getattr(type(function), "__call__", None)  # noqa: B004  # the method is wanted, not the question
        if hasattr(call, "__code__"):
            yield from _of_callable(call, depth, seen)
        return
    constants, names = _of_code(code)
    yield from (c for c in constants if c != function.__doc__)
    yield from _plain([*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()])
    cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=False))
    for cell in cells.values():
        try:
            used = cell.cell_contents
        except ValueError:  # a name that is bound later
            continue
        yield from _plain(used)
        if hasattr(used, "__code__"):
            yield from _of_callable(used, depth - 1, seen)
    for name in names:
        used = function.__globals__.get(name)
        yield from _plain(used)
        if hasattr(used, "__code__") and used.__module__ == function.__module__:
            yield from _of_callable(used, depth - 1, seen)


def _of_code(code: CodeType) -> tuple[list[Any], list[str]]:
    constants: list[Any] = []
    names = list(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            inner, called = _of_code(constant)
            constants += inner
            names += called
        else:
            constants += _plain(constant)
    return constants, names


def _plain(value: Any) -> Iterator[Any]:
    """The texts, numbers and patterns in a value, and in what it holds."""
    if isinstance(value, re.Pattern):
        value = value.pattern
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        yield value
    elif isinstance(value, dict):
        yield from _plain([*value, *value.values()])
    elif isinstance(value, list | tuple | set | frozenset):
        held: Iterable[Any] = value if isinstance(value, list | tuple) else sorted(value, key=repr)
        for item in list(held)[:MOST_TEXTS]:
            yield from _plain(item)
