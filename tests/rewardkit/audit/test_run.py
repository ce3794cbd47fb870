"""Whole audits: the holes that are there are found, with small evidence, and nothing else is."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from rewardkit import Batch, Sample, compile, parse, term
from rewardkit.audit import AuditDiagnostic, AuditReport, FormulaSubject, FunctionSubject, audit, search
from rewardkit.audit.page import page
from rewardkit.diagnostics import CODES, Severity
from rewardkit.errors import DataError
from tests.rewardkit.audit.rows import problems


def audited(reward: Any, **options: Any) -> AuditReport:
    return audit(FormulaSubject(compile(reward)), problems(), **{"budget": 0.0, **options})


def high(report: AuditReport) -> list[AuditDiagnostic]:
    return [f for f in report.diagnostics if f.severity is Severity.ERROR]


LONG = "length(0.1) + ends_with('.?!') + 2 * gsm8k()"


def test_words_that_outweigh_the_answer() -> None:
    report = audited(LONG)
    (diagnostic,) = high(report)
    assert diagnostic.code == "outscores-right"
    assert "padding" in (diagnostic.family, *diagnostic.also)
    e = diagnostic.evidence
    assert e is not None and e.culprit == "length(0.1)"
    assert e.pay > e.honest_pay
    assert len(e.text.split()) < 20
    assert math.isclose(sum(e.parts.values()), e.pay)
    truth = next(p.ground_truth for p in problems() if p.truth.text == e.truth)
    totals = compile(LONG)(Batch.of([Sample(e.text, truth), Sample(e.honest, truth)])).total
    assert totals[0] > totals[1]
    assert compile("gsm8k()")(Batch.of([Sample(e.text, truth), Sample(e.honest, truth)])).total.tolist() == [0.0, 1.0]


def test_the_fix_is_a_formula_that_the_same_audit_finds_nothing_high_in() -> None:
    report = audited(LONG)
    assert report.fix is not None
    assert parse(report.fix.formula) != parse(LONG)
    assert "gsm8k()" in report.fix.formula and "ends_with" in report.fix.formula
    assert not high(audited(report.fix.formula))


@pytest.mark.parametrize("grader", ["gsm8k()", "math_equal()", "gsm8k(mode='strict')"])
def test_a_fix_stands_what_was_found_in_the_original(grader: str) -> None:
    report = audited(f"{grader} + 0.5 * match_count('<tool_call>', cap=1000)")
    (diagnostic,) = high(report)
    assert diagnostic.evidence is not None and "<tool_call>" in diagnostic.evidence.text
    assert report.fix is not None and report.no_fix is None
    again = audited(report.fix.formula)
    assert not [f for f in again.diagnostics if f.code in ("outscores-right", "paid-as-right", "padding-pays")]


def test_a_formula_that_pays_what_the_original_pays_is_no_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    from rewardkit.audit import repair

    same = ("when(gsm8k() | contains('####'), 1, 0)", "contains('####') | gsm8k()")
    monkeypatch.setattr(repair, "candidates", lambda *_: [parse(f) for f in same])
    report = audited("gsm8k() | contains('####')")
    assert high(report) and report.fix is None
    assert report.no_fix is not None and "no repair found" in report.no_fix
    assert report.as_dict()["no_fix"] == report.no_fix and "no repair found" in page(report)


@pytest.mark.parametrize(
    "formula", ["gsm8k()", "when(gsm8k(), 1 + 0.2 * brevity(150), 0)", "gsm8k() - 0.2 * repetition(4)"]
)
def test_sound_rewards_have_no_high_finding(formula: str) -> None:
    report = audited(formula)
    assert high(report) == []
    assert report.fix is None
    assert report.tried > 400


def test_the_board_has_right_answers_above_the_rest_in_a_sound_reward() -> None:
    board = audited("gsm8k() + 0.1 * ends_with('.?!')").board
    assert {x.strategy for x in board} >= {"right", "right, terse", "several answers", "nothing"}
    assert max(x.pay for x in board if not x.right) < min(x.pay for x in board if x.right)
    assert all(math.isclose(sum(x.parts.values()), x.pay, abs_tol=1e-9) for x in board)


def test_what_is_paid_above_a_right_answer_is_found_though_no_right_answer_is_paid() -> None:
    codes = {f.code for f in high(audited("when(matches('^<plan>.*</plan>$'), 1, 0)"))}
    assert codes == {"no-signal", "outscores-right"}


def test_the_controls_are_as_expected() -> None:
    controls = audited("gsm8k()").controls
    assert [c.as_expected for c in controls] == [True, True]
    assert controls[1].found == ("no-signal/constant",)


def test_a_reward_that_pays_nothing_teaches_nothing() -> None:
    assert [f.code for f in high(audited(0))] == ["no-signal"]
    assert [f.code for f in high(audited(1))] == ["no-signal"]


def test_the_search_finds_what_no_family_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "MOST_ROUNDS", 2)
    four = "(match_count('zq[0-9]k', cap=9) > 3) & (match_count('zq[0-9]k', cap=9) < 5)"  # once or many times is no use
    secret = f"when({four}, 3, gsm8k())"
    assert not high(audited(secret))
    report = audited(secret, budget=3600.0)
    assert [(f.code, f.family) for f in high(report)] == [("outscores-right", "search")]
    assert report.searched > 0


def test_group_relative_formulas_are_audited_beside_a_right_and_a_wrong_answer() -> None:
    report = audited("gsm8k() + 0.2 * group_rank(length())")
    assert report.forms.read
    assert not high(report)


def test_a_term_that_fails_is_found_and_one_that_always_fails_is_an_error() -> None:
    @term(bounds=(0, 1))
    def fragile(sample: Sample) -> float:
        return 1.0 / max(1, len(sample.response)) if "\\boxed{}" not in sample.response else 1 / 0

    fails = [f for f in audited(compile("gsm8k()").reward + 0.1 * fragile()).diagnostics if f.code == "fails"]
    assert len(fails) == 1 and "ZeroDivisionError" in fails[0].message

    @term(bounds=(0, 1), batched=True)
    def one_for_all(batch: Batch) -> Any:
        return [1.0]

    with pytest.raises(DataError, match="one_for_all"):
        audited(one_for_all())


def test_other_kinds_of_ground_truth() -> None:
    from rewardkit.audit import problem_of

    def diagnostics(formula: str, *truths: str) -> list[AuditDiagnostic]:
        rows = [problem_of({"prompt": "Which one?", "ground_truth": g}) for g in truths]
        return high(audit(FormulaSubject(compile(formula)), [r for r in rows if r], budget=0))

    assert diagnostics("choice()", "C", "A") == []
    assert diagnostics("exact(normalize='words')", "Paris", "Rome") == []
    assert diagnostics("when(token_f1() > 0.1, 1, 0)", "Paris", "Rome")


def test_the_report_is_data_and_a_page_that_only_shows_text() -> None:
    def naive(completion: str, answer: str) -> float:
        return float("<think>" in completion or completion.endswith(answer))

    report = audit(FunctionSubject(naive, "<script>alert(1)</script>"), problems(), budget=0)
    data = json.loads(json.dumps(report.as_dict()))
    assert {f["code"] for f in data["diagnostics"]} <= set(CODES)
    assert data["by_part"] is False
    html = page(report)
    assert "<script" not in html and "<think>" not in html
    assert "&lt;think&gt;" in html and "can't be seen" in html
    assert "http" not in html.replace("http-equiv", "")
