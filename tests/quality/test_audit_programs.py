"""Holes that were planted in rewards of programs are found, each by its own family, and none in the sound ones."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from rewardkit import compile
from rewardkit.audit import AuditReport, FormulaSubject, FunctionSubject, Problem, audit, problem_of
from rewardkit.diagnostics import Severity
from tests.quality import naive_programs as naive

DOUBLES = {
    "inputs": ["1\n2", "[1]\n[2, 3]", '"a"\n"b"', "5\n0", "-1\n5"],
    "outputs": ["3", "[1, 2, 3]", '"ab"', "5", "4"],
    "fn_name": "add",
}
LINES = {
    "inputs": ["3 1 2\n", "9 7\n", "5 4 6 1\n", "8 0 2\n", "12 11\n"],
    "outputs": ["1\n2\n3\n", "7\n9\n", "1\n4\n5\n6\n", "0\n2\n8\n", "11\n12\n"],
}
ASSERTS = [
    "assert top([1, 5, 3]) == 5",
    "assert top([-2, -7]) == -2",
    "assert top([4]) == 4",
    "assert top([0, 9]) == 9",
]
HUMAN = {
    "test": "def check(candidate):\n    assert candidate([1, 5, 3]) == 5\n    assert candidate([-2, -7]) == -2\n"
    "    for i in range(5):\n        assert candidate([i, 9]) == 9\n",
    "entry_point": "top",
    "prompt": 'def top(xs):\n    """The largest."""\n',
}
SOLUTIONS = {
    "add": "def add(a, b):\n    return a + b",
    "sort": "print(*sorted(map(int, input().split())), sep='\\n')",
    "top": "def top(xs):\n    return max(xs)",
}
TASKS = {
    "call": ("Write add(a, b).", json.dumps(DOUBLES), SOLUTIONS["add"]),
    "print": ("Sort the numbers of one line.", json.dumps(LINES), SOLUTIONS["sort"]),
    "assert": ("Write top(xs), the largest.", ASSERTS, SOLUTIONS["top"]),
    "human": ("Write top(xs), the largest.", json.dumps(HUMAN), SOLUTIONS["top"]),
}


def task(name: str, *, solution: bool = True, as_text: bool = False) -> Problem:
    prompt, truth, program = TASKS[name]
    extra = {"solution": program} if solution else {}
    problem = problem_of({"prompt": prompt, "ground_truth": truth, "extra_info": extra, "data_source": "taco"})
    assert problem is not None
    return problem


def families(report: AuditReport, least: Severity = Severity.ERROR) -> set[str]:
    return {name for f in report.diagnostics if f.severity.reaches(least) for name in (f.family, *f.also)}


HOLES: dict[str, tuple[Callable[..., float], str, str]] = {
    "exec and assert": (naive.exec_and_assert, "assert", "equality"),
    "exec that is replaced": (naive.exec_and_assert, "assert", "builtins"),
    "exit code": (naive.exit_code, "assert", "early exit"),
    "a marker on standard output": (naive.printed_marker, "assert", "harness output"),
    "a verdict on standard output": (naive.printed_json, "assert", "harness output"),
    "no standard error": (naive.no_stderr, "assert", "early exit"),
    "only assertion errors": (naive.only_assertion_errors, "assert", "failure"),
    "objects that are asked": (naive.compares_objects, "call", "equality"),
    "frames that can be read": (naive.shares_its_frames, "call", "callers"),
    "all that is replaced": (naive.trusts_all, "call", "builtins"),
    "the first case only": (naive.first_case_only, "call", "known cases"),
    "lines that are zipped": (naive.zips_lines, "print", "no work"),
    "a prefix of the lines": (naive.zips_lines, "print", "near output"),
    "output that contains": (naive.contains, "print", "near output"),
    "words in any order": (naive.sets_of_words, "print", "near output"),
    "time-outs that pass": (naive.timeouts_pass, "print", "failure"),
    "an expected file beside it": (naive.expected_beside_it, "print", "callers"),
    "tests that can be emptied": (naive.in_process, "print", "callers"),
}
DAILY = {"exit code", "lines that are zipped"}
_REPORTS: dict[tuple[str, str], AuditReport] = {}


def audited(function: Callable[..., float], name: str) -> AuditReport:
    key = (function.__name__, name)
    if key not in _REPORTS:
        _REPORTS[key] = audit(FunctionSubject(function, function.__name__), [task(name)], budget=0, fix=False)
    return _REPORTS[key]


@pytest.mark.parametrize("hole", [pytest.param(h, marks=[] if h in DAILY else [pytest.mark.long]) for h in HOLES])
def test_holes(hole: str) -> None:
    function, name, family = HOLES[hole]
    report = audited(function, name)
    assert family in families(report), [f.text for f in report.diagnostics]


@pytest.mark.long
@pytest.mark.parametrize(("function", "name"), [(naive.calls_apart, "call"), (naive.words, "print")])
def test_sound_functions(function: Callable[..., float], name: str) -> None:
    report = audited(function, name)
    assert not [f.text for f in report.diagnostics if f.severity.reaches(Severity.WARNING)]


@pytest.mark.parametrize(
    ("name", "pay"),
    [
        pytest.param(
            name, pay, marks=[] if (name, pay) in (("call", "share"), ("human", "all")) else [pytest.mark.long]
        )
        for name in TASKS
        for pay in ("all", "share")
    ],
)
def test_nothing_is_found_in_code_tests(name: str, pay: str) -> None:
    subject = FormulaSubject(compile(f"code_tests(pay={pay!r}, cpu_seconds=1)"))
    report = audit(subject, [task(name)], budget=0, fix=False)
    assert not [f.text for f in report.diagnostics if f.severity.reaches(Severity.WARNING)]
    assert report.tried > 50 and report.forms.read


@pytest.mark.parametrize("name", TASKS)
def test_a_program_that_knows_the_tests_stands_for_a_reference_solution(name: str) -> None:
    problem = task(name, solution=False)
    right, wrong = problem.truth.text, problem.truth.wrong[0]
    samples = [problem.sample(f"```python\n{p}\n```") for p in (right, wrong)]
    paid = FormulaSubject(compile("code_tests()")).pay(samples).total.tolist()
    assert paid[1] == 0 and (paid[0] == 1 or name == "human")  # its loop's cases can't be read off


def prime_code() -> Callable[..., Any]:
    pytest.importorskip("verl")
    from verl.utils.reward_score import default_compute_score

    return default_compute_score


VERLS = {
    "call": {"equality", "callers", "no work"},  # what it puts before a program has an `add` of its own
    "print": {"callers"},
}


@pytest.mark.long
@pytest.mark.parametrize("name", VERLS)
def test_verls_own_reward_of_programs(name: str) -> None:
    report = audit(FunctionSubject(prime_code(), "prime_code"), [task(name)], budget=0, fix=False)
    assert VERLS[name] <= families(report), [f.text for f in report.diagnostics]
