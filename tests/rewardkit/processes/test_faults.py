"""Whatever is killed or stopped, and whenever: each verdict is right, or an ERROR of its own row."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from typing import Any

import pytest

from rewardkit import Batch, Status, compile
from rewardkit.answers import math_grade
from rewardkit.processes.worker_pool import Outcome, Pool
from tests.rewardkit.processes import PROBE
from tests.rewardkit.processes.faults import Faults, left

LENGTHS = [pytest.param(2_000, id="short"), pytest.param(20_000, id="long", marks=pytest.mark.long)]
BATCH = 50


def _call(choose: random.Random, i: int) -> list[Any]:
    """A request whose answer says which request it was: quick, slow, or longer than a socket holds."""
    kind = choose.random()
    if kind < 0.9:
        return ["echo", f"answer {i}"]
    return ["echo", f"answer {i} " + "x" * 600_000] if kind < 0.92 else ["pause", f"answer {i}"]


@pytest.mark.parametrize("gradings", LENGTHS)
@pytest.mark.parametrize(("size", "threads"), [(1, 1), (2, 1), (2, 3)])
def test_no_answer_is_another_requests(gradings: int, size: int, threads: int) -> None:
    pool, outcomes, wrong = Pool(size), Counter[Outcome](), []

    def ask(first: int) -> None:
        choose = random.Random(first)
        for start in range(first, first + gradings // threads // 3, BATCH):
            calls = [_call(choose, i) for i in range(start, start + BATCH)]
            for call, result in zip(calls, pool.run_many(PROBE, calls, cpu_seconds=5), strict=True):
                outcomes[result.outcome] += 1
                if result.outcome is Outcome.DONE and result.value != call[1]:
                    wrong.append((call[1][:20], result.value))
            time.sleep(choose.uniform(0, 0.05))  # faults also find workers that have nothing to do

    with Faults(seed=size * 10 + threads, pause=0.02) as faults:
        askers = [threading.Thread(target=ask, args=(k * 100_000,)) for k in range(threads)]
        for asker in askers:
            asker.start()
        for asker in askers:
            asker.join()
    pool.close()
    print(f"\n{sum(outcomes.values())} requests, {dict(outcomes)}, {dict(faults.count)}, wrong: {len(wrong)}")
    assert wrong == []
    assert set(outcomes) <= {Outcome.DONE, Outcome.DIED}  # a kill is never the request's own timeout
    assert outcomes[Outcome.DONE] > gradings // 3 // 2
    assert faults.count["SIGKILL worker"] > 10
    assert left(faults.seen) == []


def _rows(n: int, choose: random.Random) -> tuple[list[str], list[str], list[float]]:
    """Answers that only a worker can decide, each a formula of its own, with their verdicts."""
    responses, truths, verdicts = [], [], []
    for _ in range(n):
        k, right = choose.randrange(2, 10**6), choose.random() < 0.8
        responses.append(rf"\boxed{{{k} + \log_2 8}}" if right else rf"\boxed{{|x| \le {k}}}")
        truths.append(str(k + 3) if right else f"[-{k},{k + 1}]")
        verdicts.append(float(right))
    return responses, truths, verdicts


@pytest.mark.parametrize("gradings", LENGTHS)
def test_no_verdict_is_another_rows(gradings: int, monkeypatch: pytest.MonkeyPatch) -> None:
    pool = Pool(1, preload="rewardkit.answers.latex.symbolic:warm")
    monkeypatch.setattr(math_grade, "shared_pool", lambda: pool)
    program, choose, statuses, wrong = compile("math_equal()"), random.Random(7), Counter[str](), []
    with Faults(seed=7, pause=0.2) as faults:
        for _ in range(0, gradings // 4, 25):
            responses, truths, verdicts = _rows(25, choose)
            scores = program(Batch(responses, ground_truths=truths))
            for row, verdict in enumerate(verdicts):
                status = Status(int(scores.status[row]))
                statuses[status.name] += 1
                if status is not Status.ERROR and (status is not Status.SCORED or scores.total[row] != verdict):
                    wrong.append((responses[row], truths[row], status, scores.total[row]))
            time.sleep(choose.uniform(0, 0.1))
    pool.close()
    print(f"\n{sum(statuses.values())} rows, {dict(statuses)}, {dict(faults.count)}, wrong: {len(wrong)}")
    assert wrong == []
    assert statuses["SCORED"] > gradings // 4 // 2
    assert faults.count["SIGKILL worker"] > 10
    assert left(faults.seen) == []
