"""Text -> formula. Nothing is ever evaluated as Python.

The grammar is Python's own for expressions, cut down to numbers, strings, lists, mappings, operators, calls of names in
the vocabulary, and four methods. Parsing takes time linear in the text, and refuses what is too long or too deep by a
limit with a name.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Mapping
from typing import Any, Final

from rewardkit.algebra.expression import Condition, Expression, Reward, TokenReward, number
from rewardkit.algebra.registry import callables
from rewardkit.algebra.term import Term
from rewardkit.errors import FormulaError, KindError, ParameterError, ParseError, UnknownNameError, did_you_mean

MAX_FORMULA_CHARS: Final = 200_000
"""Characters of a formula's text. Formulas that people write have under 500; generated ones stay far below."""
MAX_NESTING: Final = 300
"""Brackets inside one another, and signs stacked without brackets, in a formula's text."""
_METHODS: Final = ("named", "on", "spread", "total")


def parse(text: str, terms: Mapping[str, Term[Any, Any]] | None = None) -> Reward | TokenReward:
    """The formula that a text writes.

    Args:
        text: such as ``"length(0.1) + ends_with('.?!')"``.
        terms: the user's own terms by name, beside the vocabulary.

    Raises:
        ParseError: not a formula; the message shows where.
        UnknownNameError: a name that is in no vocabulary.
        KindError, ParameterError: as when the same formula is composed in Python.
    """
    node = parse_any(text, terms)
    if isinstance(node, Reward | TokenReward):
        return node
    raise KindError(
        f"the formula is a Condition: {text.strip()!r}; expected a reward", hint="pay it with when(condition, 1, 0)"
    )


def parse_any(text: str, terms: Mapping[str, Term[Any, Any]] | None = None) -> Expression:
    """As :func:`parse`, for a node of any kind."""
    if not isinstance(text, str):
        raise ParseError(f"a formula's text is a str; got {type(text).__name__}")
    source = text.strip()
    if not source:
        raise ParseError("an empty formula", hint="such as length(0.1) + ends_with('.?!')")
    if len(source) > MAX_FORMULA_CHARS:
        raise ParseError(f"a formula of {len(source):,} characters; at most {MAX_FORMULA_CHARS:,} (MAX_FORMULA_CHARS)")
    if _nesting(source) > MAX_NESTING:
        raise ParseError(f"brackets or signs nest more than {MAX_NESTING} deep (MAX_NESTING)")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python's warnings about '\\d' are for the authors of modules
            tree = ast.parse(f"({source}\n)", mode="eval")
    except SyntaxError as e:
        line, column = (e.lineno or 1), (e.offset or 1) - 1 - (1 if (e.lineno or 1) == 1 else 0)
        raise ParseError(f"not a formula: {e.msg}\n{_pointer(source, line, column)}") from None
    except (ValueError, RecursionError, MemoryError) as e:
        raise ParseError(f"not a formula that can be read: {type(e).__name__}") from None
    if (tree.body.lineno, tree.body.col_offset) == (1, 0):  # our own bracket, which the text must not close
        raise ParseError(f"not one formula\n{_pointer(source, 1, 0)}")
    builder = _Builder(source, dict(terms or {}))
    try:
        result = builder.build(tree.body)
    except RecursionError:
        raise ParseError(f"operators nest more than {MAX_NESTING} deep (MAX_NESTING)") from None
    return result if isinstance(result, Expression) else builder.numeric(result, tree.body)


def _nesting(source: str) -> int:
    """The deepest stack of brackets and unary signs, strings included: an upper bound, in one pass."""
    depth = deepest = signs = 0
    for c in source:
        if c in "([{":
            depth += 1
        elif c in ")]}":
            depth -= 1
        signs = signs + 1 if c in "-+~" else (signs if c.isspace() else 0)
        deepest = max(deepest, depth, signs)
    return deepest


def _pointer(source: str, line: int, column: int) -> str:
    lines = source.splitlines() or [""]
    shown = lines[min(line, len(lines)) - 1]
    column = max(0, min(column, len(shown)))
    start = max(0, column - 60)
    return f"    {shown[start : start + 100]}\n    {' ' * (column - start)}^"


_BINARY: Final[Mapping[type[ast.operator], Callable[[Any, Any], Any]]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.BitAnd: lambda a, b: a & b,
    ast.BitOr: lambda a, b: a | b,
}
_COMPARISON: Final[Mapping[type[ast.cmpop], Callable[[Any, Any], Any]]] = {
    ast.Lt: lambda a, b: a < b,
    ast.LtE: lambda a, b: a <= b,
    ast.Gt: lambda a, b: a > b,
    ast.GtE: lambda a, b: a >= b,
}
_WRONG: Final[Mapping[type[ast.AST], str]] = {
    ast.And: "`and`: write `a & b`",
    ast.Or: "`or`: write `a | b`",
    ast.Not: "`not`: write `~a`",
    ast.IfExp: "`x if c else y`: write `when(c, x, y)`",
    ast.Pow: "the algebra has no operator `**`: multiply, or write a term",
    ast.Eq: "`==` compares formulas, not rows: write `(x >= v) & (x <= v)`",
}


class _Builder:
    """Walks a whitelisted syntax tree and calls the same constructors that a Python user calls."""

    def __init__(self, source: str, terms: dict[str, Term[Any, Any]]) -> None:
        known = callables()
        clash = sorted(set(terms).intersection(known))
        if clash:
            raise ParameterError(f"the term {clash[0]!r} bears the name of a built-in", hint="rename yours")
        self.source = source
        self.names: dict[str, Callable[..., Any]] = {**known, **terms}

    def fail(self, node: ast.AST, message: str, error: type[FormulaError] = ParseError, hint: str | None = None) -> Any:
        line = getattr(node, "lineno", 1)
        column = len(_line(f"({self.source}", line).encode()[: getattr(node, "col_offset", 0)].decode(errors="ignore"))
        raise error(f"{message}\n{_pointer(self.source, line, column - (1 if line == 1 else 0))}", hint=hint)

    def build(self, node: ast.expr) -> Any:
        """A node, or a plain value where the text writes one."""
        if isinstance(node, ast.BinOp):
            return self.binary(node)
        if isinstance(node, ast.UnaryOp):
            return self.unary(node)
        if isinstance(node, ast.Compare):
            return self.compare(node)
        if isinstance(node, ast.Call):
            return self.call(node)
        if isinstance(node, ast.Constant):
            return self.constant(node)
        if isinstance(node, ast.List | ast.Tuple):
            return [self.build(e) for e in node.elts]
        if isinstance(node, ast.Dict):
            return self.mapping(node)
        if isinstance(node, ast.BoolOp):
            return self.fail(node, _WRONG[type(node.op)])
        if isinstance(node, ast.Name):
            if node.id in self.names:
                return self.fail(node, f"{node.id} without brackets", hint=f"call it: {node.id}(...)")
            return self.unknown(node, node.id)
        what = _WRONG.get(type(node), f"{type(node).__name__} has no place in a formula")
        return self.fail(node, what)

    def numeric(self, value: Any, node: ast.expr) -> Expression:
        """A node from what stands beside an operator."""
        if isinstance(value, Expression):
            return value
        if isinstance(value, bool) or not isinstance(value, int | float):
            return self.fail(node, f"{value!r} where a number or a reward is wanted", KindError)  # type: ignore[no-any-return]
        return number(value)

    def constant(self, node: ast.Constant) -> Any:
        if node.value is None or isinstance(node.value, str | bool | int | float):
            return node.value
        return self.fail(node, f"{node.value!r} has no place in a formula")

    def binary(self, node: ast.BinOp) -> Any:
        spine: list[ast.BinOp] = []
        left: ast.expr = node
        while isinstance(left, ast.BinOp):  # a sum of 5,000 terms leans left: no recursion on that side
            spine.append(left)
            left = left.left
        value = self.build(left)
        for step in reversed(spine):
            op = _BINARY.get(type(step.op))
            if op is None:
                return self.fail(step, _WRONG.get(type(step.op), f"unknown operator: {type(step.op).__name__}"))
            right = self.numeric(self.build(step.right), step.right)
            value = op(self.numeric(value, step.left), right)
        return value

    def unary(self, node: ast.UnaryOp) -> Any:
        if isinstance(node.op, ast.Not):
            return self.fail(node, _WRONG[ast.Not])
        value = self.build(node.operand)
        if isinstance(value, int | float) and not isinstance(value, bool):
            if isinstance(node.op, ast.Invert):
                return self.fail(node, "`~` of a number; expected a Condition", KindError)
            return -value if isinstance(node.op, ast.USub) else value
        operand: Any = self.numeric(value, node.operand)
        if isinstance(node.op, ast.Invert):
            if not isinstance(operand, Condition):
                return self.fail(node, f"`~` of a {type(operand).__name__}; expected a Condition", KindError)
            return ~operand
        return -operand if isinstance(node.op, ast.USub) else +operand

    def compare(self, node: ast.Compare) -> Any:
        if len(node.ops) > 1:
            return self.fail(node, "a chained comparison", hint="write (0 < x) & (x < 1)")
        op = _COMPARISON.get(type(node.ops[0]))
        if op is None:
            return self.fail(node, _WRONG.get(type(node.ops[0]), f"unknown comparison: {type(node.ops[0]).__name__}"))
        left, right = self.build(node.left), self.build(node.comparators[0])
        if not isinstance(left, Expression) and isinstance(right, Expression):
            self.numeric(left, node.left)
            return op(left, right)  # reflected, as in Python: 0 < x is x > 0
        return op(self.numeric(left, node.left), self.numeric(right, node.comparators[0]))

    def mapping(self, node: ast.Dict) -> dict[Any, Any]:
        entries: dict[Any, Any] = {}
        for k, v in zip(node.keys, node.values, strict=True):
            if not isinstance(k, ast.Constant) or isinstance(k.value, bool) or not isinstance(k.value, str | int):
                return self.fail(k or node, "a key that is neither text nor an integer")  # type: ignore[no-any-return]
            if k.value in entries:
                return self.fail(k, f"the key {k.value!r} stands twice")  # type: ignore[no-any-return]
            entries[k.value] = self.build(v)
        return entries

    def call(self, node: ast.Call) -> Any:
        args = [self.argument(a) for a in node.args]
        kwargs: dict[str, Any] = {}
        for k in node.keywords:
            if k.arg is None:
                return self.fail(node, "`**` has no place in a formula")
            if k.arg in kwargs:
                return self.fail(node, f"the parameter {k.arg!r} stands twice")
            kwargs[k.arg] = self.argument(k.value)
        if isinstance(node.func, ast.Attribute):
            name = node.func.attr
            if name not in _METHODS:
                return self.fail(node, f"no method {name!r}", UnknownNameError, did_you_mean(name, _METHODS))
            receiver = self.numeric(self.build(node.func.value), node.func.value)
            function: Callable[..., Any] = getattr(receiver, name)
        elif isinstance(node.func, ast.Name):
            name = node.func.id
            if name not in self.names:
                return self.unknown(node.func, name)
            function = self.names[name]
        else:
            return self.fail(node, "only names of the vocabulary can be called")
        try:
            return function(*args, **kwargs)
        except FormulaError:
            raise
        except TypeError as e:  # Python's own "unexpected keyword argument"
            return self.fail(node, f"{name}: {str(e).split('() ', 1)[-1]}", ParameterError)

    def argument(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Starred):
            return self.fail(node, "`*` has no place in front of an argument")
        return self.build(node)

    def unknown(self, node: ast.AST, name: str) -> Any:
        hint = did_you_mean(name, [*self.names]) or f"the vocabulary: {', '.join(sorted(self.names))}"
        return self.fail(node, f"{name!r} is not in the vocabulary", UnknownNameError, hint)


def _line(source: str, line: int) -> str:
    lines = source.splitlines() or [""]
    return lines[min(line, len(lines)) - 1]
