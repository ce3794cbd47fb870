"""How a row's tests call a program: by a function's name or by standard input, and the cases whose values are known.

The cases serve to write programs: one that answers all of them, for a row without a reference solution, and ones that
answer a few, or nearly right.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rewardkit.unit_tests.cases import BadTests
from rewardkit.unit_tests.ground_truth import read_tests
from rewardkit.unit_tests.printed import PrintedTests
from rewardkit.unit_tests.returned import ReturnedTests


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
    """The interface of a ground truth of tests, in the shapes of :mod:`rewardkit.unit_tests.ground_truth`.

    None where it holds no tests, or tests of more than one function.
    """
    if ground_truth is None or isinstance(ground_truth, int | float):
        return None
    try:
        tests = read_tests(ground_truth)
    except BadTests:
        return None
    if isinstance(tests, PrintedTests):
        return Interface(None, tuple(Case(case.stdin, case.expected) for case in tests.cases))
    if isinstance(tests, ReturnedTests):
        return Interface(tests.calls, tuple(Case(case.args, case.expected[0]) for case in tests.cases))
    if not tests.calls:
        return None
    return Interface(tests.calls, tuple(_asserted(_source(ground_truth), {"candidate", tests.calls})))


def _source(value: Any) -> str:
    """The test code of a ground truth."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        value = json.loads(value)
    if isinstance(value, Mapping):
        value = next((value[key] for key in ("test", "test_list", "assert_case", "tests") if key in value), "")
    return value if isinstance(value, str) else "\n".join(map(str, value))


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
