"""Calls written as Python, ``[f(a=1), g(b='x')]``: read from the syntax tree, of which only literals are taken."""

from __future__ import annotations

import ast
from typing import Any, Final

import regex

from rewardkit.terms.calling.call import Call, Malformed
from rewardkit.terms.strict_json import MAX_DEPTH, OverLimit

MAX_CHARS: Final = 10_000
"""Longest text that Python's parser is given; 64 calls of a few arguments have half of it."""

_BEGINS: Final = regex.compile(r"(?P<list>\[\s*+)?+[^\W\d][\w.]*+\(")
_ESCAPE: Final = regex.compile(r"\\(.)", regex.DOTALL)
_KNOWN_ESCAPES: Final = frozenset("\n\\'\"abfnrtvxuUN01234567")
_WORDS: Final = {"true": True, "false": False, "null": None}


def python_calls(text: str) -> list[Call] | None:
    """The calls of a text that is a list of calls or a single call; None where it begins like neither.

    Raises:
        Malformed: it begins like a list of calls and isn't one.
        OverLimit: too long or too deep.
    """
    begins = _BEGINS.match(text)
    if begins is None or text[-1] not in ")]":
        return None
    if len(text) > MAX_CHARS:
        raise OverLimit(f"calls in Python's syntax of more than {MAX_CHARS} characters")
    try:
        return [_call(node) for node in _nodes(text)]
    except Malformed:
        if begins["list"] is None:  # "f(x)" and "Paris (France)" are prose
            return None
        raise


def _nodes(text: str) -> list[ast.expr]:
    # Python warns of "\d", where a warning has no reader; doubled it is the same text.
    text = _ESCAPE.sub(lambda m: m[0] if m[1] in _KNOWN_ESCAPES else "\\" + m[0], text)
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as e:
        raise Malformed(f"not Python's syntax: {type(e).__name__}") from None
    return tree.elts if isinstance(tree, ast.List) else [tree]


def _call(node: ast.expr) -> Call:
    if not isinstance(node, ast.Call) or node.args:
        raise Malformed("expected calls whose arguments have names")
    arguments: dict[str, Any] = {}
    for keyword in node.keywords:
        if keyword.arg is None or keyword.arg in arguments:
            raise Malformed("an argument without a name of its own")
        arguments[keyword.arg] = _value(keyword.value)
    return Call(_name(node.func), arguments)


def _name(node: ast.expr) -> str:
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        raise Malformed("expected the name of a tool")
    return ".".join([node.id, *reversed(parts)])


def _value(node: ast.expr, depth: int = 0) -> Any:
    if depth > MAX_DEPTH:
        raise OverLimit(f"more than {MAX_DEPTH} levels")
    if isinstance(node, ast.Constant) and (node.value is None or isinstance(node.value, str | bool | int | float)):
        return node.value
    if isinstance(node, ast.List | ast.Tuple):
        return [_value(entry, depth + 1) for entry in node.elts]
    if isinstance(node, ast.Dict):
        keys = [None if key is None else _value(key, depth + 1) for key in node.keys]
        if not all(isinstance(key, str) for key in keys):
            raise Malformed("expected keys that are text")
        return dict(zip(keys, [_value(value, depth + 1) for value in node.values], strict=True))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        number = node.operand.value if isinstance(node.operand, ast.Constant) else None
        if isinstance(number, int | float) and not isinstance(number, bool):
            return -number if isinstance(node.op, ast.USub) else number
    if isinstance(node, ast.Name) and node.id in _WORDS:
        return _WORDS[node.id]
    raise Malformed("expected arguments that are literals")
