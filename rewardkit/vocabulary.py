"""Every name that a formula's text may use: the built-in terms and the functions of the algebra."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from rewardkit import functions, terms
from rewardkit.declaration import Term

TERMS: Final[Mapping[str, Term[Any, Any]]] = MappingProxyType({name: getattr(terms, name) for name in terms.__all__})
FUNCTIONS: Final[Mapping[str, Callable[..., Any]]] = MappingProxyType(
    {
        f.__name__: f
        for f in (
            functions.clip,
            functions.group_minmax,
            functions.group_rank,
            functions.group_share,
            functions.group_zscore,
            functions.linear,
            functions.maximum,
            functions.mean,
            functions.minimum,
            functions.observe,
            functions.route,
            functions.schedule,
            functions.when,
        )
    }
)


def builtin_term(name: str) -> Term[Any, Any]:
    """A built-in term by name, for unpickling."""
    return TERMS[name]
