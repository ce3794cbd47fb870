"""Only a training loop's batches have a budget; offline every row is graded, however long that takes."""

from __future__ import annotations

from typing import Any

import pytest

from rewardkit import Batch, Status, compile
from rewardkit.answers import math_grade
from rewardkit.processes.budget import TRAINING_SECONDS, batch_budget, current_budget
from rewardkit.processes.worker_pool import Outcome, Result
from trainer_glue.openrlhf import reward_func_of
from trainer_glue.trl import RewardFunction

ANSWER, TRUTH = r"\boxed{\log_2 8}", "3"


class Recorder:
    """A pool that notes how long it may take."""

    def __init__(self) -> None:
        self.budgets: list[float | None] = []

    def run_many(self, function: str, calls: Any, *, cpu_seconds: float, budget_seconds: float | None) -> list[Result]:
        self.budgets.append(budget_seconds)
        return [Result(Outcome.DONE, True)] * len(calls)


@pytest.fixture
def budgets(monkeypatch: pytest.MonkeyPatch) -> list[float | None]:
    recorder = Recorder()
    monkeypatch.setattr(math_grade, "shared_pool", lambda: recorder)
    return recorder.budgets


def test_offline_nothing_expires(budgets: list[float | None]) -> None:
    assert compile("math_equal()")(Batch([ANSWER], ground_truths=[TRUTH])).total.tolist() == [1.0]
    assert budgets == [None]


def test_a_block_gives_its_budget_and_takes_it_back(budgets: list[float | None]) -> None:
    program = compile("math_equal()")
    with batch_budget(7):
        program(Batch([ANSWER], ground_truths=[TRUTH]))
    assert (budgets, current_budget()) == ([7], None)


def test_trainers_give_one(budgets: list[float | None]) -> None:
    pytest.importorskip("torch")
    RewardFunction("math_equal()")(prompts=["?"], completions=[ANSWER], ground_truth=[TRUTH])
    reward_func_of("math_equal()")(queries=[f"?{ANSWER}"], prompts=["?"], labels=[TRUTH])
    assert budgets == [TRAINING_SECONDS] * 2


def test_what_expired_is_unscored_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    with batch_budget(0):
        scores = compile("math_equal()")(Batch([ANSWER], ground_truths=[TRUTH]))
    assert scores.status.tolist() == [Status.ERROR]
    assert "budget of 0 s" in (scores.first_reason() or "")
    assert "1 of 1 calls" in caplog.text
