"""Python's builtins, as far as rewards use them: `len`, `min`, `sum`, `all`, `zip` and the like."""

from __future__ import annotations

import ast
from dataclasses import replace

from rewardkit.expression import Reward
from rewardkit.functions import clip
from rewardkit.terms import length
from rewardkit.translate import patterns
from rewardkit.translate.combining import as_number, both, either, entries_of, extreme, scale
from rewardkit.translate.operators import Operators, plain
from rewardkit.translate.values import (
    Answer,
    Column,
    Constant,
    Counted,
    Difference,
    Field,
    Found,
    Gold,
    Items,
    Level,
    Message,
    Number,
    Text,
    Tokens,
    Truth,
    Unknown,
    Value,
)


class Builtins(Operators):
    """One method for each: its value, or None where nothing can be said."""

    def _call_len(self, tree: ast.Call, args: list[Value]) -> Value | None:
        value = Text() if isinstance(args[0], Message) else args[0]
        if isinstance(value, Tokens):
            return self.told(tree, Number(((length(unit="tokens"), 1.0),)))
        if isinstance(value, Found):
            counted = patterns.count(value)
            return Counted(counted.parts, level=counted.level, counted=value)
        measured = patterns.length_of(value)
        if measured is not None:
            return self.told(tree, *measured)
        entries = entries_of(value)
        if entries is not None:
            return Constant(len(entries))
        if isinstance(value, Gold):
            self.note(tree, Level.EQUAL, "a ground truth that can't be read is BAD_GOLD: unscored, not 0")
            return Constant(1)
        if isinstance(value, Answer):
            return self.lost(tree, "the length of a part of the response")
        return None

    def _call_float(self, tree: ast.Call, args: list[Value]) -> Value | None:
        (value,) = args[:1] or [Constant(0.0)]
        if isinstance(value, Answer):
            return replace(value, changes=(*value.changes, "float"))
        if isinstance(value, Gold):
            return replace(value, changed=True)
        if isinstance(value, Text):
            return Answer("number", changes=("float",), level=Level.SIMILAR)
        if isinstance(value, Number | Truth):
            return value if isinstance(value, Number) else as_number(value)
        return Constant(float(value.value)) if isinstance(value, Constant) and as_number(value) else None

    def _call_int(self, tree: ast.Call, args: list[Value]) -> Value | None:
        if args and isinstance(args[0], Number) and args[0].parts and not hasattr(args[0], "counted"):
            return None
        return self._call_float(tree, args)

    def _call_bool(self, tree: ast.Call, args: list[Value]) -> Value | None:
        return self.truth_of(tree, args[0])

    def _call_str(self, tree: ast.Call, args: list[Value]) -> Value | None:
        value = args[0] if args else Constant("")
        return value if isinstance(value, Text | Gold | Answer | Field) else None

    def _call_abs(self, tree: ast.Call, args: list[Value]) -> Value | None:
        if isinstance(args[0], Difference):
            return args[0]
        n = as_number(args[0])
        return None if n is None else extreme("max", [n, scale(n, -1.0)])

    def _call_min(self, tree: ast.Call, args: list[Value], which: str = "min") -> Value | None:
        if len(args) == 1:
            entries = entries_of(args[0])
            if entries is None:
                if isinstance(args[0], Column):
                    return self.lost(tree, "compares the responses of a batch; group_minmax(...) and group_rank(...) "
                                     "compare those of one prompt")  # fmt: skip
                return None
            args = list(entries)
        numbers = [as_number(a) for a in args]
        if not numbers or any(n is None for n in numbers):
            return None
        return plain(extreme(which, [n for n in numbers if n is not None]))

    def _call_max(self, tree: ast.Call, args: list[Value]) -> Value | None:
        return self._call_min(tree, args, "max")

    def _call_clip(self, tree: ast.Call, args: list[Value]) -> Value | None:
        numbers = [as_number(a) for a in args]
        if len(numbers) != 3 or any(n is None for n in numbers):
            return None
        x, low, high = (n for n in numbers if n is not None)
        if low.parts or high.parts:
            return None
        if not x.parts:
            return Constant(min(max(x.constant, low.constant), high.constant))
        node: Reward = clip(x.node(), low.constant, high.constant)
        return Number(((node, 1.0),), level=x.level)

    def _call_sum(self, tree: ast.Call, args: list[Value]) -> Value | None:
        entries = entries_of(args[0])
        if entries is None:
            return None
        total: Value = Constant(0.0)
        for entry in entries:
            total = self.binary(tree, ast.Add(), total, entry)
        return total

    def _call_all(self, tree: ast.Call, args: list[Value], is_and: bool = True) -> Value | None:
        entries = entries_of(args[0])
        if entries is None:
            return None
        joined: Truth | None = None
        for entry in entries:
            one = self.truth_of(tree, entry)
            if not isinstance(one, Truth):
                if isinstance(one, Constant) and bool(one.value) == is_and:
                    continue
                return one
            if joined is not None:
                one = both(joined, one) if is_and else either(joined, one)
            joined = one
        return Constant(is_and) if joined is None else joined

    def _call_any(self, tree: ast.Call, args: list[Value]) -> Value | None:
        return self._call_all(tree, args, is_and=False)

    def _call_zip(self, tree: ast.Call, args: list[Value]) -> Value | None:
        if args and any(isinstance(a, Column) for a in args):
            return Column(Items(tuple(a.entry if isinstance(a, Column) else a for a in args)))
        return None

    def _call_enumerate(self, tree: ast.Call, args: list[Value]) -> Value | None:
        if isinstance(args[0], Column):
            return Column(Items((Unknown("a row's place in its batch"), args[0].entry)))
        return None

    def _call_reversed(self, tree: ast.Call, args: list[Value]) -> Value | None:
        return args[0] if isinstance(args[0], Found) else None

    def _call_list(self, tree: ast.Call, args: list[Value]) -> Value | None:
        return args[0] if args else Items(())

    _call_tuple = _call_list

    def _call_set(self, tree: ast.Call, args: list[Value]) -> Value | None:
        value = args[0].value if args and isinstance(args[0], Constant) else None
        return Constant(tuple(dict.fromkeys(value))) if isinstance(value, tuple | str) else None

    def _call_isinstance(self, tree: ast.Call, args: list[Value]) -> Value | None:
        if not args or isinstance(args[0], Unknown):
            return None
        kinds = {n.id for n in ast.walk(tree.args[1]) if isinstance(n, ast.Name)} if len(tree.args) > 1 else set()
        if isinstance(args[0], Number | Truth):
            return Constant(bool(kinds & {"int", "float", "bool"}))
        is_text = isinstance(args[0], Text | Gold | Answer | Field)
        return Constant("str" in kinds) if is_text else Constant(bool(kinds & {"list", "dict", "tuple"}))
