"""Test code is split: what the program computes is asked of it, what is expected stays here.

``assert f([1, 2]) == 3`` becomes the call ``f([1, 2])``, which is sent to the program, and the comparison of what
comes back, which is made in this process on plain data. What can't be split so, a loop over random inputs or a
comparison by a helper function, is left whole for a second process that the program can't reach.

No test code runs here. Its syntax tree is read, and only the expressions of :mod:`rewardkit.unit_tests.plain` are
worked out. Arguments that aren't plain data (``f(Node(1))``, ``f(lambda x: x)``) and statements that make objects of
the program's own (``root = Node(1)``) go to the program as small functions behind its code.
"""

from __future__ import annotations

import ast
import builtins
import functools
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from rewardkit.unit_tests.plain import (
    BINARY,
    COMPARED,
    FUNCTIONS,
    GATHERING,
    MATH,
    TYPES,
    UNARY,
    Approximately,
    is_plain,
    method,
)

PREFIX: Final = "_rewardkit_"
"""What the names of the functions behind a program's code begin with."""
MAX_UNROLLED: Final = 1_000
"""Longest loop over given values that is unrolled (rounds)."""
_SOLUTIONS: Final = frozenset({"solution", "solutions", "main", "submission", "answer", "your_module", "__main__"})
"""Modules that test files import the program from."""
_BUILTINS: Final = frozenset(dir(builtins))


@dataclass(frozen=True, slots=True)
class Call:
    """A call in the program's process, with plain data."""

    function: str
    args: tuple[Any, ...] = ()
    kwargs: tuple[tuple[str, Any], ...] = ()


Ask = Callable[[Call], Any]
Expression = Callable[[Ask], Any]
"""An expression of a test: given a way to make its calls, its value."""


@dataclass(frozen=True, slots=True)
class Assertion:
    """One ``assert``: right where its value is true."""

    value: Expression
    text: str


@dataclass(frozen=True, slots=True)
class Script:
    """Assertions in order, and the calls without a result between them."""

    steps: tuple[Call | Assertion, ...]
    footer: str
    """Code behind the program's: the functions that steps call."""
    has_state: bool
    """Whether a step works on what an earlier one left in the program's process."""


class Unsplittable(Exception):
    """A part of test code that can't be split; the text says which."""


class NoValue(Exception):
    """A call of the program gave no value.

    Attributes:
        raised: the name of the exception that left it; empty where it ended in another way.
    """

    def __init__(self, reason: str, raised: str = "") -> None:
        super().__init__(reason)
        self.raised = raised


class _NotConstant(Exception):
    """An expression's value depends on the program."""


def _no_calls(call: Call) -> Any:
    raise _NotConstant(call.function)


def constant(expression: Expression) -> Any:
    """The value of an expression that asks the program nothing.

    Raises:
        Unsplittable: it asks something, or fails.
    """
    try:
        return expression(_no_calls)
    except _NotConstant as why:
        raise Unsplittable(f"it depends on {why}") from None
    except Exception as error:
        raise Unsplittable(f"it raises {type(error).__name__}: {error}") from None


@dataclass
class Names:
    """Whose the names in a test are."""

    entry: str = ""
    """The function that is tested, as an expression; empty: every name that is nobody else's is the program's."""
    aliases: frozenset[str] = frozenset()
    """Names that stand for the entry: the parameter of ``check``."""
    helpers: frozenset[str] = frozenset()
    """Functions and classes that the test itself defines."""
    header: frozenset[str] = frozenset()
    """Names that the prompt defines above the program: they exist in the program's process and are not its own."""
    imports: dict[str, str] = field(default_factory=dict)
    """By name: the statement that imports it."""

    def is_programs(self, name: str | None) -> bool:
        """Whether a name stands for something of the program's."""
        if name is None or name in self.helpers or name in self.imports:
            return False
        if self.entry:
            return name in self.aliases or name == _root_of(self.entry)
        return name not in _BUILTINS and name != "math"


@functools.lru_cache(maxsize=64)
def _root_of(entry: str) -> str | None:
    return root_name(ast.parse(entry, mode="eval").body)


def root_name(node: ast.expr) -> str | None:
    """The name that a chain of attributes, calls and subscripts begins with."""
    while isinstance(node, ast.Attribute | ast.Call | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else None


class Splitter:
    """Splits one block of statements, in order."""

    def __init__(self, names: Names, constants: dict[str, Expression] | None = None) -> None:
        self._names = names
        self.known: dict[str, Expression] = dict(constants or {})
        """Names with a value on this side."""
        self._inside: set[str] = set()
        """Names with a value in the program's process."""
        self._recipes: dict[str, ast.expr] = {}
        """Names whose values are no plain data and none of the program's: made anew wherever the program wants them."""
        self.steps: list[Call | Assertion] = []
        self._functions: list[str] = []

    def script(self) -> Script:
        """What has been split so far."""
        return Script(tuple(self.steps), "\n".join(self._functions), self.has_state)

    @property
    def has_state(self) -> bool:
        """Whether objects of the program live on from step to step."""
        return any(isinstance(step, Call) for step in self.steps)

    def statements(self, body: Iterable[ast.stmt]) -> None:
        """Split statements.

        Raises:
            Unsplittable: one of them can't be.
        """
        for statement in body:
            self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
        """Split one statement."""
        match node:
            case ast.Pass() | ast.Expr(value=ast.Constant() | ast.Name()):
                return
            case ast.Expr(value=ast.Call(func=ast.Name(id="print"))):
                return
            case ast.Import() | ast.ImportFrom():
                self._names.imports.update(imports_of(node))
            case ast.Assert():
                self._assert(node)
            case ast.Assign(targets=[target]):
                self._assign(target, node.value, node)
            case ast.AnnAssign(value=ast.expr() as value, target=target):
                self._assign(target, value, ast.Assign([target], value))
            case ast.Expr(value=ast.Call()) if self._is_programs(root_name(node.value)):
                self._do(node, moved=True)
            case ast.AugAssign() | ast.Delete() if self._is_inside(node):
                self._do(node)
            case ast.With(items=[ast.withitem(ast.Call(func, [ast.Name(id=name)], []), None)], body=[ast.Expr(inner)]):
                if ast.unparse(func) != "pytest.raises" or not self._is_programs(root_name(inner)):
                    raise Unsplittable(f"`{shown(node)}`")
                call = self._asked(inner)
                self.steps.append(Assertion(lambda ask: _raises(ask, call, name), shown(node)))
            case ast.For(orelse=[]):
                self._unroll(node)
            case _:
                raise Unsplittable(f"`{shown(node)}`")

    def _assert(self, node: ast.Assert) -> None:
        value = self.expression(node.test)
        try:
            if constant(value):
                return  # `assert True`
        except Unsplittable:
            self.steps.append(Assertion(value, shown(node)))
            return
        raise Unsplittable(f"`{shown(node)}`: no program could pass it")

    def _assign(self, target: ast.expr, value: ast.expr, node: ast.stmt) -> None:
        if not isinstance(target, ast.Name | ast.Tuple | ast.List):
            if root_name(target) not in self._inside:
                raise Unsplittable(f"`{shown(node)}`")
            self._do(node)
            return
        try:
            given = self.expression(value)
        except Unsplittable:
            names = [n for n in ast.walk(value) if isinstance(n, ast.Name)]
            own = {n.id for n in names if isinstance(n.ctx, ast.Store)}  # of comprehensions
            if any(self._is_programs(n.id) for n in names if n.id not in own):
                self._do(node)
            elif isinstance(target, ast.Name):
                self._forget(target.id)
                self._recipes[target.id] = value
            else:
                raise
            return
        try:
            self._bind(target, constant(given))
        except Unsplittable:
            if self._is_programs(root_name(value)) and isinstance(value, ast.Call):
                self._do(node)
            elif isinstance(target, ast.Name):
                self._know(target.id, given)
            else:
                raise

    def _forget(self, name: str) -> None:
        self.known.pop(name, None)
        self._recipes.pop(name, None)
        self._inside.discard(name)

    def _know(self, name: str, value: Expression) -> None:
        self._forget(name)
        self.known[name] = value

    def _bind(self, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Name):
            self._know(target.id, lambda _: value)
            return
        if not isinstance(target, ast.Tuple | ast.List) or len(target.elts) != len(value):
            raise Unsplittable(f"values for `{shown(target)}`")
        for part, entry in zip(target.elts, value, strict=True):
            self._bind(part, entry)

    def _unroll(self, node: ast.For) -> None:
        values = constant(self.expression(node.iter))
        if not isinstance(values, list | tuple | range | str | dict) or len(values) > MAX_UNROLLED:
            raise Unsplittable(f"`{shown(node.iter)}` in a loop")
        for value in values:
            self._bind(node.target, value)
            self.statements(node.body)

    # What the program's process does

    def _is_programs(self, name: str | None) -> bool:
        if name in self.known or name in self._recipes:
            return False
        return name in self._inside or self._names.is_programs(name)

    def _is_inside(self, node: ast.AST) -> bool:
        return any(isinstance(n, ast.Name) and n.id in self._inside for n in ast.walk(node))

    def _do(self, node: ast.stmt, *, moved: bool = False) -> None:
        """A statement that the program's process carries out.

        Args:
            node: the statement.
            moved: whether it may change what it is given: from then on those names live in the program's process.
        """
        if moved:
            for name in sorted({n.id for n in ast.walk(node) if isinstance(n, ast.Name)} & self.known.keys()):
                moving = ast.parse(f"{name} = {PREFIX}given").body[0]
                call = self._function(moving, {f"{PREFIX}given": constant(self.known.pop(name))})
                self._inside.add(name)
                self.steps.append(call)
        self.steps.append(self._function(node))

    def _function(self, node: ast.stmt | ast.expr, given: dict[str, Any] | None = None) -> Call:
        """A function behind the program's code that does what a node says; the names it needs from here are given."""
        given = dict(given or {})
        stored: set[str] = set()
        before: dict[str, None] = {}
        self._look(node, given, stored if isinstance(node, ast.stmt) else None, before)
        if not all(map(is_plain, given.values())):
            raise Unsplittable(f"`{shown(node)}`: what it is given is not plain data")
        for name in stored:
            self._forget(name)
        self._inside |= stored
        renamed = _Renamed(self._names, self._inside - given.keys()).visit(ast.parse(ast.unparse(node)).body[0])
        name = f"{PREFIX}{len(self._functions)}"
        lines = [f"def {name}({', '.join(given)}):", *(f"    {statement}" for statement in before)]
        if stored:
            lines.append(f"    global {', '.join(PREFIX + 'of_' + n for n in sorted(stored))}")
        text = ast.unparse(renamed)
        lines.append(f"    return {text}" if isinstance(node, ast.expr) else f"    {text}")
        self._functions.append("\n".join(lines) + "\n")
        return Call(name, tuple(given.values()))

    def _look(self, node: ast.AST, given: dict[str, Any], stored: set[str] | None, before: dict[str, None]) -> None:
        """Find what a function of a node needs: values from here, names that it sets, statements before it."""
        for n in ast.walk(node):
            if isinstance(n, ast.NamedExpr | ast.Await | ast.Yield | ast.YieldFrom):
                raise Unsplittable(f"`{shown(n)}`")
            if not isinstance(n, ast.Name) or n.id in given:
                continue
            name = n.id
            if isinstance(n.ctx, ast.Store) and stored is not None:
                stored.add(name)
            elif name in self._recipes:
                recipe = self._recipes[name]
                self._look(recipe, given, None, before)
                before[f"{name} = {ast.unparse(recipe)}"] = None
            elif name in self.known:
                given[name] = constant(self.known[name])
            elif name in self._names.imports and name not in self._inside:
                before[self._names.imports[name]] = None
            elif name in self._names.helpers:
                raise Unsplittable(f"`{name}`, which the test defines")

    def _asked(self, node: ast.expr) -> Expression:
        """An expression that the program's process works out: a call with plain data where it is one."""
        call = self._plain_call(node) or self._function(node)
        return lambda ask: ask(call)

    def _plain_call(self, node: ast.expr) -> Call | None:
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.func.id in self._inside:
            return None
        try:
            args = tuple(constant(self.expression(arg)) for arg in node.args)
            kwargs = tuple((k.arg, constant(self.expression(k.value))) for k in node.keywords if k.arg is not None)
        except Unsplittable:
            return None
        if len(kwargs) < len(node.keywords) or not all(map(is_plain, (*args, *(value for _, value in kwargs)))):
            return None
        name = node.func.id
        return Call(self._names.entry if name in self._names.aliases else name, args, kwargs)

    # What is worked out here

    def expression(self, node: ast.expr) -> Expression:
        """An expression of the test.

        Raises:
            Unsplittable: it can be worked out neither here nor by the program.
        """
        match node:
            case ast.Constant(value=value) if value is not ...:
                return lambda _: value
            case ast.Name(id=name):
                return self._name(name, node)
            case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts):
                make = {ast.List: list, ast.Tuple: tuple, ast.Set: set}[type(node)]
                each = [self.expression(part) for part in parts]
                return lambda ask: make(part(ask) for part in each)
            case ast.Dict(keys=keys, values=values):
                pairs = [(self._key(k), self.expression(v)) for k, v in zip(keys, values, strict=True)]
                return lambda ask: {key(ask): value(ask) for key, value in pairs}
            case ast.UnaryOp(op=op, operand=operand):
                unary, inner = UNARY[type(op)], self.expression(operand)
                return lambda ask: unary(inner(ask))
            case ast.BinOp(left=left, op=op, right=right) if type(op) in BINARY:
                binary, one, other = BINARY[type(op)], self.expression(left), self.expression(right)
                return lambda ask: binary(one(ask), other(ask))
            case ast.BoolOp(op=op, values=values):
                return _joined([self.expression(v) for v in values], isinstance(op, ast.And))
            case ast.Compare():
                return self._compared(node)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                truth, then, other = self.expression(test), self.expression(body), self.expression(orelse)
                return lambda ask: then(ask) if truth(ask) else other(ask)
            case ast.Subscript(value=value, slice=part) if self._is_here(node):
                whole, index = self.expression(value), self._index(part)
                return lambda ask: operator.getitem(whole(ask), index(ask))
            case ast.Attribute(value=ast.Name(id="math"), attr=name) if name in MATH and self._is_math():
                return lambda _: MATH[name]
            case ast.Call() if self._is_programs(root_name(node)):
                return self._asked(node)
            case ast.Call():
                return self._call(node)
            case ast.Attribute() | ast.Subscript() if self._is_programs(root_name(node)):
                return self._asked(node)
            case _:
                raise Unsplittable(f"`{shown(node)}`")

    def _is_here(self, node: ast.Subscript) -> bool:
        """Whether a part of a call's result is taken here: all of it is asked for then."""
        if not self._is_programs(root_name(node)):
            return True
        return isinstance(node.value, ast.Call | ast.Subscript) and root_name(node) not in self._inside

    def _is_math(self) -> bool:
        return not self._is_shadowed("math")

    def _key(self, node: ast.expr | None) -> Expression:
        if node is None:
            raise Unsplittable("`**` in a dict")
        return self.expression(node)

    def _name(self, name: str, node: ast.expr) -> Expression:
        if name in self.known:
            return self.known[name]
        if name in self._inside:
            return self._asked(node)
        if name in TYPES and not self._is_shadowed(name):
            made = TYPES[name]
            return lambda _: made
        raise Unsplittable(f"the name {name}")

    def _is_shadowed(self, name: str) -> bool:
        """Whether the test gives a name of Python's a meaning of its own."""
        return name in self.known or name in self._recipes or name in self._inside or name in self._names.helpers

    def _index(self, node: ast.expr) -> Expression:
        if not isinstance(node, ast.Slice):
            return self.expression(node)
        none: Expression = lambda _: None  # noqa: E731
        ends = [none if part is None else self.expression(part) for part in (node.lower, node.upper, node.step)]
        return lambda ask: slice(*(end(ask) for end in ends))

    def _compared(self, node: ast.Compare) -> Expression:
        for op, right in zip(node.ops, node.comparators, strict=True):
            if isinstance(op, ast.Is | ast.IsNot) and not _is_single(node.left) and not _is_single(right):
                raise Unsplittable(f"`{shown(node)}`: whether two values are one object")
        operands = [self.expression(part) for part in (node.left, *node.comparators)]
        rules = [COMPARED[type(op)] for op in node.ops]

        def value(ask: Ask) -> Any:
            left, holds = operands[0](ask), True
            for rule, right in zip(rules, operands[1:], strict=True):
                given = right(ask)
                holds = bool(rule(left, given))
                if not holds:
                    return False
                left = given
            return holds

        return value

    def _call(self, node: ast.Call) -> Expression:
        match node:
            case ast.Call(func=ast.Name(id=name), args=[ast.Call() as given]) if name in GATHERING:
                if self._is_programs(root_name(given)) and not self._is_shadowed(name):
                    return self._asked(node)
            case ast.Call(func=ast.Attribute(ast.Name("asyncio"), "run"), args=[ast.Call() as given], keywords=[]):
                if self._is_programs(root_name(given)):
                    return self._asked(node)
        args = [self.expression(arg) for arg in node.args]
        if any(k.arg is None or k.arg == "key" for k in node.keywords):
            raise Unsplittable(f"`{shown(node)}`")
        kwargs = {str(k.arg): self.expression(k.value) for k in node.keywords}
        match node.func:
            case ast.Name(id=name) if name in FUNCTIONS and not self._is_shadowed(name):
                function = FUNCTIONS[name]
            case ast.Attribute(value=ast.Name(id="math"), attr=name) if callable(MATH.get(name)) and self._is_math():
                function = MATH[name]
            case ast.Attribute(value=ast.Name(id="pytest"), attr="approx") if "pytest" in self._names.imports:
                function = Approximately
            case ast.Name(id="isclose") if self._names.imports.get("isclose") == "from math import isclose":
                function = MATH["isclose"]
            case ast.Attribute(value=value, attr=name) if not kwargs and root_name(value) not in self._names.imports:
                holder = self.expression(value)
                return lambda ask: method(holder(ask), name, [arg(ask) for arg in args])
            case _:
                raise Unsplittable(f"`{shown(node)}`")
        return lambda ask: function(*(arg(ask) for arg in args), **{k: value(ask) for k, value in kwargs.items()})


def _raises(ask: Ask, call: Expression, expected: str) -> bool:
    """Whether a call raises an exception of a class, which is known by its name alone."""
    try:
        call(ask)
    except NoValue as why:
        if not why.raised:
            raise
        known = [getattr(builtins, name, None) for name in (why.raised, expected)]
        if all(isinstance(c, type) for c in known) and issubclass(known[0], known[1]):  # type: ignore[arg-type]
            return True
        return why.raised == expected or expected == "Exception"
    return False


def _joined(values: Sequence[Expression], is_and: bool) -> Expression:
    def value(ask: Ask) -> Any:
        result: Any = is_and
        for part in values:
            result = part(ask)
            if bool(result) is not is_and:
                break
        return result

    return value


def _is_single(node: ast.expr) -> bool:
    """Whether there is only one object of this value: None, True, False, or a type."""
    return (isinstance(node, ast.Constant) and (node.value is None or isinstance(node.value, bool))) or (
        isinstance(node, ast.Name) and node.id in TYPES
    )


class _Renamed(ast.NodeTransformer):
    """Names as they are called in the program's process."""

    def __init__(self, names: Names, inside: set[str]) -> None:
        self._names, self._inside = names, inside

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in self._inside:
            return ast.Name(f"{PREFIX}of_{node.id}", node.ctx)
        if node.id in self._names.aliases:
            return ast.parse(self._names.entry, mode="eval").body
        return node


def imports_of(node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, str]]:
    """The names that a statement imports, each with a statement of its own; none where it imports the program."""
    if isinstance(node, ast.ImportFrom):
        if node.level or node.module in _SOLUTIONS:
            return
        for alias in node.names:
            yield alias.asname or alias.name, ast.unparse(ast.ImportFrom(node.module, [alias], 0))
        return
    for alias in node.names:
        if alias.name not in _SOLUTIONS:
            yield (alias.asname or alias.name).partition(".")[0], ast.unparse(ast.Import([alias]))


def shown(node: ast.AST) -> str:
    """A part of test code for messages."""
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 80 else f"{text[:77]}..."
