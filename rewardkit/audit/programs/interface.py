"""How a row's tests call a program: by a function's name or by standard input, and the cases whose values are known.

The cases serve to write programs: one that answers all of them, for a row without a reference solution, and ones that
answer a few, or nearly right.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Case:
    """One test whose values are known.

    Attributes:
        given: standard input, or the arguments of the call.
        expected: standard output, or what the call returns.
    """

    given: Any
    expected: Any


@dataclass(frozen=True, slots=True)
class Interface:
    """What a program must offer.

    Attributes:
        entry: the function that the tests call; None for a program that reads standard input.
        cases: those that can be read as plain values; there may be others.
    """

    entry: str | None
    cases: tuple[Case, ...]


def interface_of(ground_truth: Any) -> Interface | None:
    """The interface of a ground truth of tests; None where it is none.

    Read are the shapes that data sets have: ``inputs`` and ``outputs``, with ``fn_name`` or without; ``test`` and
    ``entry_point``; a list of ``assert`` statements. Each may be an object or its JSON.
    """
    value = _plain(ground_truth)
    if isinstance(value, Mapping):
        if "inputs" in value and "outputs" in value:
            return _of_pairs(value)
        if isinstance(value.get("test"), str) and isinstance(value.get("entry_point"), str):
            entry = value["entry_point"]
            return Interface(entry, tuple(_asserted(value["test"], {"candidate", entry})))
        value = next((value[key] for key in ("asserts", "test_list", "tests") if key in value), None)
    if isinstance(value, Sequence) and not isinstance(value, str) and value:
        if all(isinstance(line, str) and "assert" in line for line in value):
            entry = next(filter(None, map(_called, value)), None)
            return None if entry is None else Interface(entry, tuple(_asserted("\n".join(value), {entry})))
        if all(isinstance(case, Mapping) and {"input", "output"} <= case.keys() for case in value):
            return Interface(None, tuple(Case(str(case["input"]), str(case["output"])) for case in value))
    return None


def _plain(value: Any) -> Any:
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(value)
        except ValueError:
            return None
    return value


def _of_pairs(value: Mapping[str, Any]) -> Interface | None:
    entry = value.get("fn_name")
    inputs, outputs = value["inputs"], value["outputs"]
    if not isinstance(inputs, Sequence) or not isinstance(outputs, Sequence) or len(inputs) != len(outputs):
        return None
    if entry is None:
        return Interface(None, tuple(Case(_text(i), _text(o)) for i, o in zip(inputs, outputs, strict=True)))
    try:
        return Interface(str(entry), tuple(map(_call, inputs, outputs)))
    except ValueError:
        return Interface(str(entry), ())


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "\n".join(map(str, value))


def _call(given: Any, expected: Any) -> Case:
    """A call whose arguments stand one a line as JSON, or in a list."""
    arguments = [json.loads(line) for line in given.split("\n")] if isinstance(given, str) else list(given)
    return Case(tuple(arguments), json.loads(expected) if isinstance(expected, str) else expected)


def _asserted(source: str, names: set[str]) -> Iterator[Case]:
    """The cases of `assert f(1, 2) == 3` and its kin: literal arguments and a literal result."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return
    for node in ast.walk(tree):
        if not isinstance(node, ast.Assert) or not isinstance(test := node.test, ast.Compare):
            continue
        if len(test.ops) != 1 or not isinstance(test.ops[0], ast.Eq | ast.Is) or not isinstance(test.left, ast.Call):
            continue
        call = test.left
        if isinstance(call.func, ast.Name) and call.func.id in names and not call.keywords:
            try:
                yield Case(tuple(map(ast.literal_eval, call.args)), ast.literal_eval(test.comparators[0]))
            except ValueError:
                continue


def _called(line: str) -> str | None:
    """The function that an assert is about: the first that it calls and that is not a builtin's wrapper."""
    try:
        tree = ast.parse(line)
    except SyntaxError:
        return None
    names = [n.func.id for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)]
    return next((name for name in names if name not in _WRAPPERS), names[0] if names else None)


_WRAPPERS = frozenset(
    {"set", "sorted", "list", "tuple", "len", "abs", "round", "sum", "str", "int", "float", "isclose"}
)
