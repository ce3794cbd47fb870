"""Columns, answers, masks and steps of kinds that nobody meant: each is read right or refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from rewardkit import Batch, Sample, Score, Status, compile, term
from rewardkit.algebra.values import TermColumn
from rewardkit.errors import DataError, ParameterError

N = 4


@term(verdict=True, needs=("ground_truth",))
def last_word(sample: Sample) -> bool:
    return sample.response.split()[-1] == sample.ground_truth


class Labelled:
    """What a series of pandas is: ``[i]`` is the row with the label i, iteration goes by position."""

    def __init__(self, values: list[Any], labels: list[int]) -> None:
        self.values, self.labels = values, labels

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Any:
        return iter(self.values)

    def __getitem__(self, label: int) -> Any:
        return self.values[self.labels.index(label)]


@pytest.mark.parametrize("formula", [last_word(), "gsm8k()"])
def test_a_series_in_another_order_than_its_labels_is_read_by_position(formula: Any) -> None:
    ground_truths = Labelled(["3", "2", "1"], labels=[2, 1, 0])
    responses = ["#### 3", "#### 2", "#### 1"]
    assert compile(formula)(Batch(responses, ground_truths=ground_truths)).total.tolist() == [1, 1, 1]  # type: ignore[arg-type]
    labelled = Labelled(responses, labels=[7, 8, 9])
    batch = Batch(labelled, ground_truths=ground_truths, prompts=np.array(["a", "b", "c"]))  # type: ignore[arg-type]
    assert compile(formula)(batch).total.tolist() == [1, 1, 1]
    assert batch.take([0, 2]).responses == ["#### 3", "#### 1"]


@pytest.mark.parametrize("formula", ["gsm8k()", "exact(normalize='letters')", "math_equal()"])
def test_columns_of_pyarrow_hold_the_values_that_they_show(formula: str) -> None:
    batch = Batch(pa.array(["#### 3"] * 2), ground_truths=pa.array(["3", "4"]))
    assert compile(formula)(batch).status.tolist() == [Status.SCORED] * 2
    assert batch.ground_truths == ["3", "4"]


@pytest.mark.parametrize(
    "column",
    ["12", b"12", {0: "1", 1: "2"}, {"1", "2"}, (c for c in "12"), 12],
    ids=lambda column: type(column).__name__,
)
def test_what_has_no_order_or_is_one_text_is_no_column(column: Any) -> None:
    with pytest.raises(DataError, match="expected a list"):
        Batch(["#### 1", "#### 2"], ground_truths=column)


def test_samples_may_hold_arrays() -> None:
    batch = Batch.of([Sample("a", ground_truth=np.array([1, 2]), extra_info={"x": np.array([1, 2])}), Sample("b")])
    assert batch.ground_truths is not None and batch.ground_truths[0].tolist() == [1, 2]
    assert Batch.of([Sample("a"), Sample("b")]).extra_infos is None


REFUSED: dict[str, Callable[[], Any]] = {
    "complex": lambda: np.ones(N) * 1j,
    "text": lambda: np.array(["1.0"] * N),
    "dates": lambda: np.arange(N).astype("M8[s]"),
    "spans": lambda: np.arange(N).astype("m8[s]"),
    "records": lambda: np.zeros(N, dtype=[("a", float)]),
    "dict": lambda: dict.fromkeys(range(N), 1.0),
    "set": lambda: set(range(N)),
    "bytes": lambda: bytes(range(N)),
    "str": lambda: "1" * N,
    "a Score of text": lambda: [Score("1")] * N,  # type: ignore[arg-type]
    "an unknown status": lambda: [Score(1.0, 99)] * N,  # type: ignore[arg-type]
    "a status of the engine's own": lambda: [Score(1.0, -1)] * N,  # type: ignore[arg-type]
    "complex numbers": lambda: [np.complex64(1 + 1j)] * N,
    "a short Column": lambda: TermColumn(np.ones(1), np.zeros(1, dtype=np.int8)),
    "two axes": lambda: np.ones((N, 1)),
}


@pytest.mark.parametrize("what", REFUSED)
def test_answers_that_are_no_numbers_are_errors_of_their_rows(what: str) -> None:
    @term(bounds=(None, None), batched=True)
    def odd(batch: Batch) -> Any:
        return REFUSED[what]()

    scores = compile(odd())(Batch(["a", "b", "c", "d"]))
    assert scores.status.tolist() == [Status.ERROR] * N
    assert "odd" in (scores.first_reason() or "")


def test_masked_entries_of_an_array_have_no_value() -> None:
    @term(bounds=(0, 1), batched=True, optional=True)
    def some(batch: Batch) -> Any:
        return np.ma.masked_array(np.ones(len(batch)), mask=[True, False])

    scores = compile(some())(Batch(["a", "b"]))
    assert scores.status.tolist() == [Status.NOT_APPLICABLE, Status.SCORED]


@pytest.mark.parametrize("group", [None, float("nan"), np.float64("nan"), ["a"], {"a": 1}, np.array([1, 2])], ids=repr)
def test_a_row_without_a_group_is_refused_where_groups_are_compared(group: Any) -> None:
    batch = Batch(["a", "bb", "ccc"], groups=["p", "p", group])
    with pytest.raises(DataError, match="row 2 has the group"):
        compile("group_rank(length())")(batch)
    assert compile("length()")(batch).total.tolist() == [1, 1, 1]


@pytest.mark.parametrize("step", [float("nan"), float("inf"), "3", [3]], ids=repr)
@pytest.mark.parametrize("formula", ["schedule({0: 0.5, 200: 0})", "linear(0, 1, steps=10)"])
def test_a_step_that_is_no_number_is_refused(formula: str, step: Any) -> None:
    with pytest.raises(DataError, match="the training step"):
        compile(formula)(Batch(["a"], step=step))


@pytest.mark.parametrize("mask", [[["1", "0"]], [[None, 1]], [[1.0, float("nan")]], [[1j, 0]]], ids=repr)
def test_a_mask_of_anything_but_numbers_is_refused(mask: Any) -> None:
    scores = compile("length()")(Batch(["a"]))
    with pytest.raises(DataError, match="mask"):
        scores.token_rewards(mask)
    assert scores.token_rewards([[True, False]]).tolist() == scores.token_rewards([[1.0, 0.0]]).tolist() == [[1, 0]]


@pytest.mark.parametrize("placed", ["{}", "({}).spread()"])
def test_no_total_is_infinite_in_single_precision(placed: str) -> None:
    scores = compile(placed.format("1e39 * length()"))(Batch(["a", "", "a b"]))
    assert scores.status.tolist() == [Status.ERROR, Status.SCORED, Status.ERROR]
    assert np.isfinite(scores.token_rewards(np.ones((3, 2)))).all()
    assert np.isnan(scores.total).tolist() == [True, False, True]


def test_a_row_without_extra_info_has_an_empty_one_and_a_text_is_none() -> None:
    batch = Batch(["a", "b b"], extra_infos=[None, {"kind": "x"}])  # type: ignore[list-item]
    assert compile("route({'x': length()}, by='kind', otherwise=0)")(batch).total.tolist() == [0, 2]
    with pytest.raises(DataError, match=r"extra_infos\[1\] is str; expected a mapping"):
        Batch(["a", "b"], extra_infos=[{}, "kind"])  # type: ignore[list-item]


def test_functions_that_no_run_could_call_are_no_terms() -> None:
    with pytest.raises(ParameterError, match="yields its values"):

        @term(bounds=(0, 1))
        def yielding(sample: Sample) -> Any:
            yield 1.0

    with pytest.raises(ParameterError, match="async and batched"):

        @term(bounds=(0, 1), batched=True)
        async def late(batch: Batch) -> list[float]:
            return [1.0] * len(batch)
