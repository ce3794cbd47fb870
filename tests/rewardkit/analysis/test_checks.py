"""What a formula's tree says before anything is scored: what is found, how sure it is, and what is not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from rewardkit import Batch, Sample, Score, Status, compile, length, term, when
from rewardkit.algebra.expression import Reward
from rewardkit.analysis.checks import check
from rewardkit.analysis.conditional_bounds import bounds_given, cases
from rewardkit.engine.program import Program
from tests.strategies import batches, formulas, plain_rewards, right

CASES = [
    # formula, {code: certainty}
    ("gsm8k()", {"verdict-dominates": "proved"}),
    ("gsm8k() + 0.1 * ends_with('.')", {"verdict-dominates": "proved"}),
    ("when(gsm8k(), 1 + 0.2 * length(0.1, cap=1), 0)", {"verdict-dominates": "proved"}),
    ("when(gsm8k(), 1 + length(), 0)", {"verdict-dominates": "proved", "unbounded-total": "possible"}),
    ("length(0.1) + ends_with('.?!')", {"unbounded-total": "proved"}),
    ("length(0.1) + 2 * gsm8k()", {"unbounded-total": "proved", "verdict-outweighed": "proved"}),
    ("gsm8k() + length(0.1, cap=2)", {"verdict-outweighed": "proved"}),
    ("gsm8k() + 0.6 * ends_with('.') + 0.6 * ends_with('?')", {"verdict-outweighed": "possible"}),
    ("1 - gsm8k()", {"verdict-outweighed": "proved"}),
    ("length() - length()", {"unbounded-total": "possible"}),
    ("clip(length(), 0, 1)", {}),
    ("route({'a': gsm8k(), 'b': gsm8k(mode='strict')})", {"verdict-dominates": "proved"}),
    ("route({'a': gsm8k(), 'b': gsm8k() + length(cap=3)})", {"verdict-outweighed": "proved"}),
    ("when(length(cap=2) > 3, 1, ends_with('.'))", {"dead-branch": "proved"}),
    ("when(length(cap=2) >= 0, ends_with('.'), 5)", {"dead-branch": "proved"}),
    ("when(length(cap=2) > 1, 1, 0)", {}),
    ("ends_with('.') + 0 * length()", {"weight-zero": "proved"}),
    ("ends_with('.') + schedule({0: 0}) * length()", {"no-effect": "proved", "schedule-without-step": "proved"}),
    ("maximum(length(cap=1), 2 + ends_with('.'))", {"never-decides": "proved"}),
    ("minimum(length(), 1)", {}),
    ("clip(group_zscore(length()), -1, 1)", {"group-relative": "proved"}),
    ("linear(0, 1, steps=5) * ends_with('.')", {"schedule-without-step": "proved"}),
]


@pytest.mark.parametrize(("formula", "expected"), CASES)
def test_what_is_found(formula: str, expected: dict[str, str]) -> None:
    assert {f.code: f.certainty.value for f in check(compile(formula))} == expected


def message(formula: str | Reward, code: str) -> str:
    return next(f.message for f in check(compile(formula)) if f.code == code)


def test_the_numbers_are_told() -> None:
    text = message("2 * gsm8k() + length(0.1, cap=3) - 0.5 * ends_with('!')", "verdict-outweighed")
    assert "a wrong answer can earn at most 3 while a right one can earn as little as 1.5" in text
    assert text.index("length(0.1, cap=3)") < text.index("ends_with('!')")  # the heavier first
    assert "linear(0.5, 0, steps=9) follows" in message("linear(0.5, 0, steps=9) * length()", "schedule-without-step")
    assert "counts as 0.5" in message("linear(0.5, 0, steps=9) * length()", "schedule-without-step")
    assert "(where data_source is 'b')" in message(
        "route({'a': gsm8k(), 'b': gsm8k() + length(cap=3)})", "verdict-outweighed"
    )


def test_warnings_come_first() -> None:
    ranks = [f.severity.rank for f in check(compile("0 * ends_with('.') + length() + 1 - gsm8k()"))]
    assert ranks == sorted(ranks) and len(set(ranks)) > 1


@term(verdict=True, needs=("ground_truth",))
def mine(sample: Sample) -> float:
    raise AssertionError("explaining a formula runs no user's term")


def test_a_users_term_is_never_run_and_its_outweighing_is_possible() -> None:
    found = {f.code: f.certainty.value for f in check(compile(mine() + length(cap=2) - 0.5 * boundless()))}
    assert found["verdict-outweighed"] == "possible"


@term()
def boundless(sample: Sample) -> float:
    return 1.0


def test_a_term_without_declared_bounds_is_named_with_the_fix() -> None:
    (found,) = [f for f in check(compile(boundless())) if f.code == "unbounded-total"]
    assert found.certainty.value == "possible" and "@term(bounds=" in (found.hint or "")


@term(verdict=True, needs=("ground_truth",), optional=True)
def judged_right(sample: Sample) -> Score:
    """Right where the script of :func:`tests.strategies.right` says so."""
    return right.function(sample)  # type: ignore[no-any-return]


@given(plain_rewards, batches())
def test_proved_dominance_holds_on_every_batch(rest: Reward, batch: Batch) -> None:
    """No batch refutes what was proved: right rows earn at least what wrong ones do."""
    verdict = judged_right()
    for formula in (verdict + 0.05 * rest, when(verdict, 3 + rest, rest), when(verdict, 5, 0.1 * rest)):
        program = _compiled(formula)
        if program is None or "verdict-dominates" not in {f.code for f in check(program)}:
            continue
        # one route and one step for all rows: what is compared is one case
        same = Batch(
            batch.responses, ["x"] * len(batch), data_sources=["a"] * len(batch), tokens=batch.tokens, step=batch.step
        )
        scores, column = program(same), program.leaves(same).columns[verdict]
        known = ~scores.unscored
        right_rows = known & (column.statuses == Status.SCORED) & (column.values == 1)
        wrong_rows = known & (column.statuses == Status.SCORED) & (column.values == 0)
        if right_rows.any() and wrong_rows.any():
            assert scores.total[right_rows].min() >= scores.total[wrong_rows].max() - 1e-9


@given(formulas, batches())
def test_bounds_under_no_assumption_hold(formula: Reward, batch: Batch) -> None:
    """Deciding conditions by bounds makes them tighter, never wrong."""
    program = compile(formula)
    scores = program(batch)
    leaves = program.leaves(batch)
    values = program.trace(leaves, step=batch.step, groups=batch.groups)
    intervals = bounds_given(program.reward, {}, {})
    for node, found in values.items():
        known = found.value[~np.isnan(found.value) & ~found.floored]
        slack = 1e-9 * max(1.0, float(np.abs(known).max(initial=0.0)))
        assert ((known >= intervals[node].low - slack) & (known <= intervals[node].high + slack)).all(), node
    assert len(scores) == len(batch)


def test_cases_are_the_routes_ways() -> None:
    two = compile("route({'a': 1, 'b': 2}, by='kind') + route({'x': gsm8k()}, otherwise=0)").reward
    assert len(cases(two)) == 6 and cases(compile("gsm8k()").reward) == [{}]


@given(formulas)
def test_every_formula_can_be_searched(formula: Reward) -> None:
    for diagnostic in check(compile(formula)):
        assert diagnostic.message and diagnostic.where


def _compiled(formula: Reward) -> Program | None:
    from rewardkit.errors import FormulaError

    try:
        return compile(formula)
    except FormulaError:
        return None
