"""Rows of programs: how their tests call a program, a right one and wrong ones, and what is no row of programs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rewardkit import Batch, compile
from rewardkit.audit import problem_of
from rewardkit.audit.forms import PROGRAM_FORMS
from rewardkit.audit.ground_truths import Kind
from rewardkit.audit.literals import Literals
from rewardkit.audit.programs.attacks import program_attacks
from rewardkit.audit.programs.interface import interface_of
from rewardkit.audit.programs.truth import ProgramTruth

SHAPES: dict[str, tuple[Any, str | None]] = {
    "printed": ({"inputs": ["1\n", "2\n"], "outputs": ["2\n", "4\n"]}, None),
    "called": ({"inputs": ["1", "2"], "outputs": ["2", "4"], "fn_name": "double"}, "double"),
    "called, boxed": ({"inputs": [[1], [2]], "outputs": [[2], [4]], "fn_name": "double"}, "double"),
    "a list": ([{"input": "1\n", "output": "2\n"}, {"input": "2\n", "output": "4\n"}], None),
    "a list of calls": (
        [{"input": i, "output": o, "testtype": "functional"} for i, o in (("1", "2"), ("2", "4"))],
        "double",
    ),
    "contests": (
        {
            "public_tests": {"input": ["1\n"], "output": ["2\n"]},
            "private_tests": {"input": ["2"], "output": ["4"]},
        },
        None,
    ),
    "asserts": (["assert double(1) == 2", "assert double(2) == 4"], "double"),
    "asserts as text": ("assert double(1) == 2\nassert double(2) == 4\n", "double"),
    "mbpp": ({"test_list": ["assert double(1) == 2", "assert double(2) == 4"], "test_imports": []}, "double"),
    "humaneval": (
        {
            "test": "def check(candidate):\n    assert candidate(1) == 2\n    assert candidate(2) == 4\n",
            "entry_point": "double",
        },
        "double",
    ),
}  # fmt: skip


def shape(name: str) -> Any:
    value = SHAPES[name][0]
    return {"tests": value, "fn_name": "double"} if name == "a list of calls" else value


@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize("name", SHAPES)
def test_a_program_that_knows_the_tests_is_right_and_the_wrong_ones_are_wrong(name: str, as_json: bool) -> None:
    value, entry = shape(name), SHAPES[name][1]
    truth = json.dumps(value) if as_json and not isinstance(value, str) else value
    problem = problem_of({"prompt": "Double it.", "ground_truth": truth})
    assert problem is not None and isinstance(problem.truth, ProgramTruth) and problem.truth.kind is Kind.PROGRAM
    assert problem.truth.interface.entry == entry and len(problem.truth.interface.cases) == 2
    programs = [problem.truth.text, *problem.truth.wrong]
    batch = Batch([f"```python\n{p}\n```" for p in programs], ground_truths=[truth] * len(programs))
    assert compile("code_tests()")(batch).total.tolist() == [1.0] + [0.0] * len(problem.truth.wrong)


@pytest.mark.parametrize(
    "value", ["42", "#### 42", "[1, 2]", "\\frac{1}{2}", "Be assertive.", ["Paris", "paris"], 7, '{"a": 1}', "A"]
)
def test_what_holds_no_tests_is_no_row_of_programs(value: Any) -> None:
    assert interface_of(value) is None
    problem = problem_of({"ground_truth": value})
    assert problem is None or problem.truth.kind is not Kind.PROGRAM


@pytest.mark.parametrize("name", SHAPES)
def test_no_attack_is_a_right_program(name: str) -> None:
    problem = problem_of({"prompt": "Double it: double(1) == 2.", "ground_truth": shape(name)})
    assert problem is not None and isinstance(problem.truth, ProgramTruth)
    attacks = list(program_attacks(problem.truth, PROGRAM_FORMS[0], Literals(("PASS it",)), problem.prompt))
    assert len({a.text for a in attacks}) > 40 and len({a.family for a in attacks}) >= 8
    texts = [a.text for a in attacks if a.name != "never ends"]
    paid = compile("code_tests(cpu_seconds=2)")(Batch(texts, ground_truths=[shape(name)] * len(texts))).total
    assert [t for t, p in zip(texts, paid.tolist(), strict=True) if p != 0] == []
