"""Every name that a formula's text may use. A term or a function enters when it is defined."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any, Final, TypeVar

from rewardkit.algebra.term import Term

F = TypeVar("F", bound=Callable[..., Any])

SOURCES: Final = ("rewardkit.algebra.operations", "rewardkit.terms")
"""The packages that define the vocabulary. They stand above this file, so that it names them and imports them late."""


@dataclass(frozen=True, slots=True)
class Function:
    """A function of the algebra: what builds a node and is not a term."""

    build: Callable[..., Any]
    needs: tuple[str, ...]
    """What the node that it builds takes of a batch when it is called with its defaults."""


_TERMS: Final[dict[str, Term[Any, Any]]] = {}
_FUNCTIONS: Final[dict[str, Function]] = {}
_CALLABLES: Final[dict[str, Callable[..., Any]]] = {}


def function(*needs: str) -> Callable[[F], F]:
    """Let formulas call a function of the algebra by its name.

    Args:
        needs: what the node that it builds takes of a batch: ``group``, ``step``, ``data_source``.
    """

    def enter(build: F) -> F:
        _FUNCTIONS[build.__name__] = Function(build, needs)
        _CALLABLES[build.__name__] = build
        return build

    return enter


def enter_term(term: Term[Any, Any]) -> None:
    """Let formulas call a built-in term by its name."""
    _TERMS[term.name] = term
    _CALLABLES[term.name] = term


def terms() -> Mapping[str, Term[Any, Any]]:
    """The built-in terms, by name."""
    _load()
    return MappingProxyType(_TERMS)


def functions() -> Mapping[str, Function]:
    """The functions of the algebra, by name."""
    _load()
    return MappingProxyType(_FUNCTIONS)


def callables() -> Mapping[str, Callable[..., Any]]:
    """All that a formula's text may call: the terms and the functions, by name."""
    _load()
    return MappingProxyType(_CALLABLES)


@cache
def _load() -> None:
    for source in SOURCES:
        importlib.import_module(source)
