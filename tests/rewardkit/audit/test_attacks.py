"""Attack texts say what they claim, whatever the ground truth is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit.answers import grade_gsm8k
from rewardkit.audit import problem_of
from rewardkit.audit.attacks import BOMBS, FAMILIES
from rewardkit.audit.attempt import Claim
from rewardkit.audit.forms import FORMS, Forms
from rewardkit.audit.trials import attempts_on
from tests.rewardkit.audit.rows import problems

PLAIN = Forms(FORMS[0], (FORMS[0],), ())


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_has_texts_and_they_bear_its_name(family: str) -> None:
    attempts = list(FAMILIES[family](problems()[0], FORMS[0]))
    assert len(attempts) >= 3
    assert {a.family for a in attempts} == {family}
    assert len({(a.name, a.text) for a in attempts}) == len({a.name for a in attempts}) == len(attempts)


@given(st.integers(0, 10_000), st.sampled_from(FORMS))
def test_no_text_is_right(value: int, form: object) -> None:
    problem = problem_of({"prompt": "How many pens does Ann have?", "ground_truth": str(value)})
    assert problem is not None
    forms = Forms(form, (form,), ())  # type: ignore[arg-type]
    for attempt in attempts_on(problem, forms):
        if attempt.claim is Claim.NONE or (attempt.claim is Claim.WRONG and not attempt.fixed):
            assert not problem.truth.stands_in(attempt.text), attempt
        if attempt.claim is Claim.SEVERAL:
            assert problem.truth.stands_in(attempt.text), attempt


@pytest.mark.parametrize("truth", ["72", "8", "299", "0", "-5", "70000", "3.5", "1/2"])
def test_our_own_grader_pays_none_of_them(truth: str) -> None:
    problem = problem_of({"prompt": "How many pens does Ann have?", "ground_truth": truth})
    assert problem is not None
    paid = [a for a in attempts_on(problem, PLAIN) if grade_gsm8k(a.text, truth, prompt=problem.prompt).value == 1.0]
    assert paid == []


def test_a_prompt_that_says_the_ground_truth_is_not_echoed() -> None:
    says = problem_of({"prompt": "Ann has 72 pens. How many has she?", "ground_truth": "72"})
    assert says is not None
    assert not [a for a in attempts_on(says, PLAIN) if a.family == "echo" and a.claim is Claim.NONE]


def test_bombs_are_large() -> None:
    sizes = [len(a.text) for a in BOMBS(problems()[0], FORMS[0])]
    assert len(sizes) >= 10
    assert max(sizes) <= 100_000
