"""The shapes in which data sets have their tests."""

from __future__ import annotations

import base64
import json
import pickle
import zlib
from typing import Any

import numpy as np
import pytest

from rewardkit.batch import Status
from rewardkit.programs.limits import Limits
from rewardkit.unit_tests.cases import BadTests, Rules
from rewardkit.unit_tests.ground_truth import read_tests

from .direct import Direct

SUM = "a, b = map(int, input().split())\nprint(a + b)\n"
OFF = "a, b = map(int, input().split())\nprint(a - b)\n"
ADD = "def add(a, b):\n    return a + b\n"
SUB = "def add(a, b):\n    return a - b\n"
METHOD = "class Solution:\n    def add(self, a: List[int], b: int) -> int:\n        return a + b\n"

STARTER = "class Solution:\n    def add(self, a: List[int], b: int) -> int:\n        "
CHECK = "def check(candidate):\n    assert candidate(1, 2) == 3\n"

SHAPES: list[tuple[str, Any, int, str, str]] = [
    # name, ground truth, tests, a right program, a wrong one
    ("prime_code, stdin", {"inputs": ["1 2\n", "3 4\n"], "outputs": ["3\n", "7\n"]}, 2, SUM, OFF),
    ("prime_code, lists of lines", {"inputs": [["1 2"]], "outputs": [["3"]], "fn_name": None}, 1, SUM, OFF),
    ("prime_code, a function", {"inputs": ["1\n2", "[1]\n[2]"], "outputs": ["3", "[1, 2]"], "fn_name": "add"}, 2,
     ADD, SUB),
    ("prime_code, a method", {"inputs": ["1\n2"], "outputs": ["3"], "fn_name": "add"}, 1, METHOD, SUB),
    ("APPS, a function", {"inputs": [[1, 2], [3, 4]], "outputs": [[3], [7]], "fn_name": "add"}, 2, ADD, SUB),
    ("APPS, its column", {"input_output": json.dumps({"inputs": ["1 2"], "outputs": ["3"]})}, 1, SUM, OFF),
    (
        "LiveCodeBench, a body",
        {"inputs": ["1\n2"], "outputs": ["3"], "fn_name": "add", "starter_code": STARTER},
        1,
        "        return a + b",
        SUB,
    ),
    (
        "CodeContests",
        {
            "public_tests": {"input": ["1 2"], "output": ["3"]},
            "private_tests": {"input": ["5 6"], "output": ["11"]},
            "generated_tests": {"input": [], "output": []},
        },
        2,
        SUM,
        OFF,
    ),
    ("open-r1", {"language": "python", "test_cases": [{"input": "1 2", "output": "3", "type": "stdin_stdout"}]}, 1,
     SUM, OFF),
    ("open-r1, wrapped", {"verification_info": {"test_cases": [{"input": "1 2", "output": "3"}]}}, 1, SUM, OFF),
    (
        "open-r1, a function",
        {"test_cases": [{"input": [1, 2], "output": 3, "type": "function_call", "fn_name": "add"}]},
        1,
        ADD,
        SUB,
    ),
    ("codeforces", {"official_tests": [{"input": "1 2", "output": "3"}], "generated_checker": None}, 1, SUM, OFF),
    (
        "DeepCoder",
        [{"input": "1\n2", "output": "3", "testtype": "functional", "metadata": {"func_name": "add"}}],
        1,
        ADD,
        SUB,
    ),
    (
        "LiveCodeBench, decoded",
        {
            "public_test_cases": json.dumps([{"input": "1\n2", "output": "3", "testtype": "functional"}]),
            "private_test_cases": json.dumps([{"input": "3\n4", "output": "7", "testtype": "functional"}]),
            "metadata": json.dumps({"func_name": "add"}),
        },
        2,
        ADD,
        SUB,
    ),
    (
        "HumanEval",
        {"prompt": "def add(a, b):\n", "entry_point": "add", "test": CHECK},
        1,
        ADD,
        SUB,
    ),
    ("MBPP", {"test_list": ["assert add(1, 2) == 3", "assert add(0, 2) == 2"], "test_setup_code": ""}, 2, ADD, SUB),
    ("MBPP, its setup", {"test_list": ["assert add(x, 2) == 3"], "test_setup_code": "x = 1"}, 1, ADD, SUB),
    ("AceCode", ["assert add(1, 2) == 3", "assert add(2, 2) == 4"], 2, ADD, SUB),
    ("verl's sandbox", {"assert_case": ["assert add(1, 2) == 3"], "inputs": [""], "outputs": [None]}, 1, ADD, SUB),
    ("KodCode", {"test": "from solution import add\n\ndef test_add():\n    assert add(1, 2) == 3\n"}, 1, ADD, SUB),
    ("Code-R1", {"functional": "def check(candidate):\n    assert candidate(1, 2) == 3\n\ncheck(add)"}, 1, ADD, SUB),
    ("plain assertions", "assert add(1, 2) == 3\nassert add(2, 2) == 4", 2, ADD, SUB),
    ("numbers as output", {"inputs": ["1 2"], "outputs": [3]}, 1, SUM, OFF),
    ("JSON keys that are numbers", {"inputs": [[{"1": 2}]], "outputs": [[{"1": 4}]], "fn_name": "f"}, 1,
     "def f(d): return {k: d[k] * 2 for k in (1,)}", "def f(d): return d"),
]  # fmt: skip


def run(ground_truth: Any, program: str) -> list[bool]:
    return [result.passed for result in read_tests(ground_truth).run(program, Direct(), Limits(), Rules())]


@pytest.mark.parametrize(("name", "truth", "n", "right", "wrong"), SHAPES, ids=[case[0] for case in SHAPES])
def test_shapes(name: str, truth: Any, n: int, right: str, wrong: str) -> None:
    forms = [truth] if isinstance(truth, str) else [truth, json.dumps(truth)]
    if isinstance(truth, dict):
        forms.append(
            {key: np.array(value, dtype=object) if isinstance(value, list) else value for key, value in truth.items()}
        )
    for form in forms:
        assert run(form, right) == [True] * n
        assert not all(run(form, wrong))


PICKLED = base64.b64encode(zlib.compress(pickle.dumps(json.dumps([{"input": "1", "output": "2"}])))).decode()

REFUSED = [
    (7, "int"),
    ("", "empty"),
    ("42", "neither JSON nor assertions"),
    ("{not json", "no JSON"),
    ({}, "fields"),
    ({"answer": "42"}, "fields are 'answer'"),
    ([], "no tests"),
    ([1], "test 1 is 1"),
    ({"inputs": ["1"], "outputs": []}, "1 inputs and 0 outputs"),
    ({"inputs": [], "outputs": []}, "no tests"),
    ({"inputs": ["1"]}, "NoneType"),
    ({"inputs": ["1"], "outputs": [""]}, "does nothing would pass"),
    ({"inputs": [{"a": 1}], "outputs": ["1"]}, "expected text"),
    ({"inputs": ["x y"], "outputs": ["1"], "fn_name": "f"}, "expected JSON"),
    ({"inputs": ["1"], "outputs": ["x"], "fn_name": "f"}, "expected JSON"),
    ({"inputs": ["1"], "outputs": ["1"], "fn_name": "f()"}, "name of a function"),
    ({"test_cases": [{"input": "1", "output": "1", "type": "functional"}]}, "neither `fn_name` nor"),
    ({"test_cases": [{"input": "1", "output": "1"}, {"input": "1", "output": "1", "fn_name": "f"}]}, "several kinds"),
    ({"inputs": ["1"], "outputs": ["1"], "input_mode": "file"}, "read files"),
    ({"inputs": ["1"], "outputs": ["1"], "checker": "magic"}, "expected its source, or one of tokens"),
    ({"public_test_cases": "[]", "private_test_cases": PICKLED, "metadata": "{}"}, "never opened"),
    ({"test": "def check(candidate): pass", "entry_point": "f"}, "tests nothing"),
    ({"test": "assert f( == 1", "entry_point": "f"}, "no Python"),
    ({"test": 7, "entry_point": "f"}, "expected text"),
    ({"test_list": ["assert f(1) =="]}, "no Python"),
    ("assert (" * 100_000, "no Python"),
]


@pytest.mark.parametrize(("truth", "reason"), REFUSED, ids=[case[1] for case in REFUSED])
def test_what_cannot_be_read_is_refused_with_its_reason(truth: Any, reason: str) -> None:
    with pytest.raises(BadTests, match=reason):
        read_tests(truth)


def test_an_output_in_a_list_of_one_is_taken_with_and_without_it_and_no_more() -> None:
    """Peers take the first entry of any list for the whole, and pay `3` where `[3, 4]` is right."""
    boxed = {"inputs": [[1, 2], [1, 3]], "outputs": [[3], [4]], "fn_name": "add"}
    assert all(run(boxed, "def add(a, b): return [a + b]"))
    listed = {"inputs": [[1], [2]], "outputs": [[1, 2], [2, 3]], "fn_name": "f"}
    assert run(listed, "def f(x): return x") == [False, False]
    assert all(run(listed, "def f(x): return (x, x + 1)"))


CHECKER = """\
import sys
given = open(sys.argv[1]).read().split()
right = open(sys.argv[2]).read().split()
mine = open(sys.argv[3]).read().split()
assert len(mine) == 2
print(int(int(mine[0]) + int(mine[1]) == int(given[0])))
"""


def test_a_checker_judges_outputs_of_which_several_are_right() -> None:
    truth = {"official_tests": [{"input": "5", "output": "1 4"}], "generated_checker": CHECKER}
    tests = read_tests(truth)
    assert getattr(tests, "checker", "") == CHECKER
    ruled = read_tests({"inputs": ["1"], "outputs": ["1\n2"], "checker": "lines"})
    assert [r.passed for r in ruled.run("print(1, 2)", Direct(), Limits(), Rules())] == [False]


def test_too_many_tests_are_refused() -> None:
    with pytest.raises(BadTests, match="over 10,000"):
        read_tests({"inputs": ["1"] * 10_001, "outputs": ["1"] * 10_001})


def test_nothing_of_a_ground_truth_is_run_by_reading_it() -> None:
    for text in ("assert __import__('os').abort() == f(1)", "assert f(__import__('os').abort()) == 1"):
        assert read_tests(text).calls in ("f", "")


def test_an_expected_value_is_never_divided_by_zero_for_the_program() -> None:
    result = next(iter(read_tests("assert 1 / f(1) == 1").run("def f(x): return 0", Direct(), Limits(), Rules())))
    assert (result.passed, result.status) == (False, Status.SCORED)
