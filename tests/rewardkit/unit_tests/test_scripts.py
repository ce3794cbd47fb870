"""Test code is split: what is expected stays outside, and what can't be split runs apart from the program."""

from __future__ import annotations

import pytest

from rewardkit.batch import Status
from rewardkit.programs.limits import Limits
from rewardkit.unit_tests.cases import BadTests, Result, Rules
from rewardkit.unit_tests.ground_truth import read_tests
from rewardkit.unit_tests.scripts import Check, Script, ScriptTests, read_scripts

from .direct import Direct


def results(tests: object, program: str) -> tuple[list[Result], Direct]:
    assert isinstance(tests, ScriptTests)
    sandbox = Direct()
    return list(tests.run(program, sandbox, Limits(), Rules())), sandbox


def passes(tests: object, program: str) -> bool:
    return all(result.passed for result in results(tests, program)[0])


def parts(tests: object) -> list[type]:
    assert isinstance(tests, ScriptTests)
    return [type(part) for part in tests.parts]


SPLIT = [
    # assertion, a right program, a wrong one
    ("assert f(2) == 4", "def f(x): return x * x", "def f(x): return 5"),
    ("assert f(2) == 4, 'a message'", "def f(x): return x * x", "def f(x): return '4'"),
    ("assert 4 == f(2)", "def f(x): return x * x", "def f(x): return 2"),
    ("assert f(2) == 4.0", "def f(x): return 4", "def f(x): return 4.1"),
    ("assert f(True) is True", "def f(x): return x", "def f(x): return 1"),
    ("assert f(0) is None", "def f(x): pass", "def f(x): return False"),
    ("assert f(0) is not None", "def f(x): return 0", "def f(x): pass"),
    ("assert not f(3)", "def f(x): return []", "def f(x): return [0]"),
    ("assert f(3)", "def f(x): return 'yes'", "def f(x): return ''"),
    ("assert f(2) != 4", "def f(x): return 5", "def f(x): return 4"),
    ("assert abs(f(2) - 1.41) < 0.01", "def f(x): return x ** 0.5", "def f(x): return float('nan')"),
    (
        "import math\nassert math.isclose(f(2), 1.4142, rel_tol=1e-3)",
        "def f(x): return x ** 0.5",
        "def f(x): return 1.4",
    ),
    ("from math import isclose\nassert isclose(f(2), 2 ** 0.5)", "def f(x): return x ** 0.5", "def f(x): return 1.41"),
    ("assert set(f(3)) == {0, 1, 2}", "def f(n): return [2, 1, 0, 0]", "def f(n): return [0, 1]"),
    ("assert sorted(f(3)) == sorted([2, 0, 1])", "def f(n): return {0, 1, 2}", "def f(n): return [0, 1, 2, 2]"),
    ("assert len(f(3)) == 3 and f(3)[0] == 0", "def f(n): return list(range(n))", "def f(n): return [1, 2, 3]"),
    ("assert f(1) in (1, 2)", "def f(n): return 2", "def f(n): return 3"),
    ("assert 'b' in f('a')", "def f(t): return t + 'b'", "def f(t): return t"),
    ("assert 1 <= f(0) < 3", "def f(n): return 2", "def f(n): return 3"),
    ("assert f(1) == 1 or f(1) == 2", "def f(n): return 2", "def f(n): return 3"),
    ("assert f([1, 2], key='a') == (1, 2)", "def f(x, key): return tuple(x)", "def f(x, key): return list(x)"),
    ("assert f({'a': [1]})['a'][0] == 1", "def f(d): return d", "def f(d): return {'a': [2]}"),
    ("assert f(-1) == float('inf')", "def f(x): return float('inf')", "def f(x): return 1e308"),
    ("assert isinstance(f(1), (int, str))", "def f(x): return 'a'", "def f(x): return 1.0"),
    ("assert type(f(1)) is int", "def f(x): return 1", "def f(x): return True"),
    ("assert f(g(3)) == 4", "def g(x): return x - 1\ndef f(x): return x + 2", "def g(x): return x\ndef f(x): return x"),
    ("assert f(range(3)) == 3", "def f(x): return sum(x)", "def f(x): return len(x) - 1"),
    ("assert f(lambda x: x + 1, 1) == 2", "def f(g, x): return g(x)", "def f(g, x): return x"),
    ("assert f([i for i in range(4)]) == 6", "def f(x): return sum(x)", "def f(x): return max(x)"),
    ("assert f('ab').upper() == 'AB'", "def f(x): return x", "def f(x): return x[0]"),
    (
        "assert Solution().f(2) == 4",
        "class Solution:\n    def f(self, x): return 4",
        "class Solution:\n    def f(self, x): 5",
    ),
    ("x = [3, 1]\nwant = [1, 3]\nassert f(x) == want", "def f(x): return sorted(x)", "def f(x): return x"),
    ("got = f([3, 1])\nassert got == [1, 3]", "def f(x): return sorted(x)", "def f(x): return x"),
    ("ok = f(2) == 4\nassert ok", "def f(x): return x * x", "def f(x): return 5"),
    ("for x, y in [(1, 1), (3, 9)]:\n    assert f(x) == y", "def f(x): return x * x", "def f(x): return x"),
    (
        "root = Node(1)\nroot.left = Node(2)\nassert depth(root) == 2",
        "class Node:\n    def __init__(self, v): self.v, self.left = v, None\n"
        "def depth(n): return 0 if n is None else 1 + depth(n.left)",
        "class Node:\n    def __init__(self, v): self.v, self.left = v, None\ndef depth(n): return 1",
    ),
    (
        "s = Stack()\ns.push(1)\ns.push(2)\nassert s.pop() == 2\nassert s.pop() == 1",
        "class Stack(list):\n    push = list.append",
        "class Stack(list):\n    def push(self, x): self.insert(0, x)",
    ),
    (
        "import collections\nd = collections.OrderedDict([(1, 2)])\nassert f(d) == [1]",
        "def f(d): return list(d.keys())",
        "def f(d): return list(d.values())",
    ),
    ("x = [2, 1]\nf(x)\nassert x == [1, 2]", "def f(x): x.sort()", "def f(x): x.reverse(); x.sort(reverse=True)"),
    ("assert f(10 ** 3) == 10 ** 6", "def f(x): return x * x", "def f(x): return x"),
    ("assert f('%s') == 'a' * 3", "def f(x): return 'aaa'", "def f(x): return 'a'"),
    ("assert round(f(1), 2) == 0.33", "def f(x): return 1 / 3", "def f(x): return 0.3"),
    ("import pytest\nassert f(2) == pytest.approx(1.414, abs=1e-3)", "def f(x): return x**0.5", "def f(x): return 1.4"),
    ("import pytest\nassert f(2) == pytest.approx([1, 2])", "def f(x): return [1, 2.0]", "def f(x): return [1]"),
    (
        "import pytest\nwith pytest.raises(ValueError):\n    f(-1)",
        "def f(x): raise ValueError(x)",
        "def f(x): raise KeyError(x)",
    ),
    ("import pytest\nwith pytest.raises(LookupError):\n    f(-1)", "def f(x): return [][x]", "def f(x): return x"),
    (
        "import asyncio\nassert asyncio.run(f(2)) == 4",
        "async def f(x): return x * x",
        "async def f(x): return x",
    ),
    ("assert list(f(3)) == [0, 1, 2]", "def f(n): yield from range(n)", "def f(n): yield n"),
    ("assert sorted(f(2), reverse=True) == [1, 0]", "def f(n): return map(int, '01')", "def f(n): return [1]"),
    ("assert all([f(1), f(2)])", "def f(x): return x", "def f(x): return x - 1"),
]


@pytest.mark.parametrize(("test", "right", "wrong"), SPLIT, ids=[case[0][:40] for case in SPLIT])
def test_assertions_are_split_and_mean_what_they_say(test: str, right: str, wrong: str) -> None:
    tests = read_scripts(test)
    assert parts(tests) == [Script]
    assert passes(tests, right)
    assert not passes(tests, wrong)


HELD_BACK = [
    ("assert f(3) == 271828", "271828"),
    ("assert set(f(3)) == {271828}", "271828"),
    ("assert abs(f(3) - 271828) < 0.1", "271828"),
    ("want = [271828]\nassert f(3) == want", "271828"),
    ("x, want = 3, 271828\nassert f(x) == want", "271828"),
    ("got = f(3)\nassert got == 271828", "271828"),
    ("ok = f(3) == 271828\nassert ok", "271828"),
    ("for x, y in [(3, 271828)]:\n    assert f(x) == y", "271828"),
    ("import random\ndef same(a, b):\n    return a == b\nassert same(f(3), 271828)", "271828"),
    ("import random\nx = random.random()\nassert f(x) == 271828 + x", "271828"),
    ("assert [y for y in [f(3)]] == [271828]", "271828"),
    ("try:\n    assert f(3) == 271828\nfinally:\n    pass", "271828"),
]


@pytest.mark.parametrize(("test", "secret"), HELD_BACK, ids=[case[0][:40] for case in HELD_BACK])
def test_what_is_expected_never_enters_the_programs_process(test: str, secret: str) -> None:
    for tests in (read_scripts(test), read_scripts("def check(f):\n    " + test.replace("\n", "\n    "), entry="f")):
        _, sandbox = results(tests, "def f(x): return x")
        assert sandbox.programs
        assert secret not in "".join(sandbox.programs)
        assert secret not in repr(sandbox.calls)


WHOLE = [
    ("def same(a, b):\n    return a == b\nassert same(f(3), 9)", "def f(x): return x * x", "def f(x): return 3"),
    (
        "import random\nfor _ in range(20):\n    x = random.randint(1, 9)\n    assert f(x) == x * x",
        "def f(x): return x * x",
        "def f(x): return x",
    ),
    (
        "try:\n    f(-1)\n    assert False\nexcept ValueError:\n    pass\nassert f(1) == 1",
        "def f(x):\n    if x < 0: raise ValueError\n    return x",
        "def f(x): return x",
    ),
    ("assert all(f(x) > 0 for x in range(3))", "def f(x): return x + 1", "def f(x): return x"),
    (
        "import random\nx = [random.random() for _ in range(9)]\nassert f(x) == sorted(x)",
        "def f(x): return sorted(x)",
        "def f(x): return x",
    ),
    (
        "if f(1):\n    assert g(1) == 2",
        "def f(x): return 1\ndef g(x): return 2",
        "def f(x): return 1\ndef g(x): return 3",
    ),
]


@pytest.mark.parametrize(("test", "right", "wrong"), WHOLE, ids=[case[0][:40] for case in WHOLE])
def test_what_cannot_be_split_runs_as_a_check(test: str, right: str, wrong: str) -> None:
    tests = read_scripts(test)
    assert Check in parts(tests)
    if "ValueError" not in test:  # the stand-in tells no exception by its name
        assert passes(tests, right)
    assert not passes(tests, wrong)


def test_one_assertion_that_cannot_be_split_leaves_the_others_split() -> None:
    tests = read_scripts("want = 3\nassert f(1) == 1\nassert all(f(x) == x for x in [want])\nassert f(2) == 2")
    assert parts(tests) == [Script, Check]
    assert isinstance(tests, ScriptTests) and len(tests) == 3
    got, _ = results(tests, "def f(x): return x if x < 3 else 0")
    assert [result.passed for result in got] == [True, True, False]


def test_check_of_humaneval_with_helpers_of_the_prompt() -> None:
    """HumanEval/32 calls `poly`, which the prompt defines: the test's own, whatever the program makes of it."""
    ground_truth = {
        "prompt": "def poly(x):\n    return 2 * x\n\n\ndef root(x):\n    '''Double it.'''\n",
        "entry_point": "root",
        "test": "def check(candidate):\n    for x in map(int, '123'):\n        assert poly(x) == candidate(x)\n",
    }
    tests = read_tests(ground_truth)
    assert passes(tests, "def root(x):\n    return x + x\n")
    assert passes(tests, "    return x + x\n"), "the body alone"
    assert not passes(tests, "def poly(x): return 0\ndef root(x): return 0\n"), "a faked helper"


def test_a_method_of_solution_is_an_entry() -> None:
    ground_truth = {
        "prompt": "from typing import *\n\nclass Solution:\n    def add(self, a: List[int]) -> int:\n        ",
        "entry_point": "Solution().add",
        "test": "def check(candidate):\n    assert candidate(a = [1, 2]) == 3\n    assert candidate([]) == 0\n",
    }
    tests = read_tests(ground_truth)
    assert tests.calls == "Solution().add"
    assert passes(tests, "class Solution:\n    def add(self, a: List[int]) -> int:\n        return sum(a)\n")
    assert not passes(tests, "class Solution:\n    def add(self, a): return 3\n")


def test_functions_of_pytest_are_tests() -> None:
    test = "from solution import f\ndef test_a():\n    assert f(1) == 1\ndef test_b():\n    x = 2\n    assert f(x) == 4"
    tests = read_tests({"test": test})
    assert len(tests) == 2 and tests.calls == "f"
    assert passes(tests, "def f(x): return x * x")
    assert [r.passed for r in results(tests, "def f(x): return x")[0]] == [True, False]


def test_a_program_that_imports_the_future_keeps_it_on_top() -> None:
    tests = read_tests({"test": "assert f(1) == 1", "test_imports": ["import math"], "entry_point": "f"})
    assert passes(tests, "from __future__ import annotations\ndef f(x: Missing): return math.floor(x)\n")


def test_what_a_program_raises_fails_a_test_and_no_more() -> None:
    got, _ = results(read_scripts("assert f(0) == 0\nassert f(1) == 1"), "def f(x): return 1 // x")
    assert [(r.passed, r.status) for r in got] == [(False, Status.SCORED), (True, Status.SCORED)]


@pytest.mark.parametrize(
    "test",
    ["assert f(", "x = 1", "assert True", "def check(candidate):\n    pass\n", "def check(f):\n    assert True\n"],
)
def test_code_that_tests_nothing_is_refused(test: str) -> None:
    with pytest.raises(BadTests):
        read_scripts(test, entry="f")


def test_values_made_to_be_slow_are_refused_and_no_error() -> None:
    slow = "def f(): return [i * (2 ** 61 - 1) for i in range(1, 50_000)]"
    for test in ("x = [f()][0]\nassert set(x) == {1}", "assert f()[0] ** f()[0] == 1", "assert 'a' * f()[9] == 'a'"):
        assert [(r.passed, r.status) for r in results(read_scripts(test), slow)[0]] == [(False, Status.SCORED)]


def test_tests_whose_own_imports_fail_are_not_blamed_on_the_program() -> None:
    for test in (
        "import nowhere\nassert nowhere.same(f(1), 2)",
        "from nowhere import thing\nassert f(thing) == 1",
    ):
        got, _ = results(read_scripts(test), "def f(x): return x")
        assert got[0].status is Status.BAD_GOLD and "nowhere" in got[0].reason
    got, _ = results(read_scripts("import nowhere\nassert f(1) == 2"), "def f(x): return x")
    assert got[0].status is Status.SCORED, "an import that no test needs"
    got, _ = results(read_scripts("import math\nassert math.floor(f(1)) == 2"), "import nowhere\ndef f(x): return x")
    assert got[0].status is Status.SCORED and not got[0].passed
