"""Groups with ties, groups of one, and rows without a value: what each function of a group gives."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rewardkit import Batch, Sample, Score, Status, bounds, compile, parse, term
from rewardkit.errors import CompileError
from rewardkit.laws import check


@term(bounds=(-1, 9), optional=True)
def given(sample: Sample) -> Score:
    """The number that the response is, or the status that it names."""
    text = sample.response
    return Score(status=Status[text]) if text.isupper() else Score(float(text))


NAMES = {"given": given}
ROWS = ["1", "2", "2", "5", "7", "3", "NOT_APPLICABLE", "ERROR", "1", "NO_ANSWER", "4"]
GROUPS = ["ties"] * 4 + ["one"] + ["holes"] * 4 + ["failed"] * 2
NAN = math.nan


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("group_mean", [2.5] * 4 + [7, 2, NAN, NAN, 2, 1.5, 1.5]),
        ("group_median", [2] * 4 + [7, 2, NAN, NAN, 2, 1.5, 1.5]),
        ("group_min", [1] * 4 + [7, 1, NAN, NAN, 1, -1, -1]),
        ("group_max", [5] * 4 + [7, 3, NAN, NAN, 3, 4, 4]),
    ],
)
def test_a_statistic_is_one_number_for_the_scored_rows_of_a_group(name: str, expected: list[float]) -> None:
    scores = compile(parse(f"{name}(given())", NAMES))(Batch(ROWS, groups=GROUPS))
    np.testing.assert_allclose(scores.total, expected)
    statuses = [Status(int(s)) for s in scores.status]
    assert statuses[6:10] == [Status.NOT_APPLICABLE, Status.ERROR, Status.SCORED, Status.NO_ANSWER]
    assert (bounds(parse(f"{name}(given())", NAMES)).low, bounds(parse(f"{name}(given())", NAMES)).high) == (-1, 9)


def test_a_spread_is_over_n_less_1_and_0_where_nothing_differs() -> None:
    scores = compile(parse("group_std(given())", NAMES))(Batch(ROWS, groups=GROUPS))
    two = math.sqrt(2)
    np.testing.assert_allclose(scores.total[:9], [math.sqrt(3)] * 4 + [0, two, NAN, NAN, two])
    widest = compile(parse("group_std(given())", NAMES))(Batch(["-1", "9"], groups=["a", "a"]))
    assert widest.total.tolist() == pytest.approx([bounds(widest_of := parse("group_std(given())", NAMES)).high] * 2)
    assert bounds(widest_of).low == 0


def test_a_batch_is_all_rows_that_have_a_value_whatever_their_groups() -> None:
    scores = compile(parse("batch_zscore(given())", NAMES))(Batch(ROWS))
    x = np.array([1, 2, 2, 5, 7, 3, NAN, NAN, 1, -1, 4])
    known = x[~np.isnan(x)]
    np.testing.assert_allclose(scores.total, (x - known.mean()) / (known.std(ddof=1) + 1e-6))
    assert compile(parse("batch_zscore(given())", NAMES))(Batch(["5"])).total.tolist() == [0.0]


@pytest.mark.parametrize("name", ["group_zscore", "batch_zscore", "group_std"])
def test_equal_values_that_no_float_is_exactly_have_no_spread(name: str) -> None:
    scores = compile(parse(f"{name}(0.1 * given())", NAMES))(Batch(["1"] * 7, groups=["a"] * 7))
    assert scores.total.tolist() == [0.0] * 7


@pytest.mark.parametrize("name", ["group_mean", "group_median", "group_min", "group_max", "group_std"])
def test_a_row_without_an_answer_is_paid_less_than_any_answer_of_the_same_group(name: str) -> None:
    """The statistic falls with it, and is no reason to pay the formula's floor or the high end."""
    program = compile(parse(f"given() - 0.5 * {name}(given())", NAMES))
    failed = program(Batch(["NO_ANSWER", "2", "3"], groups=["a"] * 3))
    least = program(Batch(["-1", "2", "3"], groups=["a"] * 3))
    assert failed.total.tolist() == pytest.approx(least.total.tolist())
    assert failed.total[0] < failed.total[1] < failed.total[2]


def test_where_only_the_group_counts_the_direction_is_the_groups() -> None:
    assert compile(parse("-group_mean(given())", NAMES))(Batch(["NO_ANSWER"], groups=["a"])).total.tolist() == [-9.0]


def test_functions_of_groups_say_what_they_lack() -> None:
    with pytest.raises(CompileError, match="no groups came"):
        compile(parse("group_mean(given())", NAMES))(Batch(["1"]))


@pytest.mark.parametrize("name", ["group_mean", "group_median", "group_min", "group_max", "group_std", "batch_zscore"])
def test_the_laws_hold_with_a_function_of_groups(name: str) -> None:
    outcomes = check(parse(f"gsm8k() + 0.1 * {name}(length(0.1, cap=2))"), examples=20)
    assert [o for o in outcomes if not o.kept] == []
