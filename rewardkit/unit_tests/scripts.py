"""Tests that are Python code: HumanEval's ``check(candidate)``, MBPP's assertions, functions of pytest."""

from __future__ import annotations

import ast
import builtins
import re
import sys
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from rewardkit.batch import Status
from rewardkit.programs.limits import Limits
from rewardkit.programs.outcome import Ending, Outcome
from rewardkit.programs.sandbox import Sandbox, Session
from rewardkit.unit_tests.cases import PASSED, BadTests, Result, Rules, stopped
from rewardkit.unit_tests.response import completed
from rewardkit.unit_tests.splitting import (
    PREFIX,
    Assertion,
    Call,
    Names,
    NoValue,
    Script,
    Splitter,
    Unsplittable,
    imports_of,
    shown,
)

MAX_TEST: Final = 1 << 20
"""Longest test code that is read (characters)."""


@dataclass(frozen=True, slots=True)
class Check:
    """Test code that can't be split: it runs in a process of its own, to which the program's functions are proxies.

    Attributes:
        test: the code.
        entry: the function that ``candidate`` stands for there.
        footer: code behind the program's.
        text: what to call it in messages.
    """

    test: str
    entry: str
    footer: str
    text: str


@dataclass(frozen=True, slots=True)
class ScriptTests:
    """Test code, split.

    Attributes:
        calls: the function that is tested; empty where it is not known or there are several.
        parts: scripts, of which each assertion is a test, and checks, of which each is one.
        prompt: the code that responses go on with; empty where there is none.
        header: the part of it above the function.
        setup: code that stands above the program and above tests that can't be split.
        imports: what the tests, the setup and the header import beside the standard library.
    """

    calls: str
    parts: tuple[Script | Check, ...]
    prompt: str = ""
    header: str = ""
    setup: str = ""
    imports: str = ""

    def __len__(self) -> int:
        return sum(
            sum(isinstance(step, Assertion) for step in part.steps) if isinstance(part, Script) else 1
            for part in self.parts
        )

    def run(self, code: str, sandbox: Sandbox, limits: Limits, rules: Rules) -> Generator[Result]:
        """Run the scripts and the checks in order."""
        above = "\n".join(part for part in (self.setup, self.header) if part.strip())
        program = completed(code, self.prompt, above)
        for part in self.parts:
            if isinstance(part, Script):
                with sandbox.open(f"{program}\n\n{part.footer}", limits) as session:
                    for result in _steps(part, session):
                        yield self._blamed(result, sandbox, limits)
            else:
                yield self._blamed(_check(part, program, above, sandbox, limits), sandbox, limits)

    def _blamed(self, result: Result, sandbox: Sandbox, limits: Limits) -> Result:
        """A failure is not the program's where the tests import what isn't there."""
        if result.passed or not self.imports or result.status is not Status.SCORED:
            return result
        outcome = sandbox.run(self.imports, "", limits)
        if outcome.ending is Ending.RAISED:
            why = f"its imports fail in the sandbox: {outcome.reason[:200]}; `packages` names what may be imported"
            return Result(False, Status.BAD_GOLD, why)
        return stopped(outcome) if outcome.ending is Ending.BROKEN else result


class _Stopped(NoValue):
    """A call gave no value."""

    def __init__(self, outcome: Outcome) -> None:
        self.result = stopped(outcome)
        raised = outcome.reason.partition(":")[0] if outcome.ending is Ending.RAISED else ""
        super().__init__(self.result.reason, raised)


def _steps(script: Script, session: Session) -> Generator[Result]:
    def ask(call: Call) -> Any:
        outcome = session.call(call.function, call.args, dict(call.kwargs), fresh=not script.has_state)
        if outcome.ending is not Ending.VALUE:
            raise _Stopped(outcome)
        return outcome.value

    for step in script.steps:
        if isinstance(step, Call):
            outcome = session.call(step.function, step.args, dict(step.kwargs), fresh=False)
            if outcome.ending is Ending.BROKEN:
                yield stopped(outcome)
            continue  # what it leaves undone fails the assertions after it
        try:
            passed = bool(step.value(ask))
        except _Stopped as why:
            yield why.result
        except Exception as error:  # the value is of a type that the assertion can't work with
            yield Result(False, reason=f"{step.text}: {type(error).__name__}: {error}"[:500])
        else:
            yield PASSED if passed else Result(False, reason=step.text)


def _check(check: Check, program: str, setup: str, sandbox: Sandbox, limits: Limits) -> Result:
    outcome = sandbox.check(f"{program}\n\n{check.footer}", check.test, check.entry, limits, setup=setup)
    if outcome.ending is not Ending.VALUE:
        return stopped(outcome)
    return PASSED if outcome.value is True else Result(False, reason=check.text)


def read_scripts(test: str, *, entry: str = "", prompt: str = "", setup: str = "") -> ScriptTests:
    """Read test code.

    Args:
        test: ``check(candidate)``, assertions, functions ``test_...`` without parameters, or a mixture.
        entry: the function that is tested, or ``Solution().method``; empty: the names that the tests leave open.
        prompt: the code that responses go on with.
        setup: code above the tests, such as imports.

    Raises:
        BadTests: it is no Python, or tests nothing.
    """
    if len(test) > MAX_TEST:
        raise BadTests(f"the test code is longer than {MAX_TEST:,} characters")
    module = _parsed(test, "the test code")
    return _Reader(module, entry, prompt, setup).tests()


def _parsed(source: str, what: str) -> ast.Module:
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise BadTests(f"{what} is no Python: {error}") from None


def header_of(prompt: str, entry: str) -> str:
    """The part of a prompt's code that stands above the function it asks for."""
    name = re.escape(entry.rpartition(".")[2])
    owner = re.escape(entry.partition("(")[0]) if "(" in entry else ""
    found = re.search(rf"^(?:(?:async[ \t]+)?def[ \t]+{name}|class[ \t]+{owner or name})\b", prompt, re.MULTILINE)
    header = prompt[: found.start()] if found is not None else prompt
    try:
        ast.parse(header)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # a prompt in words
        return ""
    return header


def _defined(tree: ast.Module) -> frozenset[str]:
    """The names that code at the top of a module defines."""
    names: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names.update(name for name, _ in imports_of(node))
        else:
            names.update(n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
    return frozenset(names)


class _Reader:
    """Reads one piece of test code."""

    def __init__(self, module: ast.Module, entry: str, prompt: str, setup: str) -> None:
        self._module = module
        self._prompt, self._setup = prompt, setup
        self._check = next(
            (n for n in module.body if isinstance(n, ast.FunctionDef) and n.name == "check" and len(n.args.args) <= 1),
            None,
        )
        self._entry = entry or self._checked_by_the_test()
        self._header = header_of(prompt, self._entry) if self._entry else ""
        above = f"{setup}\n{self._header}"
        self._above = _parsed(above, "the setup code")
        self._names = self._read_names()

    def _checked_by_the_test(self) -> str:
        """The entry that a test names itself: ``check(Solution().solve)`` at its end."""
        for node in self._module.body:
            match node:
                case ast.Expr(value=ast.Call(func=ast.Name(id="check"), args=[ast.expr() as given])):
                    return ast.unparse(given)
        return ""

    def _read_names(self) -> Names:
        helpers = {
            node.name
            for node in self._module.body
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not self._is_block(node)
        }
        aliases = {"candidate"} if self._entry else set()
        if self._check is not None:
            aliases |= {a.arg for a in self._check.args.args}
        imports: dict[str, str] = {}
        for node in (*self._above.body, *self._module.body):
            if isinstance(node, ast.Import | ast.ImportFrom):
                imports.update(imports_of(node))
        header = _defined(self._above) - imports.keys()
        return Names(self._entry, frozenset(aliases), frozenset(helpers), header, imports)

    def _is_block(self, node: ast.stmt) -> bool:
        return node is self._check or (
            isinstance(node, ast.FunctionDef)
            and node.name.startswith("test")
            and not (node.args.args or node.args.posonlyargs or node.args.kwonlyargs or node.decorator_list)
        )

    def tests(self) -> ScriptTests:
        """The tests, split where they can be."""
        try:
            parts = self._split()
        except Unsplittable as why:
            parts = (self._whole(str(why)),)
        imports = self._imports(parts)
        entry = self._entry or self._only_name()
        made = ScriptTests(entry, parts, self._prompt, self._header, self._setup, imports)
        if not len(made):
            raise BadTests("the test code tests nothing")
        return made

    def _imports(self, parts: Sequence[Script | Check]) -> str:
        """The imports beside the standard library without which no program could pass."""
        lines = [line for line in dict.fromkeys(self._names.imports.values()) if not _is_standard(line)]
        if not any(isinstance(part, Check) for part in parts):
            inside = "\n".join((ast.unparse(self._above), *(part.footer for part in parts)))
            lines = [line for line in lines if line in inside]
        return "\n".join(lines)

    def _split(self) -> tuple[Script | Check, ...]:
        parts: list[Script | Check] = []
        top = Splitter(self._names)
        asserts: list[ast.stmt] = []
        for node in self._module.body:
            match node:
                case ast.FunctionDef() | ast.ClassDef() if not self._is_block(node):
                    continue
                case ast.FunctionDef():
                    if top.steps or asserts:
                        raise Unsplittable("functions of tests behind other tests")
                    splitter = Splitter(self._names, top.known)
                    parts += self._block(node.body, splitter)
                case ast.Expr(value=ast.Call(func=ast.Name(id="check"))) if self._check is not None:
                    continue
                case ast.Expr(value=ast.Call(func=ast.Name(id=name))) if name.startswith("test"):
                    continue
                case ast.If(test=ast.Compare(left=ast.Name(id="__name__"))):
                    continue
                case ast.Import() | ast.ImportFrom():
                    continue
                case ast.Assert():
                    asserts.append(node)
                case _ if not asserts:
                    top.statement(node)
                case _:
                    asserts.append(node)
        return (*parts, *self._block(asserts, top))

    def _block(self, body: Sequence[ast.stmt], splitter: Splitter) -> list[Script | Check]:
        """One script; assertions of it that can't be split are checks of their own, with what stands before them."""
        checks: list[Script | Check] = []
        before: list[ast.stmt] = []
        for node in body:
            if not isinstance(node, ast.Assert):
                splitter.statement(node)
                before.append(node)
                continue
            try:
                splitter.statement(node)
            except Unsplittable:
                if splitter.has_state:
                    raise
                checks.append(self._checked([*before, node], shown(node)))
        return [*([splitter.script()] if splitter.steps else []), *checks]

    def _whole(self, why: str) -> Check:
        return self._checked(None, f"the test code as a whole ({why})")

    def _checked(self, body: list[ast.stmt] | None, text: str) -> Check:
        """A check of some statements with what they may use; None: of all the test code."""
        kept = [node for node in self._module.body if not _is_own_import(node)]
        if body is None:
            blocks = [n for n in kept if isinstance(n, ast.FunctionDef) and self._is_block(n) and n is not self._check]
            statements = [n for n in kept if not self._runs_check(n)]
            ends = [ast.parse(f"{block.name}()").body[0] for block in blocks]
        else:
            given = [n for n in kept if not self._is_block(n) and not isinstance(n, ast.Assert | ast.Expr)]
            statements = [*(n for n in given if n not in body), *body]
            ends = []
        check = self._check if body is None else None
        tree = ast.Module([*statements, *ends], [])
        open_names = sorted(self._open_names(tree))
        if not open_names or (self._entry and set(open_names) <= {self._entry}):
            return Check(ast.unparse(tree), self._entry or "candidate", "", text)
        if not self._entry and len(open_names) == 1:
            return Check(ast.unparse(tree), open_names[0], "", text)
        return self._with_proxies(tree, open_names, check, text)

    def _with_proxies(self, tree: ast.Module, names: list[str], check: ast.FunctionDef | None, text: str) -> Check:
        """A check whose code calls several functions of the program: all of them go through one."""
        dispatch = f"{PREFIX}dispatch"
        footer = f"def {dispatch}(name, args, kwargs):\n    return eval(name)(*args, **kwargs)\n"
        lines = [
            f"def {name}(*args, **kwargs):\n    return {dispatch}({name!r}, args, kwargs)\n"
            for name in names
            if name.isidentifier()
        ]
        source = ast.unparse(tree)
        if self._entry:
            lines.append(f"def {PREFIX}entry(*args, **kwargs):\n    return {dispatch}({self._entry!r}, args, kwargs)\n")
            lines.append(f"candidate = {PREFIX}entry\n")
        if check is not None:
            source += f"\n{PREFIX}check = check\ndel check\n"
            source += f"{PREFIX}check({PREFIX}entry)\n" if check.args.args else f"{PREFIX}check()\n"
        return Check("\n".join((*lines, source)), dispatch, footer, text)

    def _runs_check(self, node: ast.stmt) -> bool:
        match node:
            case ast.Expr(value=ast.Call(func=ast.Name(id=name))):
                return name == "check" or name.startswith("test")
            case ast.If(test=ast.Compare(left=ast.Name(id="__name__"))):
                return True
        return False

    def _open_names(self, tree: ast.AST) -> set[str]:
        """Names that test code uses and nobody defines: they are the program's."""
        used: set[str] = set()
        bound = set(self._names.header | self._names.imports.keys() | self._names.helpers)
        for node in ast.walk(tree):
            if isinstance(node, ast.Name):
                (used if isinstance(node.ctx, ast.Load) else bound).add(node.id)
            elif isinstance(node, ast.arg):
                bound.add(node.arg)
            elif isinstance(node, ast.FunctionDef | ast.ClassDef | ast.ExceptHandler):
                bound.add(node.name or "")
            elif isinstance(node, ast.Import | ast.ImportFrom):
                bound.update(name for name, _ in imports_of(node))
        return used - bound - _BUILTINS - {"candidate"}

    def _only_name(self) -> str:
        """The one function that tests without a named entry call; empty where they call several."""
        names = self._open_names(self._module)
        return names.pop() if len(names) == 1 else ""


_BUILTINS: Final = frozenset(dir(builtins)) | {"__name__"}


def _is_standard(statement: str) -> bool:
    """Whether an import is of the standard library."""
    return statement.split()[1].partition(".")[0] in sys.stdlib_module_names


def _is_own_import(node: ast.stmt) -> bool:
    """Whether a statement imports the program."""
    return isinstance(node, ast.ImportFrom | ast.Import) and not dict(imports_of(node))
