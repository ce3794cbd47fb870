"""Sums, products, extremes and choices of what expressions stand for, in the plainest form that the algebra has."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from rewardkit.expression import Condition, Reward, Verdict, number
from rewardkit.functions import clip, maximum, minimum, route, when
from rewardkit.terms import length, match_count
from rewardkit.translate.values import (
    UNSEEN,
    Answer,
    Column,
    Constant,
    Items,
    Level,
    Number,
    Raised,
    Text,
    Truth,
    Unknown,
    Value,
)


def leveled(value: Value, *others: Value) -> Value:
    """The value at the worst of the levels."""
    return replace(value, level=max([value.level, *(other.level for other in others)]))


def as_number(value: Value) -> Number | None:
    """A number, a condition or a Python number as a sum; None for anything else."""
    if isinstance(value, Number):
        return value
    if isinstance(value, Truth):
        return Number(((value.number(), 1.0),), level=value.level)
    if isinstance(value, Constant) and isinstance(value.value, bool | int | float) and math.isfinite(value.value):
        return Number(constant=float(value.value), level=value.level)
    return None


def add(a: Number, b: Number, sign: float = 1.0) -> Number:
    """``a + sign * b``."""
    weights: dict[Reward, float] = dict(a.parts)
    for node, weight in b.parts:
        weights[node] = weights.get(node, 0.0) + sign * weight
    parts = tuple((node, weight) for node, weight in weights.items() if weight)
    return Number(parts, a.constant + sign * b.constant, level=max(a.level, b.level))


def scale(a: Number, factor: float) -> Number:
    """``a * factor``."""
    parts = tuple((node, weight * factor) for node, weight in a.parts if factor)
    return Number(parts, a.constant * factor, level=a.level)


def times(a: Number, b: Number) -> Number:
    """``a * b``."""
    for x, y in ((a, b), (b, a)):
        if not x.parts:
            return replace(scale(y, x.constant), level=max(a.level, b.level))
    return Number(((a.node() * b.node(), 1.0),), level=max(a.level, b.level))


def extreme(which: str, numbers: list[Number]) -> Number:
    """The least or greatest of several numbers."""
    level = max(n.level for n in numbers)
    constants = [n.constant for n in numbers if not n.parts]
    rest = [n for n in numbers if n.parts]
    pick = min if which == "min" else max
    if not rest:
        return Number(constant=pick(constants), level=level)
    if len(rest) == 1 and constants and which == "min":
        capped = _capped(rest[0], min(constants))
        if capped is not None:
            return replace(capped, level=level)
    nodes: list[Any] = [n.node() for n in rest] + ([pick(constants)] if constants else [])
    if len(nodes) == 1:
        return replace(rest[0], level=level)
    clipped = _clipped(which, nodes)
    if clipped is not None:
        return Number(((clipped, 1.0),), level=level)
    return Number((((minimum if which == "min" else maximum)(*nodes), 1.0),), level=level)


def negated(condition: Truth) -> Truth:
    """Where the condition does not hold."""
    node = condition.node.args[0] if condition.node.op == "not" else ~condition.node
    assert isinstance(node, Condition)
    return Truth(node, missing=condition.present, present=condition.missing, level=condition.level)


def choose(condition: Truth, then: Value, otherwise: Value) -> Value:
    """What a value is that is one thing where the condition holds and another elsewhere."""
    if then == otherwise:
        return leveled(then, condition)
    tail = _tail_of(condition, then, otherwise)
    if tail is not None:
        return tail
    for lacking, nothing, answer in ((condition.missing, then, otherwise), (condition.present, otherwise, then)):
        if lacking is not None and isinstance(answer, Answer) and _is_nothing(nothing):
            return answer
    if isinstance(then, Raised) or isinstance(otherwise, Raised):
        kept = otherwise if isinstance(then, Raised) else then
        if condition.routes is not None and isinstance(otherwise, Raised):
            n = as_number(then)
            if n is not None:
                by, keys = condition.routes
                return Number(
                    ((route(dict.fromkeys(keys, n.node()), by=by), 1.0),), level=max(n.level, condition.level)
                )
        return replace(kept, level=max(kept.level, Level.SIMILAR)) if not isinstance(kept, Unknown) else kept
    if isinstance(then, Column) and isinstance(otherwise, Column):
        return Column(choose(condition, then.entry, otherwise.entry))
    a, b = as_number(then), as_number(otherwise)
    if a is None or b is None:
        for value in (then, otherwise):
            if isinstance(value, Unknown):
                return value
        if _is_nothing(then) or _is_nothing(otherwise):
            kept = otherwise if _is_nothing(then) else then
            return replace(kept, level=max(kept.level, condition.level, Level.SIMILAR))
        return Unknown("a value that is of two kinds, depending on a condition")
    return _choose_number(condition, a, b)


def _choose_number(condition: Truth, a: Number, b: Number) -> Number:
    level = max(condition.level, a.level, b.level)
    if condition.routes is not None:
        return replace(_routed(condition.routes, a, b), level=level)
    if condition.node.op == "not" and not _guards_on(a, b):
        return _choose_number(negated(condition), b, a)
    shared: dict[Reward, float] = {n: w for n, w in a.parts if dict(b.parts).get(n) == w}
    base = Number(tuple(shared.items()), b.constant if shared else 0.0)
    above, below = add(a, base, -1.0), add(b, base, -1.0)
    if not below.parts and not below.constant:
        if not above.parts:
            picked = Number(((condition.number(), above.constant),))
        elif _is_verdict(above) and isinstance(condition.node, Verdict):
            ((node, weight),) = above.parts
            assert isinstance(node, Verdict)
            picked = Number(((condition.node & node, weight),))
        else:
            picked = Number(((when(condition.node, above.node(), 0), 1.0),))
    elif not above.parts and not above.constant and not below.parts and isinstance(condition.node, Verdict):
        picked = Number(((negated(condition).number(), below.constant),))
    else:
        picked = Number(((_either_way(condition.node, above.node(), below.node()), 1.0),))
    return replace(add(base, picked), level=level)


def _guards_on(a: Number, b: Number) -> bool:
    """Whether `b` begins with a guard that pays `a`, too."""
    if a.parts or b.constant or len(b.parts) != 1 or b.parts[0][1] != 1.0:
        return False
    node = b.parts[0][0]
    return node.op == "when" and node.args[1] == number(a.constant)


def _is_verdict(value: Number) -> bool:
    return len(value.parts) == 1 and not value.constant and isinstance(value.parts[0][0], Verdict)


def _either_way(condition: Condition, then: Reward, otherwise: Reward) -> Reward:
    """`when`, with guards one after the other as one."""
    if otherwise.op == "when" and otherwise.args[1] == then:
        guard, _, rest = otherwise.args
        assert isinstance(guard, Condition) and isinstance(rest, Reward)
        return when(condition | guard, then, rest)
    return when(condition, then, otherwise)


def _routed(routes: tuple[str, tuple[str, ...]], a: Number, b: Number) -> Number:
    by, keys = routes
    rest: Reward | None = b.node()
    table: dict[str, Any] = dict.fromkeys(keys, a.node())
    if len(b.parts) == 1 and not b.constant and b.parts[0][1] == 1.0:
        node = b.parts[0][0]
        if node.op == "route" and node.param("by") == by:
            known = node.param("keys")
            table = {**dict(zip(known, node.args, strict=False)), **table}
            rest = node.args[len(known)] if len(node.args) > len(known) else None  # type: ignore[assignment]
            table = {k: table[k] for k in (*keys, *(k for k in known if k not in keys))}
    return Number(((route(table, by=by, otherwise=rest), 1.0),))


def _tail_of(condition: Truth, then: Value, otherwise: Value) -> Value | None:
    """`text[-n:]` where the text is longer than n, else the text: its last n characters."""
    if not (isinstance(then, Text) and isinstance(otherwise, Text) and then.tail and otherwise.tail is None):
        return None
    longer = length(unit="characters")
    if condition.node == (longer > then.tail) or condition.node == (longer >= then.tail):
        return then
    return None


def _is_nothing(value: Value) -> bool:
    return isinstance(value, Constant) and (value.value is None or value.value == "")


def _clipped(which: str, nodes: list[Any]) -> Reward | None:
    """`max(low, min(x, high))` or `min(high, max(x, low))` as one node."""
    inner = {"max": "minimum", "min": "maximum"}[which]
    if len(nodes) != 2 or not isinstance(nodes[1], float) or nodes[0].op != inner or len(nodes[0].args) != 2:
        return None
    x, bound = nodes[0].args
    if bound.op != "number" or x.op == "number":
        return None
    low, high = sorted((nodes[1], bound.param("value")))
    if (nodes[1] == low) != (which == "max"):
        return None
    return clip(x, low, high)


def _capped(value: Number, most: float) -> Number | None:
    """A length or count that goes up to a number, as the terms say it."""
    if len(value.parts) != 1 or value.constant or most <= 0:
        return None
    ((node, weight),) = value.parts
    if weight <= 0:
        return None
    if node.term is length and node.param("cap") is None:
        unit = node.param("per_unit")
        return Number(((length(weight * unit, unit=node.param("unit"), cap=most), 1.0),))
    if node.term is match_count and node.param("cap") == UNSEEN:
        times_counted = most / weight
        if abs(times_counted - round(times_counted)) < 1e-9 and 1 <= round(times_counted) < UNSEEN:
            return Number(((match_count(node.param("pattern"), cap=round(times_counted)), weight),))
    return None


def merged(
    condition: Truth,
    then: Mapping[str, Value],
    otherwise: Mapping[str, Value],
    choose: Callable[[Truth, Value, Value], Value],
) -> dict[str, Value]:
    """The variables after an `if`, from what they are after either branch."""
    found: dict[str, Value] = {}
    for name in {**then, **otherwise}:
        a, b = then.get(name), otherwise.get(name)
        if a is None or b is None:
            found[name] = a if a is not None else b  # type: ignore[assignment]
        else:
            found[name] = a if a is b else choose(condition, a, b)
    return found


def both(a: Truth, b: Truth) -> Truth:
    """Where both hold."""
    return Truth(a.node & b.node, level=max(a.level, b.level))


def either(a: Truth, b: Truth) -> Truth:
    """Where one holds; of two that ask for a row's kind, one that asks for either kind."""
    level = max(a.level, b.level)
    if a.routes is not None and b.routes is not None and a.routes[0] == b.routes[0]:
        by, keys = a.routes[0], (*a.routes[1], *(k for k in b.routes[1] if k not in a.routes[1]))
        node = route(dict.fromkeys(keys, 1), by=by, otherwise=0)
        return Truth(node >= 1, node, (by, keys), level=level)
    return Truth(a.node | b.node, level=level)


def entries_of(value: Value) -> tuple[Value, ...] | None:
    """The entries of a list or tuple that the file spells out."""
    if isinstance(value, Items):
        return value.entries
    if isinstance(value, Constant) and isinstance(value.value, tuple | str | dict):
        return tuple(map(Constant, value.value))
    return None
