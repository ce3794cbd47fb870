"""Formula -> text. What is printed here, :mod:`rewardkit.text.parsing` reads back to an equal formula."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from rewardkit.expression import Expression

_COMPARE, _OR, _AND, _ADD, _MUL, _UNARY, _ATOM = range(1, 8)
_LEVEL: Final = {
    "lt": _COMPARE, "le": _COMPARE, "gt": _COMPARE, "ge": _COMPARE, "or": _OR, "and": _AND, "add": _ADD, "mul": _MUL,
    "div": _MUL, "neg": _UNARY, "not": _UNARY,
}  # fmt: skip
_SIGN: Final = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "or": "|", "and": "&", "mul": "*"}


def to_text(node: Expression) -> str:
    """The formula as text that :func:`parse` reads back to an equal formula."""
    return _print(node, 0)


def _print(node: Expression, level: int) -> str:
    text = _PRINTERS.get(node.op, _print_call)(node)
    own = _LEVEL.get(node.op, _ATOM)
    return f"({text})" if own < level else text


def _print_number(node: Expression) -> str:
    return number_text(node.param("value"))


def number_text(value: float) -> str:
    """A number as people write it: 1, not 1.0; exact all the same."""
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)


def _print_sum(node: Expression) -> str:
    parts = [_print(node.args[0], _ADD)]
    for a in node.args[1:]:
        if a.op == "neg":
            parts.append(f" - {_print(a.args[0], _MUL)}")
        elif a.op == "number" and a.param("value") < 0:
            parts.append(f" - {number_text(-a.param('value'))}")
        else:
            parts.append(f" + {_print(a, _MUL)}")
    return "".join(parts)


def _print_chain(node: Expression) -> str:
    level = _LEVEL[node.op]
    first = _print(node.args[0], level)
    rest = [_print(a, level + 1) for a in node.args[1:]]
    return f" {_SIGN[node.op]} ".join([first, *rest])


def _print_compare(node: Expression) -> str:
    return f" {_SIGN[node.op]} ".join(_print(a, _OR) for a in node.args)


def _print_method(node: Expression) -> str:
    receiver = _print(node.args[0], _ATOM)
    if node.args[0].op == "number":
        receiver = f"({receiver})"
    return f"{receiver}.{node.op}({', '.join(repr(v) for _, v in node.params)})"


def _print_clip(node: Expression) -> str:
    ends = ", ".join("None" if v is None else number_text(v) for v in (node.param("low"), node.param("high")))
    return f"clip({_print(node.args[0], 0)}, {ends})"


def _print_schedule(node: Expression) -> str:
    points = node.param("points")
    if node.param("shape") == "linear" and len(points) == 2:
        (begin, start), (last, end) = points
        shift = f", begin={begin}" if begin else ""
        return f"linear({number_text(start)}, {number_text(end)}, steps={last - begin}{shift})"
    return f"schedule({{{', '.join(f'{step}: {number_text(v)}' for step, v in points)}}})"


def _print_route(node: Expression) -> str:
    keys = node.param("keys")
    pairs = ", ".join(f"{k!r}: {_print(a, 0)}" for k, a in zip(keys, node.args, strict=False))
    parts = [f"{{{pairs}}}"]
    if node.param("by") != "data_source":
        parts.append(f"by={node.param('by')!r}")
    if len(node.args) > len(keys):
        parts.append(f"otherwise={_print(node.args[-1], 0)}")
    return f"route({', '.join(parts)})"


def _print_term(node: Expression) -> str:
    assert node.term is not None
    parts, positional = [], True
    for p in node.term.parameters:
        value = node.param(p.name)
        positional = positional and p.kind is not p.KEYWORD_ONLY
        default = p.default
        if default is not p.empty and _same(value, default):
            positional = False
            continue
        parts.append(_value_text(value) if positional else f"{p.name}={_value_text(value)}")
    return f"{node.term.name}({', '.join(parts)})"


def _same(value: object, default: object) -> bool:
    """Equal and of one type: True is not 1."""
    if isinstance(default, list):
        default = tuple(default)
    return value == default and isinstance(value, bool) == isinstance(default, bool)


def _value_text(value: object) -> str:
    if isinstance(value, float):
        return number_text(value)
    if isinstance(value, tuple):
        return f"[{', '.join(_value_text(v) for v in value)}]"
    return repr(value)


def _print_call(node: Expression) -> str:
    return f"{node.op}({', '.join(_print(a, 0) for a in node.args)})"


_PRINTERS: Final[Mapping[str, Callable[[Expression], str]]] = {
    "add": _print_sum,
    "and": _print_chain,
    "clip": _print_clip,
    "div": lambda n: f"{_print(n.args[0], _MUL)} / {_print(n.args[1], _UNARY)}",
    "ge": _print_compare,
    "gt": _print_compare,
    "le": _print_compare,
    "lt": _print_compare,
    "mul": _print_chain,
    "named": _print_method,
    "neg": lambda n: f"-{_print(n.args[0], _UNARY)}",
    "not": lambda n: f"~{_print(n.args[0], _UNARY)}",
    "number": _print_number,
    "on": _print_method,
    "or": _print_chain,
    "route": _print_route,
    "schedule": _print_schedule,
    "spread": _print_method,
    "term": _print_term,
    "total": _print_method,
}
