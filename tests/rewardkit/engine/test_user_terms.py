"""Users' own terms: what they may return, and what is done with what they may not."""

from __future__ import annotations

import asyncio
import pickle
import threading
from typing import Annotated, Any

import numpy as np
import pytest
from pydantic import Field

from rewardkit import Batch, Sample, Score, Status, compile, fingerprint, length, observe, term
from rewardkit.engine.program import Leaves
from rewardkit.engine.scores import headline
from rewardkit.engine.term_runner import run_term
from rewardkit.errors import ParameterError


@term(bounds=(0, 1))
def mentions(sample: Sample, word: str) -> float:
    """1 where the word stands in the response."""
    return float(word in sample.response)


@term(bounds=(0, None), batched=True)
def vowels(batch: Batch, *, weight: Annotated[float, Field(gt=0)] = 1.0) -> Any:
    return np.array([weight * sum(c in "aeiou" for c in text) for text in batch.responses])


@term(bounds=(0, 1), cost="remote")
async def slow_judge(sample: Sample) -> float:
    await asyncio.sleep(0.001)
    return 1.0 if sample.response else 0.0


def test_a_term_builds_nodes_and_keeps_its_docs() -> None:
    assert repr(mentions("a") + 0.5 * vowels()) == "mentions('a') + 0.5 * vowels()"
    assert mentions.__doc__ == "1 where the word stands in the response."
    assert mentions("a") == mentions(word="a") != mentions("b")
    assert compile(mentions("therefore"))(Batch(["therefore 4", "4"])).total.tolist() == [1, 0]


def test_parameters_are_checked_when_the_node_is_built() -> None:
    for build in (lambda: mentions(3), lambda: mentions(), lambda: mentions("a", "b"), lambda: vowels(weight=-1)):
        with pytest.raises(ParameterError):
            build()
    with pytest.raises(ParameterError, match="did you mean 'word'"):
        mentions(wrd="a")  # type: ignore[call-arg]


def test_async_terms_run_from_a_thread_that_has_a_loop_and_from_one_that_has_none() -> None:
    program = compile(slow_judge())
    batch = Batch(["a", "", "b"])
    assert program(batch).total.tolist() == [1, 0, 1]

    async def inside() -> list[float]:
        return program(batch).total.tolist()

    assert asyncio.run(inside()) == [1, 0, 1]
    totals: list[list[float]] = []
    thread = threading.Thread(target=lambda: totals.append(program(batch).total.tolist()))
    thread.start()
    thread.join()
    assert totals == [[1, 0, 1]]


meeting = threading.Barrier(2)


@term(bounds=(0, 1), cost="remote")
async def meets(sample: Sample, *, who: str) -> float:
    """1 where another one is under way at the same time."""
    await asyncio.to_thread(meeting.wait, 10)
    return 1.0


def test_async_terms_are_awaited_together() -> None:
    assert compile(meets(who="a") + meets(who="b"))(Batch(["a"])).total.tolist() == [2]
    only_one = compile(meets(who="a") * mentions("b") + observe(meets(who="b") * mentions("b")))
    assert only_one(Batch(["b", "a", "a"])).total.tolist() == [1, 0, 0]


def answers(*values: Any, **options: Any) -> Any:
    @term(**{"bounds": (0, 1), **options})
    def answering(sample: Sample) -> Any:
        value = values[int(sample.response)]
        if isinstance(value, Exception):
            raise value
        return value

    return compile(answering())(Batch([str(i) for i in range(len(values))]))


def test_what_a_term_may_not_return_is_an_error_with_a_reason_and_is_never_paid() -> None:
    values = [1.5, float("nan"), float("inf"), "1", None, RuntimeError("no judge"), [1.0], 1.0]
    scores = answers(*values)
    assert [Status(int(s)) for s in scores.status] == [Status.ERROR] * 7 + [Status.SCORED]
    assert scores.total[7] == 1.0
    reasons = scores.reasons["answering"]
    for row, part in enumerate(["outside its declared bounds", "nan", "inf", "returned str", "optional", "no judge"]):
        assert part in reasons[row], reasons[row]
    assert "RuntimeError" in reasons[5]
    assert "test_user_terms.py" in reasons[5]
    assert headline(reasons[5]) == "RuntimeError: no judge"


def test_the_headline_of_one_of_our_errors_keeps_the_error_and_its_hint() -> None:
    @term(bounds=(0, 1))
    def undeclared(sample: Sample) -> float:
        return float(sample.ground_truth == "42")

    (reason,) = compile(undeclared())(Batch(["42"], ground_truths=["42"])).reasons["undeclared"].values()
    assert "reads ground_truth" in headline(reason)
    assert "needs=('ground_truth',)" in headline(reason)


@term(bounds=(0, 1))
def as_integer(sample: Sample) -> float:
    return int(sample.response)


@term(per_token=True, bounds=(0, 1))
def by_token(sample: Sample) -> Any:
    return [0.5, "x"] if sample.response == "9" * 400 else [0.5, 0.0]


@pytest.mark.parametrize(("of", "value"), [(as_integer, 1.0), (by_token, 0.5)])
def test_an_answer_that_is_no_float_costs_its_own_row(of: Any, value: float) -> None:
    scores = compile(of())(Batch(["1", "9" * 400], tokens=[[1, 2]] * 2))
    assert scores.status.tolist() == [Status.SCORED, Status.ERROR]
    assert scores.total[0] == value


def test_ground_truths_that_are_equal_and_not_the_same_are_judged_each() -> None:
    for ground_truths in ([1, True], [True, 1]):
        statuses = compile("gsm8k()")(Batch(["#### 1"] * 2, ground_truths=ground_truths)).status.tolist()
        assert statuses == [
            Status.BAD_GOLD if ground_truth is True else Status.SCORED for ground_truth in ground_truths
        ]


@term(per_token=True, bounds=(0, 1), batched=True)
def no_tokens(batch: Batch) -> Any:
    raise RuntimeError("no model")


@pytest.mark.parametrize("tokens", [None, [[1, 2]]], ids=["missing", "raises"])
def test_a_token_level_term_that_fails_is_still_a_column_of_tokens(tokens: Any) -> None:
    """The sampler of verl runs such terms alone, without the rest of stage one."""
    node = no_tokens()
    batch = Batch(["a b"], tokens=tokens)
    scores = compile(node).finish(Leaves(batch, {node: run_term(node, batch)}))
    assert scores.status.tolist() == [Status.ERROR]
    assert scores.token_rewards([[1, 1]], fill=0.25).tolist() == [[0.0, 0.25]]


def test_scores_with_a_status() -> None:
    scores = answers(
        Score(0.5),
        Score(status=Status.NO_ANSWER),
        Score(status=Status.BAD_GOLD, reason="odd gold"),
        None,
        optional=True,
    )
    assert [Status(int(s)).name for s in scores.status] == ["SCORED", "NO_ANSWER", "BAD_GOLD", "NOT_APPLICABLE"]
    assert scores.total[:2].tolist() == [0.5, 0.0]
    assert scores.unscored.tolist() == [False, False, True, True]
    assert scores.reasons["answering"][2] == "odd gold"


def test_a_failure_needs_a_floor_where_there_is_no_bound() -> None:
    failed = Score(status=Status.TIMEOUT)
    assert Status(int(answers(failed, bounds=(None, None)).status[0])) is Status.ERROR
    with_floor = answers(failed, bounds=(None, None), floor=(-3, 0))
    assert (with_floor.total[0], Status(int(with_floor.status[0]))) == (-3.0, Status.TIMEOUT)


def test_a_batched_term_of_the_wrong_length_scores_nothing() -> None:
    @term(bounds=(0, 1), batched=True)
    def short(batch: Batch) -> Any:
        return np.ones(1)

    scores = compile(short())(Batch(["a", "b", "c"]))
    assert scores.unscored.all()
    assert "1 values for 3 rows" in (scores.first_reason() or "")


def test_observed_failures_don_t_poison_what_is_paid() -> None:
    @term(bounds=(0, 1))
    def broken(sample: Sample) -> float:
        raise ValueError("always")

    batch = Batch(["a b"])
    assert compile(length() + broken())(batch).unscored[0]
    watched = compile(length() + observe(broken()))(batch)
    assert watched.total[0] == 2.0
    assert Status(int(watched.statuses["broken"][0])) is Status.ERROR
    assert compile(length() + 0 * broken())(batch).total[0] == 2.0


def test_equal_rows_run_once_and_a_branch_that_no_row_takes_does_not_run() -> None:
    seen: list[str] = []

    @term(verdict=True)
    def yes(sample: Sample) -> bool:
        return sample.response.startswith("y")

    @term(bounds=(0, 1))
    def counted(sample: Sample) -> float:
        seen.append(sample.response)
        return 1.0

    from rewardkit import when

    program = compile(when(yes(), counted(), 0) + when(yes(), 0, 0 * counted()))
    assert program(Batch(["y1", "n", "y1", "y2"])).total.tolist() == [1, 0, 1, 1]
    assert sorted(seen) == ["n", "y1", "y2"]
    seen.clear()
    compile(when(yes(), counted(), 0))(Batch(["n", "no"]))
    assert seen == []


def test_reading_what_is_not_declared_is_an_error_that_names_the_fix() -> None:
    @term(verdict=True)
    def right(sample: Sample) -> bool:
        return sample.response == sample.ground_truth

    @term(bounds=(0, 1), batched=True)
    def share(batch: Batch) -> Any:
        return [float(bool(p)) for p in batch.prompts or ()]

    # Two equal responses with different ground truths: one score for both would be wrong.
    batch = Batch(["4", "4"], ground_truths=["4", "5"], prompts=["a", "b"])
    for formula, need in ((right(), "ground_truth"), (share(), "prompt")):
        scores = compile(formula)(batch)
        assert scores.unscored.all()
        assert f"needs=('{need}',)" in (scores.first_reason() or "")

    @term(verdict=True, needs=("ground_truth",))
    def declared(sample: Sample) -> bool:
        return sample.response == sample.ground_truth

    assert compile(declared())(batch).total.tolist() == [1, 0]


def test_fingerprints_follow_the_source_and_the_version() -> None:
    def build(version: str, body: int) -> Any:
        if body == 1:

            @term(bounds=(0, 1), version=version)
            def mine(sample: Sample) -> float:
                return 1.0  # a comment does not count
        else:

            @term(bounds=(0, 1), version=version)
            def mine(sample: Sample) -> float:
                return 0.0

        return mine()

    assert fingerprint(build("1", 1)) == fingerprint(build("1", 1))
    assert len({fingerprint(build(v, b)) for v in ("1", "2") for b in (1, 2)}) == 4


def test_declarations_are_checked() -> None:
    with pytest.raises(ParameterError, match="did you mean 'bounds'"):
        term(bound=(0, 1))  # type: ignore[call-overload]
    with pytest.raises(ParameterError, match="unknown part of a row"):
        term(needs=("gold",))  # type: ignore[call-overload]
    with pytest.raises(ParameterError, match="has no type"):

        @term(bounds=(0, 1))
        def untyped(sample: Sample, word) -> float:  # type: ignore[no-untyped-def]
            return 0.0


def test_nodes_pickle() -> None:
    node = mentions("a") * 2 + length(0.1)
    assert pickle.loads(pickle.dumps(node)) == node  # noqa: TID251


@pytest.mark.parametrize("floor", [(-5, 9), (-1, None), (3, 2)])
def test_a_floor_outside_the_bounds_is_refused(floor: Any) -> None:
    @term(bounds=(0, None), floor=floor)
    def unbounded(sample: Sample) -> float:
        return 1.0

    with pytest.raises(ParameterError, match="is not within its bounds"):
        unbounded()
