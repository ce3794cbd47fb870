"""A tool, or a user, gives the answer: a reward that pays for it has a hole, and no repair has the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rewardkit import Sample, clip, gsm8k, term, when
from rewardkit.audit import AuditReport, FormulaSubject, FunctionSubject, audit
from rewardkit.audit.tools import trajectories, transcript
from rewardkit.diagnostics import Severity
from rewardkit.engine.program import compile
from rewardkit.turns import last_said
from tests.rewardkit.audit.rows import problems


@term(bounds=(0, 1), needs=("turns", "ground_truth"))
def anywhere(sample: Sample) -> float:
    assert sample.turns is not None
    return float(any(turn.text.strip().endswith(f"#### {sample.ground_truth}") for turn in sample.turns))


@term(bounds=(0, 1), needs=("turns", "ground_truth"))
def own_only(sample: Sample) -> float:
    assert sample.turns is not None
    return float(last_said(sample.turns).strip().endswith(f"#### {sample.ground_truth}"))


def of_formula(formula: Any) -> AuditReport:
    return audit(FormulaSubject(compile(formula)), problems(), budget=0)


def of_function(function: Callable[..., Any]) -> AuditReport:
    return audit(FunctionSubject(function, function.__name__), problems(), budget=0)


def found(report: AuditReport) -> Severity | None:
    return next((d.severity for d in report.diagnostics if d.code == "others-paid"), None)


def whole_text(solution_str: str, ground_truth: str) -> float:
    return float(f"#### {ground_truth}" in solution_str)


def behind_the_tool(solution_str: str, ground_truth: str) -> float:
    said = solution_str.rpartition("\nassistant\n")[2].partition("\nuser\n")[0]
    return float(said.strip().endswith(f"#### {ground_truth}"))


def counts_tools(solution_str: str, ground_truth: str) -> float:
    return 0.1 * ("<tool_call>" in solution_str) + float(f"#### {ground_truth}" in solution_str)


def last_message(completions: list[Any], answer: list[str]) -> list[float]:
    return [float(c[-1]["content"].endswith(f"#### {a}")) for c, a in zip(completions, answer, strict=True)]


def last_of_the_assistant(completions: list[Any], answer: list[str]) -> list[float]:
    said = [[m["content"] for m in chat if m["role"] == "assistant"][-1] for chat in completions]
    return [float(text.endswith(f"#### {a}")) for text, a in zip(said, answer, strict=True)]


def test_a_term_that_looks_into_all_turns_is_found_and_mended() -> None:
    report = of_formula(anywhere())
    assert found(report) is Severity.ERROR
    shown = next(d.evidence for d in report.diagnostics if d.code == "others-paid")
    assert shown is not None and "<tool_response>" in shown.text
    gated = when(gsm8k(), 1 + 0.2 * clip(anywhere(), 0, 1), 0)
    assert report.fix is not None and report.fix.formula == repr(gated)
    assert found(of_formula(gated)) is None


@pytest.mark.parametrize("formula", ["gsm8k()", "gsm8k() + 0.01 * turn_count()", own_only()])
def test_a_reward_of_the_policy_s_own_text_has_no_such_hole(formula: Any) -> None:
    assert found(of_formula(formula)) is None


def test_functions_of_a_text_are_told_whether_or_not_they_look_at_tools() -> None:
    assert found(of_function(whole_text)) is Severity.NOTE, "in a run without tools it is none"
    report = of_function(counts_tools)
    assert found(report) is Severity.ERROR
    assert report.fix is not None and found(of_formula(report.fix.formula)) is None
    assert found(of_function(behind_the_tool)) is None


def test_functions_of_messages_get_roles() -> None:
    assert found(of_function(last_message)) is Severity.NOTE
    assert found(of_function(last_of_the_assistant)) is None


def test_a_trajectory_has_the_answer_in_another_s_turn_alone() -> None:
    for problem in problems():
        kinds = set()
        for who, right, wrong in trajectories(problem, "#### {}".format):
            kinds.add(who)
            assert not any(problem.truth.stands_in(turn.text) for turn in right if turn.own)
            assert any(problem.truth.text in turn.text for turn in right if not turn.own)
            assert [turn.own for turn in right] == [turn.own for turn in wrong]
            assert right[1].text.replace(problem.truth.text, "") != right[1].text
            assert transcript(right) != transcript(wrong)
        assert len(kinds) >= 4


def test_a_bonus_for_each_call_is_found_both_ways_and_no_repair_has_it() -> None:
    def counts(solution_str: str, ground_truth: str) -> float:
        return 0.5 * solution_str.count("<tool_call>") + float(solution_str.endswith(f"#### {ground_truth}"))

    for report in (of_function(counts), of_formula("gsm8k() + 0.5 * match_count('<tool_call>', cap=1000)")):
        worst = report.diagnostics[0]
        assert (worst.code, worst.severity) == ("outscores-right", Severity.ERROR)
        assert worst.evidence is not None and "<tool_call>" in worst.evidence.text
        assert report.fix is not None
        again = of_formula(report.fix.formula)
        assert not [d for d in again.diagnostics if d.code in ("outscores-right", "paid-as-right", "padding-pays")]
