"""A parameter that each row gives: terms are called with values alone, and a row without a good one is BAD_GOLD."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from rewardkit import Batch, PerRow, Sample, Status, brevity, compile, fingerprint, parse, term
from rewardkit.algebra.bounds import bounds
from rewardkit.analysis.explanation import explain
from rewardkit.analysis.mutation.mutants import mutants
from rewardkit.errors import ParameterError

Limit = PerRow[Annotated[float, Field(gt=0)]]


@term(bounds=(0, None))
def longer(sample: Sample, limit: Limit, times: int = 1) -> float:
    return times * float(len(sample.response) > limit)


@term(bounds=(0, None))
async def awaited(sample: Sample, limit: Limit) -> float:
    await asyncio.sleep(0)
    return float(limit)


@term(bounds=(0, None), batched=True)
def together(batch: Batch, limit: Limit) -> Any:
    assert np.shape(limit) in ((), (len(batch),))
    return np.zeros(len(batch)) + limit


@term(bounds=(0, 1), needs=("ground_truth",))
def both(sample: Sample, limit: Limit) -> float:
    return float(sample.ground_truth == limit)


def rows(*values: Any) -> Batch:
    return Batch(["word"] * len(values), extra_infos=[{"n": value} for value in values])


@pytest.mark.parametrize("build", [longer, awaited, together])
def test_every_kind_of_term_is_called_with_the_row_s_value(build: Any) -> None:
    batch = rows(1, 2.5, 9, None, 0, "x")
    scores = compile(build("n"))(batch)
    plain = [compile(build(value))(batch.take([0])).total[0] for value in (1.0, 2.5, 9.0)]
    assert scores.total[:3].tolist() == plain
    assert scores.status.tolist() == [Status.SCORED] * 3 + [Status.BAD_GOLD] * 3


@given(st.lists(st.integers(-3, 90), min_size=1, max_size=20), st.text(alphabet="ab ", max_size=40))
def test_a_column_of_one_value_is_that_value(values: list[int], text: str) -> None:
    batch = Batch([text] * len(values), extra_infos=[{"n": value} for value in values])
    scores = compile("brevity('n') + length_target('n', width=7, unit='words')")(batch)
    for i, value in enumerate(values):
        if value < 1:
            assert scores.status[i] == Status.BAD_GOLD
        else:
            same = compile(f"brevity({value}) + length_target({value}, width=7, unit='words')")(batch.take([i]))
            assert scores.total[i] == same.total[0]


def test_the_reason_names_the_column_the_term_and_what_was_expected() -> None:
    batch = rows(0, 2.5)
    reasons = compile(brevity("n"))(batch).reasons["brevity"]
    assert reasons[0] == "extra_info['n'] for brevity's target is 0; input should be greater than or equal to 1"
    assert "valid integer" in reasons[1]
    assert compile(brevity("m"))(batch).reasons["brevity"][0] == "extra_info has no 'm' for brevity's target"


def test_a_row_lacks_a_ground_truth_or_a_value() -> None:
    infos = [{"n": 4.0}, {"n": 4.0}, {}, {"n": 5.0}]
    batch = Batch(["a"] * 4, ground_truths=[4.0, None, 4.0, 4.0], extra_infos=infos)
    scores = compile(both("n"))(batch)
    assert scores.status.tolist() == [Status.SCORED, Status.BAD_GOLD, Status.BAD_GOLD, Status.SCORED]
    assert scores.total[[0, 3]].tolist() == [1.0, 0.0]


def test_rows_are_equal_only_where_their_values_are() -> None:
    assert compile(brevity("n"))(Batch(["a b c d"] * 3, extra_infos=[{"n": n} for n in (1, 2, 4)])).total.tolist() == [
        0.25,
        0.5,
        1.0,
    ]


def test_a_name_needs_extra_info_and_a_number_does_not() -> None:
    assert "extra_info" in compile(brevity("n")).needs
    assert "extra_info" not in compile(brevity(5)).needs
    assert bounds(brevity("n")) == bounds(brevity(5))


def test_it_reads_back_and_has_a_fingerprint_of_its_own() -> None:
    assert parse(repr(brevity("n"))) == brevity("n")
    assert len({fingerprint(brevity(value)) for value in ("n", "m", 5)}) == 3
    assert "brevity('n')" in str(explain(compile(0.5 * brevity("n"))))
    slipped = [repr(mutant.reward) for mutant in mutants(0.5 * brevity("n"))]
    assert slipped and all("brevity('n')" in text for text in slipped)


def test_a_value_in_the_formula_is_checked_as_before() -> None:
    for bad in (0, -1.0, True):
        with pytest.raises(ParameterError, match="limit"):
            longer(bad)
