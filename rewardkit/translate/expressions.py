"""What an expression of a reward function stands for. Nothing of the file runs: its syntax tree is read."""

from __future__ import annotations

import ast
from dataclasses import replace

from rewardkit.translate.calls import Calls
from rewardkit.translate.combining import as_number, entries_of, leveled
from rewardkit.translate.notes import Function, Scope
from rewardkit.translate.operators import why_not
from rewardkit.translate.values import (
    Answer,
    Column,
    Constant,
    Found,
    Gold,
    Info,
    Items,
    Message,
    Record,
    Text,
    Truth,
    Unknown,
    Value,
    Words,
)


class Expressions(Calls):
    """Evaluates expressions; statements and calls of the file's own functions are the subclass's."""

    def value(self, tree: ast.expr, scope: Scope) -> Value:
        """What an expression stands for."""
        method = getattr(self, f"_on_{type(tree).__name__.lower()}", None)
        if method is None:
            return self.lost(tree, "no counterpart in the algebra")
        found: Value = method(tree, scope)
        return found

    def _on_constant(self, tree: ast.Constant, scope: Scope) -> Value:
        return Constant(tree.value)

    def _on_name(self, tree: ast.Name, scope: Scope) -> Value:
        if tree.id in scope:
            return scope[tree.id]
        return self.lost(tree, f"{tree.id} is not set in this file")

    def _on_joinedstr(self, tree: ast.JoinedStr, scope: Scope) -> Value:
        pieces = [self.value(v.value if isinstance(v, ast.FormattedValue) else v, scope) for v in tree.values]
        if all(isinstance(p, Constant) for p in pieces):
            return Constant("".join(str(p.value) for p in pieces if isinstance(p, Constant)))
        return Unknown("a text that is put together")

    def _on_tuple(self, tree: ast.Tuple | ast.List | ast.Set, scope: Scope) -> Value:
        entries = tuple(self.value(e, scope) for e in tree.elts)
        if entries and all(isinstance(e, Constant) for e in entries):
            return Constant(tuple(e.value for e in entries if isinstance(e, Constant)))
        return Items(entries)

    _on_list = _on_tuple

    def _on_dict(self, tree: ast.Dict, scope: Scope) -> Value:
        found = []
        for key, value in zip(tree.keys, tree.values, strict=True):
            if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
                return Unknown("a dictionary whose keys are worked out")
            found.append((key.value, self.value(value, scope)))
        return Record(tuple(found))

    def _on_lambda(self, tree: ast.Lambda, scope: Scope) -> Value:
        return Function(tree, scope)

    def _on_namedexpr(self, tree: ast.NamedExpr, scope: Scope) -> Value:
        scope[tree.target.id] = found = self.value(tree.value, scope)
        return found

    def _on_await(self, tree: ast.Await, scope: Scope) -> Value:
        return self.value(tree.value, scope)

    def _on_attribute(self, tree: ast.Attribute, scope: Scope) -> Value:
        base = self.value(tree.value, scope)
        return base if isinstance(base, Unknown) else self.lost(tree, f"an attribute of {why_not(base)}")

    def _on_ifexp(self, tree: ast.IfExp, scope: Scope) -> Value:
        condition = self.truth(tree.test, scope)
        if isinstance(condition, Constant):
            return self.value(tree.body if condition.value else tree.orelse, scope)
        then, otherwise = self.value(tree.body, scope), self.value(tree.orelse, scope)
        if not isinstance(condition, Truth):
            self.blame(condition, "taken as false")
            return leveled(otherwise, condition)
        return self.choose(tree, condition, then, otherwise)

    def _on_subscript(self, tree: ast.Subscript, scope: Scope) -> Value:
        base = self.value(tree.value, scope)
        if isinstance(tree.slice, ast.Slice):
            return self._slice(tree, base, tree.slice, scope)
        index = self.value(tree.slice, scope)
        key = index.value if isinstance(index, Constant) else None
        if isinstance(base, Message):
            return Text() if key == "content" else base if key in (0, -1) else Unknown("a part of a message")
        if isinstance(base, Info):
            return self._entry(str(key), base)
        if isinstance(base, Record) and isinstance(key, str):
            return base.get(key) or Unknown(f"no {key!r} in it")
        if isinstance(base, Items | Constant) and isinstance(key, int):
            entries = base.entries if isinstance(base, Items) else base.value
            try:
                entry = entries[key]
            except (IndexError, TypeError):
                return Unknown("no such entry")
            return entry if isinstance(entry, Value) else Constant(entry)
        if isinstance(base, Found) and isinstance(key, int):
            return Answer(base.raw, base.tail, last=key == -1, found=base, level=base.level)
        if isinstance(base, Answer):
            return replace(base, changes=(*base.changes, f"[{key}]"))
        if isinstance(base, Gold):
            return replace(base, changed=True)
        if isinstance(base, Words):
            return Answer("a word", last=key == -1)
        return base if isinstance(base, Unknown) else self.lost(tree, f"a part of {why_not(base)}")

    def _slice(self, tree: ast.Subscript, base: Value, cut: ast.Slice, scope: Scope) -> Value:
        lower = self.value(cut.lower, scope) if cut.lower is not None else Constant(None)
        if isinstance(base, Text) and cut.upper is None and cut.step is None:
            n = as_number(lower)
            if n is not None and not n.parts and n.constant < 0:
                return replace(base, tail=-int(n.constant))
        if isinstance(base, Answer):
            return replace(base, changes=(*base.changes, "slice"))
        return self.lost(tree, "a slice of the response: terms read all of it")

    def _on_listcomp(self, tree: ast.ListComp | ast.GeneratorExp | ast.SetComp, scope: Scope) -> Value:
        if len(tree.generators) != 1:
            return self.lost(tree, "nested loops")
        (generator,) = tree.generators
        source = self.value(generator.iter, scope)
        entries = entries_of(source)
        if entries is not None:
            made = []
            for entry in entries:
                inner = dict(scope)
                self.bind(generator.target, entry, inner)
                if generator.ifs:
                    return self.lost(tree, "a loop with a condition")
                made.append(self.value(tree.elt, inner))
            return Items(tuple(made))
        if isinstance(source, Column) and not generator.ifs:
            inner = dict(scope)
            self.bind(generator.target, source.entry, inner)
            return Column(self.value(tree.elt, inner))
        return source if isinstance(source, Unknown) else self.lost(tree, f"a loop over {why_not(source)}")

    _on_generatorexp = _on_listcomp

    def bind(self, target: ast.expr, value: Value, scope: Scope) -> None:
        """Assign to names; what can't be taken apart is Unknown."""
        if isinstance(target, ast.Name):
            scope[target.id] = value
        elif isinstance(target, ast.Tuple | ast.List):
            entries = entries_of(value)
            if isinstance(value, Truth):  # a grader that also returns what it has found
                entries = (
                    value,
                    *(self.lost(target, "what a grader returns beside its verdict") for _ in target.elts[1:]),
                )
            for i, part in enumerate(target.elts):
                if entries is not None and len(entries) == len(target.elts):
                    self.bind(part, entries[i], scope)
                else:
                    lost = value if isinstance(value, Unknown) else self.lost(target, f"a part of {why_not(value)}")
                    self.bind(part, lost, scope)
        elif isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
            base, key = scope.get(target.value.id), self.value(target.slice, scope)
            if isinstance(base, Record) and isinstance(key, Constant) and isinstance(key.value, str):
                scope[target.value.id] = Record(tuple({**dict(base.entries), key.value: value}.items()))
            elif base is not None:
                scope[target.value.id] = self.lost(target, "an entry of a list that is set")
