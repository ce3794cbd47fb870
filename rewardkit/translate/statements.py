"""What a reward function returns, by its statements: branches become `when`, loops over the rows become one row.

A variable that one branch sets and the other doesn't keeps both values under the branch's condition; that is how
`score += 0.5` under an `if` becomes a summand.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, Literal

from rewardkit.translate.combining import entries_of, merged
from rewardkit.translate.expressions import Expressions
from rewardkit.translate.notes import Function, Scope
from rewardkit.translate.values import (
    Answer,
    Column,
    Constant,
    Found,
    Items,
    Level,
    Raised,
    Record,
    Truth,
    Unknown,
    Value,
)

_DEEPEST: Final = 12
"""Calls within calls of the file's functions."""
_MOST_BRANCHES: Final = 2000


_WITHOUT_EFFECT: Final = (
    ast.Pass, ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal, ast.Assert, ast.ClassDef, ast.Delete,
)  # fmt: skip
_KINDS: Final = {
    ast.While: "a loop whose end depends on the response",
    ast.Match: "`match` has no counterpart",
    ast.Try: "an exception that is raised and caught",
}
_LEAVES: Final = (ast.Return, ast.Raise, ast.Global, ast.Nonlocal)


@dataclass
class Flow:
    """Where a block of statements ends up."""

    kind: Literal["falls", "returns", "goes on", "breaks"]
    scope: Scope
    value: Value = Constant(None)  # noqa: RUF009  (frozen)


@dataclass(frozen=True)
class Bind:
    """Sets a loop's variable, in a loop that is written out."""

    target: ast.expr
    value: Value


Step = ast.stmt | Bind


class Reader(Expressions):
    """Reads the functions of a file."""

    def __init__(self, source: str) -> None:
        super().__init__(source)
        self._depth = 0
        self._branches = 0
        self._over_rows = 0
        self._guessed = False  # whether a branch that returns was left out of the function being read

    def returned(self, function: Function, given: Scope) -> Value:
        """What a function returns for these arguments.

        Args:
            function: the function.
            given: values of its parameters; those left out take their default, or are Unknown.
        """
        scope: Scope = dict(function.scope)
        arguments = function.tree.args
        names = [a.arg for a in (*arguments.posonlyargs, *arguments.args)]
        defaults = dict(zip(names[len(names) - len(arguments.defaults) :], arguments.defaults, strict=True))
        defaults |= {
            a.arg: d for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if d is not None
        }
        for name in (*names, *(a.arg for a in arguments.kwonlyargs)):
            if name in given:
                scope[name] = given[name]
            elif name in defaults:
                scope[name] = self.value(defaults[name], dict(function.scope))
            else:
                scope[name] = Unknown(f"the argument {name} is not given")
        if arguments.kwarg is not None and arguments.kwarg.arg in given:
            scope[arguments.kwarg.arg] = given[arguments.kwarg.arg]
        if isinstance(function.tree, ast.Lambda):
            return self.value(function.tree.body, scope)
        before, self._guessed = self._guessed, False
        flow = self.block(function.tree.body, scope)
        value = flow.value if flow.kind == "returns" else Constant(None)
        guessed, self._guessed = self._guessed, before
        return _left_out(value) if guessed else value

    def call(self, tree: ast.Call, function: Function, args: list[Value], named: Scope) -> Value:
        """A call of a function of the file: what it returns, with these arguments."""
        if self._depth >= _DEEPEST:
            return self.lost(tree, "functions that call each other too deep")
        parameters = function.tree.args
        names = [a.arg for a in (*parameters.posonlyargs, *parameters.args)]
        self._depth += 1
        try:
            return self.returned(function, {**dict(zip(names, args, strict=False)), **named})
        finally:
            self._depth -= 1

    # -- statements

    def block(self, steps: Sequence[Step], scope: Scope, after: Sequence[Step] = ()) -> Flow:
        """Run statements on a scope, which they change.

        Args:
            steps: the statements.
            scope: the variables.
            after: what follows the block, for branches that part for good inside it.
        """
        for i, step in enumerate(steps):
            rest = steps[i + 1 :]
            if isinstance(step, Bind):
                self.bind(step.target, step.value, scope)
                continue
            if isinstance(step, ast.If):
                flow = self._if(step, [*rest, *after], scope)
                if flow is None:
                    continue
                return flow
            inlined = self._inlined(step, scope)
            if inlined is not None:
                return self.block([*inlined, *rest], scope, after)
            flow = self._statement(step, scope)
            if flow.kind != "falls":
                return flow
            scope = flow.scope
        return Flow("falls", scope)

    def _inlined(self, s: ast.stmt, scope: Scope) -> list[Step] | None:
        """Statements that are others in a row: `with`, `try`, and a loop over what the file spells out."""
        if isinstance(s, ast.With):
            return list(s.body)
        if isinstance(s, ast.Try):
            if s.handlers and any(isinstance(n, ast.Raise) for part in s.body for n in ast.walk(part)):
                return None
            if any(isinstance(n, ast.Return | ast.Assign) for h in s.handlers for n in ast.walk(h)):
                self.note(s.handlers[0], Level.EQUAL, "in the formula no exception is caught: what fails has a status")
            return [*s.body, *s.orelse, *s.finalbody]
        if isinstance(s, ast.For) and not any(isinstance(n, ast.Break | ast.Continue) for n in ast.walk(s)):
            entries = entries_of(self.value(s.iter, scope))
            if entries is not None:
                steps: list[Step] = []
                for entry in entries:
                    steps += [Bind(s.target, entry), *s.body]
                return steps
        return None

    def _statement(self, s: ast.stmt, scope: Scope) -> Flow:
        if isinstance(s, ast.Return):
            return Flow("returns", scope, self.value(s.value, scope) if s.value is not None else Constant(None))
        if isinstance(s, ast.Raise):
            return Flow("returns", scope, Raised())
        if isinstance(s, ast.Continue):
            return Flow("goes on", scope)
        if isinstance(s, ast.Break):
            return Flow("breaks", scope)
        if isinstance(s, ast.Assign):
            value = self.value(s.value, scope)
            for target in s.targets:
                self.bind(target, value, scope)
        elif isinstance(s, ast.AnnAssign):
            if s.value is not None:
                self.bind(s.target, self.value(s.value, scope), scope)
        elif isinstance(s, ast.AugAssign):
            self._augmented(s, scope)
        elif isinstance(s, ast.FunctionDef | ast.AsyncFunctionDef):
            scope[s.name] = Function(s, scope)
        elif isinstance(s, ast.For):
            return self._for(s, scope)
        elif isinstance(s, ast.Expr):
            self._expression(s.value, scope)
        elif not isinstance(s, _WITHOUT_EFFECT):
            self._forget(s, scope, _KINDS.get(type(s), "a statement of its kind has no counterpart"))
        return Flow("falls", scope)

    def _if(self, s: ast.If, rest: Sequence[Step], scope: Scope) -> Flow | None:
        """None where both branches fall through: the scope then holds what they leave."""
        condition = self.truth(s.test, scope)
        if isinstance(condition, Constant):
            flow = self.block(s.body if condition.value else s.orelse, scope, rest)
            return None if flow.kind == "falls" else flow
        if not isinstance(condition, Truth):
            # An absent bonus or guard is the nearer guess. An `if` that pays nothing and sets nothing is no loss.
            both = [*s.body, *s.orelse]
            pays = any(isinstance(n, ast.Return | ast.Continue | ast.Break) for part in both for n in ast.walk(part))
            names = _assigned(both) | _appended(both)
            if pays or names:
                self.blame(condition, "taken as false" + (f": {', '.join(sorted(names))}" if names else ""))
            self._guessed |= pays
            flow = self.block(s.orelse, scope, rest)
            scope.update({name: _left_out(scope[name]) for name in names if name in scope})
            return None if flow.kind == "falls" else flow
        self._branches += 1
        if self._branches > _MOST_BRANCHES:
            return Flow("returns", scope, self.lost(s.test, "more branches than can be followed"))
        then, otherwise = self.block(s.body, dict(scope), rest), self.block(s.orelse, dict(scope), rest)
        if then.kind == otherwise.kind == "falls":
            scope.update(merged(condition, then.scope, otherwise.scope, partial(self.choose, s)))
            return None
        if then.kind == "falls":
            then = self.block(rest, then.scope)
        if otherwise.kind == "falls":
            otherwise = self.block(rest, otherwise.scope)
        return self._joined(s, condition, then, otherwise)

    def _joined(self, s: ast.If, condition: Truth, then: Flow, otherwise: Flow) -> Flow:
        kinds = {then.kind, otherwise.kind}
        if kinds <= {"falls", "goes on", "breaks"}:
            kind = "breaks" if "breaks" in kinds else "falls"
            return Flow(kind, merged(condition, then.scope, otherwise.scope, partial(self.choose, s)))  # type: ignore[arg-type]
        values = [flow.value if flow.kind == "returns" else Constant(None) for flow in (then, otherwise)]
        return Flow("returns", then.scope, self.choose(s, condition, *values))

    def _augmented(self, s: ast.AugAssign, scope: Scope) -> None:
        load = copy.copy(s.target)
        load.ctx = ast.Load()
        changed = self.binary(s, s.op, self.value(load, scope), self.value(s.value, scope))
        self.bind(s.target, changed, scope)

    def _for(self, s: ast.For, scope: Scope) -> Flow:
        over = self.value(s.iter, scope)
        if isinstance(over, Found) and any(isinstance(n, ast.Break) for n in ast.walk(s)) and not _leaves([s]):
            backwards = isinstance(s.iter, ast.Call) and ast.unparse(s.iter).startswith("reversed")
            self.bind(s.target, Answer(over.raw, over.tail, backwards, ("search",), over, level=over.level), scope)
            return Flow("falls", scope)
        if isinstance(over, Column):
            self._over_rows += 1
            inner = dict(scope)
            self.bind(s.target, over.entry, inner)
            flow = self.block(s.body, inner)
            self._over_rows -= 1
            if flow.kind in ("falls", "goes on"):
                return Flow("falls", flow.scope)
            self._forget(s, scope, "a loop over the rows that ends early")
            return Flow("falls", scope)
        self._forget(
            s, scope, over.why if isinstance(over, Unknown) else "a loop that ends early, or over the response"
        )
        return Flow("falls", scope)

    def _expression(self, tree: ast.expr, scope: Scope) -> None:
        """An expression alone: what it changes."""
        if not isinstance(tree, ast.Call):
            return
        if isinstance(tree.func, ast.Name):
            called = scope.get(tree.func.id)
            if isinstance(called, Function) and _leaves([called.tree]):
                self.blame(self.lost(tree, "a call that may raise or set what is outside of it"), "left out")
                self._guessed = True
            return
        if not (isinstance(tree.func, ast.Attribute) and isinstance(tree.func.value, ast.Name)):
            return
        name, known = tree.func.value.id, scope.get(tree.func.value.id)
        if not isinstance(known, Items | Column | Record):
            return
        if tree.func.attr != "append" or not tree.args or isinstance(known, Record):
            scope[name] = self.lost(tree, f".{tree.func.attr}(...) of a {type(known).__name__.lower()}")
            return
        value = self.value(tree.args[0], scope)
        if self._over_rows and (isinstance(known, Column) or known == Items(())):
            scope[name] = Column(value)
        elif isinstance(known, Items):
            scope[name] = replace(known, entries=(*known.entries, value))
        else:
            scope[name] = self.lost(tree, "a list that is filled in a loop")

    def _forget(self, s: ast.stmt, scope: Scope, why: str) -> None:
        names = _assigned([s]) | _appended([s])
        unknown = self.lost(s, f"{why}, which sets {', '.join(sorted(names))}" if names else why)
        scope.update(dict.fromkeys(names, unknown))
        if _leaves([s]):
            self.blame(unknown, "it may return or raise, and is taken not to")
            self._guessed = True


def _leaves(trees: Sequence[ast.AST]) -> bool:
    """Whether what is in there may end the function, or set what is outside of it."""
    return any(isinstance(n, _LEAVES) for tree in trees for n in ast.walk(tree))


def _assigned(statements: Sequence[ast.stmt]) -> set[str]:
    return {
        node.id
        for statement in statements
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    } | {
        node.value.id
        for statement in statements
        for node in ast.walk(statement)
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name)
    }


def _appended(statements: Sequence[ast.stmt]) -> set[str]:
    return {
        node.func.value.id
        for statement in statements
        for node in ast.walk(statement)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("append", "extend", "insert", "update", "setdefault", "pop", "remove", "sort")
        and isinstance(node.func.value, ast.Name)
    }


def _left_out(value: Value) -> Value:
    """The value, as one of which a part is missing."""
    if isinstance(value, Column):
        return Column(_left_out(value.entry))
    return replace(value, level=Level.LEFT_OUT)
