"""The vocabulary as data: what each term and function is called with, what it declares, what its docstring says."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from typing import Any, Literal, get_args, get_origin, get_type_hints

from rewardkit.algebra.interval import Interval
from rewardkit.algebra.operations.calls import Call
from rewardkit.algebra.registry import Function, functions, terms
from rewardkit.algebra.term import PER_ROW, Term
from rewardkit.errors import UnknownNameError, did_you_mean


def describe_vocabulary() -> list[dict[str, Any]]:
    """Every term, then every function of the algebra, each by name."""
    return [describe(name) for table in (terms(), functions()) for name in sorted(table)]


def describe(name: str) -> dict[str, Any]:
    """One entry of the vocabulary.

    Raises:
        UnknownNameError: no term and no function bears that name.
    """
    if name in terms():
        return _term(terms()[name])
    if name in functions():
        return _function(name, functions()[name])
    known = [*terms(), *functions()]
    raise UnknownNameError(
        f"{name!r} is not in the vocabulary", hint=did_you_mean(name, known) or f"it has {', '.join(sorted(known))}"
    )


def _term(term: Term[Any, Any]) -> dict[str, Any]:
    hints = get_type_hints(term.function, include_extras=True)
    bounds, needs = _declared(term)
    return {
        "name": term.name,
        "kind": term.kind.__name__,
        "signature": f"{term.name}{term.signature}",
        "parameters": [_parameter(p, hints[p.name]) for p in term.parameters],
        "bounds": None if bounds is None else bounds_pair(bounds),
        "needs": needs,
        "reads": sorted(term.reads),
        "cost": term.cost.value,
        "summary": _first_line(term.function),
        "doc": inspect.getdoc(term.function) or "",
    }


def _declared(term: Term[Any, Any]) -> tuple[Interval | None, list[str] | None]:
    """Bounds and needs at the defaults; None where they hang on a parameter that has none."""
    node = Call(term, tuple((p.name, p.default) for p in term.parameters if p.default is not p.empty))
    bounds: Interval | None
    try:
        bounds = term.bounds(node)
    except (KeyError, TypeError):
        bounds = None
    try:
        return bounds, sorted(term.needs(node))
    except (KeyError, TypeError):
        return bounds, None


def _function(name: str, function: Function) -> dict[str, Any]:
    parameters = list(inspect.signature(function.build).parameters.values())
    return {
        "name": name,
        "kind": "function",
        "signature": f"{name}{inspect.Signature([p.replace(annotation=p.empty) for p in parameters])}",
        "parameters": [
            {
                "name": str(p.replace(annotation=p.empty, default=p.empty)),
                "type": str(p.annotation),
                "required": p.default is p.empty and p.kind is not p.VAR_POSITIONAL,
                **({} if p.default is p.empty else {"default": p.default}),
            }
            for p in parameters
        ],
        "bounds": None,
        "reads": [],
        "needs": list(function.needs),
        "cost": "cheap",
        "summary": _first_line(function.build),
        "doc": inspect.getdoc(function.build) or "",
    }


def bounds_pair(interval: Interval) -> list[float | None]:
    """An interval for JSON: [low, high], None where it has no end."""
    return [end + 0.0 if math.isfinite(end) else None for end in (interval.low, interval.high)]  # + 0.0: no -0


def interval_text(bounds: list[float | None]) -> str:
    """What :func:`ends` gave, as people read it."""
    low, high = bounds
    return str(Interval(-math.inf if low is None else low, math.inf if high is None else high))


def _parameter(parameter: inspect.Parameter, annotation: Any) -> dict[str, Any]:
    described: dict[str, Any] = {
        "name": parameter.name,
        "type": type_text(annotation),
        "required": parameter.default is parameter.empty,
    }
    if parameter.default is not parameter.empty:
        described["default"] = parameter.default
    return described


_SIGNS: Mapping[str, str] = {"gt": ">", "ge": ">=", "lt": "<", "le": "<="}


def type_text(annotation: Any) -> str:
    """A type as people read it: ``float > 0``, ``'words' | 'tokens'``, ``text``."""
    if annotation is type(None):
        return "None"
    origin, args = get_origin(annotation), get_args(annotation)
    if PER_ROW in getattr(annotation, "__metadata__", ()):
        return f"{type_text(get_args(args[0])[0])} | name in extra_info"
    if origin is Literal:
        return " | ".join(map(repr, args))
    if hasattr(annotation, "__metadata__"):
        constraints = ", ".join(_constraints(annotation.__metadata__))
        return f"{type_text(args[0])} {constraints}".rstrip()
    if origin is None:
        return {str: "text"}.get(annotation, getattr(annotation, "__name__", str(annotation)))
    if args and (origin is not dict and not hasattr(origin, "__len__")):  # a union
        return " | ".join(map(type_text, args))
    return f"{origin.__name__}[{', '.join(map(type_text, args))}]"


def _constraints(metadata: tuple[Any, ...]) -> list[str]:
    constraints = []
    for item in (part for m in metadata for part in (m, *getattr(m, "metadata", ()))):
        for field, sign in _SIGNS.items():
            if (value := getattr(item, field, None)) is not None:
                constraints.append(f"{sign} {value:g}" if isinstance(value, int | float) else f"{sign} {value}")
        for field, words in (("min_length", "at least {} long"), ("max_length", "at most {} long")):
            if (value := getattr(item, field, None)) is not None:
                constraints.append(words.format(value))
    return constraints


def _first_line(function: Callable[..., Any]) -> str:
    return (inspect.getdoc(function) or "").strip().split("\n", 1)[0]
