"""A call that hangs costs its own answer, and no other."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from typing import Any

import numpy as np
import pytest

from rewardkit import Batch, Sample, Status, compile, term
from rewardkit.processes.timeouts import TIMED_OUT, call_in_time

never = threading.Event()  # never set: what waits for it hangs
LONG = 30.0


def test_answers_come_in_order_and_those_out_of_time_are_marked() -> None:
    def call(i: int) -> int:
        if i in (0, 3, 4):
            never.wait(LONG)
        return i * i

    assert call_in_time(call, 7, 0.5) == [TIMED_OUT, 1, 4, TIMED_OUT, TIMED_OUT, 25, 36]
    assert call_in_time(call, 0, 0.2) == []


def test_the_deadline_is_each_call_s_own() -> None:
    assert call_in_time(lambda i: never.wait(0.1) or i, 10, 0.8) == list(range(10))


def test_a_late_answer_is_not_taken() -> None:
    late = threading.Event()

    def call(i: int) -> int:
        if i == 0:
            late.wait(LONG)
        return i

    answers = call_in_time(call, 3, 0.2)
    late.set()
    assert answers == [TIMED_OUT, 1, 2]


@term(bounds=(0, 1))
def hangs(sample: Sample) -> float:
    if sample.response == "hang":
        never.wait(LONG)
    return 1.0


@term(bounds=(0, 1))
async def awaits(sample: Sample) -> float:
    if sample.response == "hang":
        await asyncio.sleep(LONG)
    if sample.response == "late":
        raise TimeoutError("the term's own")
    return 1.0


@term(bounds=(0, 1))
async def clings(sample: Sample) -> float:
    while sample.response == "hang":
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(LONG)
    return 1.0


@term(bounds=(0, 1))
async def blocks(sample: Sample) -> float:
    never.wait(LONG)
    return 1.0


@term(bounds=(0, 1), batched=True)
def hangs_on_all(batch: Batch) -> Any:
    if "hang" in batch.responses:
        never.wait(LONG)
    return np.ones(len(batch))


class Panic(BaseException):
    """What a Rust extension raises: no Exception."""


def _ends(response: str) -> float:
    if response == "hang":
        raise SystemExit(2)
    if response == "panic":
        raise Panic("index out of bounds")
    if response == "interrupt":
        raise KeyboardInterrupt
    if response == "late":
        raise asyncio.CancelledError
    return 1.0


@term(bounds=(0, 1))
def exits(sample: Sample) -> float:
    return _ends(sample.response)


@term(bounds=(0, 1))
async def exits_later(sample: Sample) -> float:
    return _ends(sample.response)


@term(bounds=(0, 1), batched=True)
def exits_on_all(batch: Batch) -> list[float]:
    return [_ends(text) for text in batch.responses]


@term(bounds=(0, 1), batched=True)
def fails(batch: Batch) -> Any:
    raise KeyError("gone")


CASES = [
    # term, statuses of the rows "a", "hang", "late", and what the first reason says
    (hangs, [Status.SCORED, Status.ERROR, Status.SCORED], "hangs gave no answer within 0.3 s"),
    (awaits, [Status.SCORED, Status.ERROR, Status.ERROR], "awaits gave no answer within 0.3 s"),
    (clings, [Status.SCORED, Status.ERROR, Status.SCORED], "let itself be cancelled"),
    (blocks, [Status.ERROR] * 3, "its event loop is blocked"),
    (hangs_on_all, [Status.ERROR] * 3, "hangs_on_all gave no answer within 0.3 s"),
    (fails, [Status.ERROR] * 3, "gone"),
    (exits, [Status.SCORED, Status.ERROR, Status.ERROR], "SystemExit"),
    (exits_later, [Status.SCORED, Status.ERROR, Status.ERROR], "SystemExit"),
    (exits_on_all, [Status.ERROR] * 3, "SystemExit"),
]


@pytest.mark.parametrize("deadline", [None, LONG])
@pytest.mark.parametrize("of", [exits, exits_later, exits_on_all], ids=lambda of: of.name)
def test_a_term_that_panics_costs_its_rows_and_says_so(of: Any, deadline: float | None) -> None:
    program = compile(of())
    scores = program.finish(program.leaves(Batch(["a", "panic"]), deadline=deadline))
    assert scores.status.tolist() == [Status.ERROR if of is exits_on_all else Status.SCORED, Status.ERROR]
    assert "Panic: index out of bounds" in (scores.first_reason() or "")


@pytest.mark.parametrize("of", [exits, exits_on_all], ids=lambda of: of.name)
def test_ctrl_c_ends_the_run_and_an_interrupt_of_the_term_s_own_does_not(of: Any) -> None:
    """Python raises a real one in the main thread, where a term without a deadline runs."""
    program = compile(of())
    with pytest.raises(KeyboardInterrupt):
        program(Batch(["a", "interrupt"]))
    scores = program.finish(program.leaves(Batch(["a", "interrupt"]), deadline=LONG))
    assert scores.status[1] == Status.ERROR
    assert "KeyboardInterrupt" in (scores.first_reason() or "")


@pytest.mark.parametrize("of", [exits, exits_later, exits_on_all], ids=lambda of: of.name)
def test_a_term_that_exits_ends_no_run(of: Any) -> None:
    """Without a deadline it runs in the caller's thread."""
    scores = compile(of())(Batch(["a", "hang", "late"]))
    assert scores.status.tolist() == next(statuses for other, statuses, _ in CASES if other is of)


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, ValueError])
def test_what_a_call_raises_is_raised_in_the_caller(error: type[BaseException]) -> None:
    def call(i: int) -> int:
        if i == 1:
            raise error("on purpose")
        return i

    with pytest.raises(error, match="on purpose"):
        call_in_time(call, 3, LONG)


@pytest.mark.parametrize(("of", "statuses", "reason"), CASES, ids=[of.name for of, *_ in CASES])
def test_every_kind_of_term_is_held_to_the_deadline(of: Any, statuses: list[Status], reason: str) -> None:
    program = compile(of())
    scores = program.finish(program.leaves(Batch(["a", "hang", "late"]), deadline=0.3))
    assert scores.status.tolist() == statuses
    assert reason in (scores.first_reason() or "")
    if of is awaits:
        assert "the term's own" in scores.reasons["awaits"][2]


def test_terms_of_the_vocabulary_stay_in_the_thread_of_the_caller() -> None:
    program = compile("gsm8k() + length(0.1)")
    before = threading.active_count()
    leaves = program.leaves(Batch(["#### 4"], ground_truths=["4"]), deadline=0.3)
    assert program.finish(leaves).total.tolist() == [pytest.approx(1.2)]
    assert threading.active_count() == before
