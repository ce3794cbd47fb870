"""A call that hangs costs its own answer, and no other."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from typing import Any

import numpy as np
import pytest

from rewardkit import Batch, Sample, Status, compile, term
from rewardkit.watching import OVERDUE, watched

never = threading.Event()  # never set: what waits for it hangs
LONG = 30.0


def test_answers_come_in_order_and_the_overdue_are_marked() -> None:
    def call(i: int) -> int:
        if i in (0, 3, 4):
            never.wait(LONG)
        return i * i

    assert watched(call, 7, 0.5) == [OVERDUE, 1, 4, OVERDUE, OVERDUE, 25, 36]
    assert watched(call, 0, 0.2) == []


def test_the_deadline_is_each_call_s_own() -> None:
    assert watched(lambda i: never.wait(0.1) or i, 10, 0.8) == list(range(10))


def test_a_late_answer_is_not_taken() -> None:
    late = threading.Event()

    def call(i: int) -> int:
        if i == 0:
            late.wait(LONG)
        return i

    answers = watched(call, 3, 0.2)
    late.set()
    assert answers == [OVERDUE, 1, 2]


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


def _ends(response: str) -> float:
    if response == "hang":
        raise SystemExit(2)
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


@pytest.mark.parametrize("of", [exits, exits_later, exits_on_all], ids=lambda of: of.name)
def test_a_term_that_exits_ends_no_run(of: Any) -> None:
    """Without a deadline it runs in the caller's thread."""
    scores = compile(of())(Batch(["a", "hang", "late"]))
    assert scores.status.tolist() == next(statuses for other, statuses, _ in CASES if other is of)


def test_a_thread_that_dies_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threading, "excepthook", lambda args: None)

    def call(i: int) -> int:
        if i == 1:
            raise KeyboardInterrupt
        return i

    began = time.monotonic()
    assert watched(call, 3, LONG) == [0, OVERDUE, 2]
    assert time.monotonic() - began < LONG / 2


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
