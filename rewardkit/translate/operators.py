"""Arithmetic, conditions and comparisons between what expressions stand for."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from typing import Any, Final

from rewardkit.functions import route
from rewardkit.terms import length, matches
from rewardkit.translate import answers, patterns
from rewardkit.translate.combining import add, as_number, both, either, leveled, negated, scale, times
from rewardkit.translate.notes import Function, Notes, Scope
from rewardkit.translate.values import (
    Answer,
    Column,
    Constant,
    Counted,
    Difference,
    Field,
    Found,
    Gold,
    Info,
    Items,
    Level,
    Message,
    Number,
    Pattern,
    Text,
    Truth,
    Unknown,
    Value,
)

_OPERATORS: Final = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
_SWAPPED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}


class Operators(Notes):
    """Operators; what their operands stand for is the subclass's to say."""

    def value(self, tree: ast.expr, scope: Scope) -> Value:
        """What an expression stands for."""
        raise NotImplementedError

    def truth(self, tree: ast.expr, scope: Scope) -> Value:
        """An expression as a condition: a Truth, a Constant bool, or Unknown."""
        return self.truth_of(tree, self.value(tree, scope))

    def truth_of(self, tree: ast.expr, value: Value) -> Value:
        """A value as a condition."""
        if isinstance(value, Truth | Unknown):
            return value
        if isinstance(value, Constant):
            return Constant(bool(value.value))
        if isinstance(value, Number):
            if not value.parts:
                return Constant(bool(value.constant))
            if isinstance(value, Counted) and value.counted is not None:
                return patterns.holds(value.counted)
            node = value.node()
            return Truth(node > 0 if node.term is length else (node > 0) | (node < 0), level=value.level)
        if isinstance(value, Text):
            words = length() if value.stripped == "lr" else length(unit="characters")
            return Truth(words > 0, level=value.level)
        if isinstance(value, Found):
            return replace(patterns.holds(value), level=value.level)
        if isinstance(value, Answer):
            return self._negated(self._lacks(tree, value))
        if isinstance(value, Gold | Info | Message | Column | Field | Function | Pattern):
            return Constant(True)
        if isinstance(value, Items):
            return Constant(bool(value.entries))
        return self.lost(tree, "the condition has no counterpart in the algebra")

    def _on_unaryop(self, tree: ast.UnaryOp, scope: Scope) -> Value:
        if isinstance(tree.op, ast.Not):
            condition = self.truth(tree.operand, scope)
            if isinstance(condition, Truth):
                return self._negated(condition)
            return Constant(not condition.value) if isinstance(condition, Constant) else condition
        operand = self.value(tree.operand, scope)
        if isinstance(operand, Constant) and isinstance(operand.value, int | float) and isinstance(tree.op, ast.USub):
            return Constant(-operand.value)
        value = as_number(operand)
        if value is None or isinstance(tree.op, ast.Invert):
            return operand if isinstance(operand, Unknown) else self.lost(tree, "no number of the algebra")
        return plain(scale(value, -1.0) if isinstance(tree.op, ast.USub) else value)

    def _negated(self, condition: Truth) -> Truth:
        return negated(condition)

    def _on_boolop(self, tree: ast.BoolOp, scope: Scope) -> Value:
        is_and = isinstance(tree.op, ast.And)
        joined: Truth | None = None
        lost: Value | None = None
        for operand in tree.values:
            condition = self.truth(operand, scope)
            if isinstance(condition, Constant):
                if bool(condition.value) != is_and:
                    return condition
                continue
            if not isinstance(condition, Truth):
                if is_and:
                    return condition
                lost = condition
                continue
            if joined is None:
                joined = condition
            elif is_and and joined.present is not None and self._is_about(joined.present, condition.node):
                joined = leveled(condition, joined)  # type: ignore[assignment]
            else:
                joined = both(joined, condition) if is_and else either(joined, condition)
        if lost is None:
            return Constant(is_and) if joined is None else joined
        if joined is None:
            return lost
        self.blame(lost, "taken as false")
        return replace(joined, level=Level.LEFT_OUT)

    def _on_binop(self, tree: ast.BinOp, scope: Scope) -> Value:
        left, right = self.value(tree.left, scope), self.value(tree.right, scope)
        return self.binary(tree, tree.op, left, right)

    def binary(self, tree: ast.AST, op: ast.operator, left: Value, right: Value) -> Value:
        """`left op right`."""
        sided = (left, right)
        if (
            isinstance(op, ast.Sub)
            and any(isinstance(v, Answer) for v in sided)
            and any(isinstance(v, Gold) for v in sided)
        ):
            return Difference(left if isinstance(left, Answer) else right)
        if isinstance(op, ast.Add) and all(isinstance(v, Constant) and isinstance(v.value, str) for v in sided):
            return Constant(left.value + right.value)  # type: ignore[attr-defined]
        if isinstance(op, ast.Mult) and isinstance(left, Items | Column | Constant) and not as_number(left):
            return left if isinstance(left, Column) else Unknown("a list that is repeated")
        a, b = as_number(left), as_number(right)
        if isinstance(op, ast.Add | ast.Sub) and (a is None) != (b is None):
            kept = a if a is not None else b
            assert kept is not None
            gone = right if a is not None else left
            self.blame(
                gone if isinstance(gone, Unknown) else self.lost(tree, f"{why_not(gone)} as a number"),
                "this summand is left out",
            )
            sign = -1.0 if a is None and isinstance(op, ast.Sub) else 1.0
            return replace(scale(kept, sign), level=Level.LEFT_OUT)
        if a is None or b is None:
            gone = left if a is None else right
            return gone if isinstance(gone, Unknown) else self.lost(tree, f"{why_not(gone)} as a number")
        if isinstance(op, ast.Add | ast.Sub):
            return plain(add(a, b, -1.0 if isinstance(op, ast.Sub) else 1.0))
        if isinstance(op, ast.Mult):
            return plain(times(a, b))
        if isinstance(op, ast.Div) and not b.parts and b.constant:
            return plain(replace(scale(a, 1.0 / b.constant), level=max(a.level, b.level)))
        if isinstance(op, ast.Pow) and not b.parts and b.constant == 2:
            return plain(times(a, a))
        if not a.parts and not b.parts and b.constant and isinstance(op, ast.FloorDiv | ast.Mod):
            return Constant(a.constant // b.constant if isinstance(op, ast.FloorDiv) else a.constant % b.constant)
        if isinstance(op, ast.Div):
            return self.lost(tree, "a formula is divided by numbers only: what can come near 0 has no bounds")
        return self.lost(tree, "no such operator in the algebra")

    def _on_compare(self, tree: ast.Compare, scope: Scope) -> Value:
        values = [self.value(v, scope) for v in (tree.left, *tree.comparators)]
        joined: Value | None = None
        for op, left, right in zip(tree.ops, values, values[1:], strict=False):
            one = self._compared(tree, op, left, right)
            if joined is None:
                joined = one
            elif isinstance(joined, Truth) and isinstance(one, Truth):
                joined = both(joined, one)
            else:
                return one if isinstance(one, Unknown) else joined
        assert joined is not None
        return joined

    def _compared(self, tree: ast.Compare, op: ast.cmpop, left: Value, right: Value) -> Value:
        if isinstance(op, ast.In | ast.NotIn):
            inside = self._inside(tree, left, right)
            return self._negated(inside) if isinstance(op, ast.NotIn) and isinstance(inside, Truth) else inside
        nothing = next((v for v in (right, left) if isinstance(v, Constant) and v.value in (None, "", ())), None)
        other = left if nothing is right else right
        if nothing is not None and isinstance(op, ast.Is | ast.IsNot | ast.Eq | ast.NotEq):
            absent = self._absent(tree, other, nothing)
            is_not = isinstance(op, ast.IsNot | ast.NotEq)
            if isinstance(absent, Truth) and is_not:
                return self._negated(absent)
            return Constant(not absent.value) if isinstance(absent, Constant) and is_not else absent
        sign = _OPERATORS.get(type(op), "==" if isinstance(op, ast.Is) else "!=" if isinstance(op, ast.IsNot) else "")
        if isinstance(left, Constant) and isinstance(right, Constant):
            return _constants(sign, left.value, right.value)
        if isinstance(left, Constant) or (isinstance(left, Gold) and not isinstance(right, Gold)):
            left, right, sign = right, left, _SWAPPED[sign]
        if isinstance(right, Gold) and isinstance(left, Answer | Text) and sign in ("==", "!="):
            found = self.asks(tree, left, *answers.right(left, right))
            return found if sign == "==" else self._negated(found)
        if isinstance(left, Field) and isinstance(right, Constant) and isinstance(right.value, str):
            return self._kind(tree, left, (right.value,), sign)
        if left == Text() and isinstance(right, Constant) and isinstance(right.value, str) and sign in ("==", "!="):
            whole = Truth(matches(f"\\A{re.escape(right.value)}\\Z"))
            self.told(tree, whole)
            return whole if sign == "==" else negated(whole)
        if isinstance(left, Difference) and (limit := as_number(right)) is not None and not limit.parts:
            found = self.asks(tree, left.answer, *answers.near(limit.constant))
            return found if sign in ("<", "<=") else self._negated(found)
        return self._numbers(tree, sign, left, right)

    def _numbers(self, tree: ast.Compare, sign: str, left: Value, right: Value) -> Value:
        a, b = as_number(left), as_number(right)
        if a is None or b is None:
            gone = left if a is None else right
            return gone if isinstance(gone, Unknown) else self.lost(tree, f"a comparison with {why_not(gone)}")
        if isinstance(left, Truth) and not b.parts and b.constant in (0, 1) and sign in ("==", "!="):
            wanted = (b.constant == 1) == (sign == "==")
            return left if wanted else self._negated(left)
        counted = getattr(left, "counted", None)
        if counted is not None and not b.parts:
            compared = patterns.count_compared(counted, sign, b.constant)
            if compared is not None:
                self.told(tree, compared)
                return compared
        x, y = a.node(), (b.constant if not b.parts else b.node())
        node = {
            "<": lambda: x < y, "<=": lambda: x <= y, ">": lambda: x > y, ">=": lambda: x >= y,
            "==": lambda: (x <= y) & (x >= y), "!=": lambda: (x < y) | (x > y),
        }[sign]()  # fmt: skip
        level = max(a.level, b.level)
        if any(weight != int(weight) for _, weight in (*a.parts, *b.parts)):
            return self.told(tree, Truth(node, level=max(level, Level.NEARLY)), "at the bound rounding can differ")
        return self.told(tree, Truth(node, level=level))

    def _lacks(self, tree: ast.AST, value: Answer | Found) -> Truth:
        found = answers.missing(value)
        if found.level > Level.EQUAL:
            self.told(tree, found, "whether there is an answer is asked by its marker")
        return found

    def _absent(self, tree: ast.AST, value: Value, nothing: Constant) -> Value:
        if isinstance(value, Answer | Found):
            return self._lacks(tree, value)
        if isinstance(value, Constant):
            return Constant(value.value == nothing.value)
        if isinstance(value, Text) and nothing.value == "":
            return self._negated(self.truth_of(tree, value))  # type: ignore[arg-type]
        if isinstance(value, Unknown):
            return value
        return Constant(False)

    def _inside(self, tree: ast.Compare, left: Value, right: Value) -> Value:
        right = Text() if isinstance(right, Message) else right
        if isinstance(left, Constant) and isinstance(left.value, str) and isinstance(right, Text) and left.value:
            found, says = patterns.inside(left.value, right)
            return self.told(tree, found, says)
        if isinstance(left, Gold) and isinstance(right, Text | Answer):
            found, says = answers.mentioned()
            return self.told(tree, found, says)
        if isinstance(left, Field) and isinstance(right, Constant) and isinstance(right.value, tuple):
            return self._kind(tree, left, right.value, "==")
        if isinstance(left, Constant) and isinstance(right, Constant):
            try:
                return Constant(left.value in right.value)
            except TypeError:
                return Unknown("no such container")
        for gone in (left, right):
            if isinstance(gone, Unknown):
                return gone
        return self.lost(tree, f"`in` of {why_not(left)} and {why_not(right)}")

    def _kind(self, tree: ast.AST, by: Field, keys: tuple[Any, ...], sign: str) -> Value:
        if sign not in ("==", "!=") or not all(isinstance(k, str) for k in keys):
            return self.lost(tree, f"routes go by texts that {by.name} equals")
        node = route(dict.fromkeys(keys, 1), by=by.name, otherwise=0)
        if sign == "!=":
            return Truth(node < 1)
        return Truth(node >= 1, node, routes=(by.name, keys))


def plain(number: Number) -> Value:
    """A number without nodes is a Python number again."""
    return Constant(number.constant, level=number.level) if not number.parts else number


def _constants(sign: str, a: Any, b: Any) -> Value:
    try:
        return Constant({
            "<": lambda: a < b, "<=": lambda: a <= b, ">": lambda: a > b, ">=": lambda: a >= b, "==": lambda: a == b,
            "!=": lambda: a != b,
        }[sign]())  # fmt: skip
    except TypeError:
        return Unknown("a comparison of unlike things")


def why_not(value: Value) -> str:
    """What a value is, where something else is wanted."""
    if isinstance(value, Unknown):
        return value.why
    kinds = {Text: "the response's text", Answer: "an answer", Gold: "the ground truth", Column: "a list over rows"}
    return kinds.get(type(value), f"a {type(value).__name__.lower()}")
