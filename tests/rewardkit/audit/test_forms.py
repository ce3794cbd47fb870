"""The form in which a reward reads answers is found before anything is tried on it."""

from __future__ import annotations

from typing import Any

import pytest

from rewardkit import compile, parse
from rewardkit.audit import FormulaSubject, problem_of
from rewardkit.audit.forms import Forms, detect
from tests.rewardkit.audit.rows import problems


def forms_of(formula: Any, rows: Any = None) -> Forms:
    return detect(FormulaSubject(compile(formula)), rows or problems())


@pytest.mark.parametrize(
    ("formula", "best"),
    [
        ("gsm8k(mode='verl-strict')", "#### 42"),
        ("math_equal(mode='strict')", "\\boxed{42}"),
        ("math_equal() + think_answer()", "<think>...</think><answer>42</answer>"),
        ("when(starts_with('Solution:'), gsm8k(mode='strict'), 0)", "#### 42 (with the formula's texts)"),
        ("when(think_answer(think='reason', answer='final'), gsm8k(), 0)", "<reason>...<final>"),
    ],
)
def test_the_best_form_is_the_one_that_the_reward_asks_for(formula: str, best: str) -> None:
    assert forms_of(formula).best.name == best


def test_a_strict_reward_reads_few_forms_and_one_that_looks_at_no_ground_truth_none() -> None:
    assert {f.name for f in forms_of("gsm8k(mode='strict')").read} <= {
        "#### 42", "<think>...</think>#### 42", "...</think>#### 42 (prefilled)",
    }  # fmt: skip
    assert forms_of("length(0.1)").read == ()
    assert len(forms_of("gsm8k()").read) > 8


def test_a_form_that_only_the_data_knows() -> None:
    rows = [problem_of({"prompt": "How many?", "ground_truth": g, "response": f"Well.\n@@{g}@@"}) for g in ("72", "23")]
    forms = forms_of(parse("gsm8k()"), [r for r in rows if r])
    assert any(t.form.template == "{work}\n@@{answer}@@" for t in forms.tried)
