"""The killable pool: deadlines in CPU time, deaths that cost one verdict, no process left behind."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from rewardkit.processes.cores import share_cores
from rewardkit.processes.worker_pool import Outcome, Pool
from tests.rewardkit.processes import PROBE


@pytest.fixture
def pool() -> Iterator[Pool]:
    made = Pool(2)
    yield made
    made.close()


def _alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def _gone(pids: list[int], seconds: float = 10.0) -> bool:
    end = time.monotonic() + seconds
    while any(_alive(pid) for pid in pids):
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def test_a_request_is_answered(pool: Pool) -> None:
    result = pool.run(PROBE, ["echo", [1, "two", None]], cpu_seconds=5)
    assert (result.outcome, result.value) == (Outcome.DONE, [1, "two", None])


def test_a_raised_exception_is_reported_and_the_worker_lives_on(pool: Pool) -> None:
    pool.run(PROBE, ["echo", 0], cpu_seconds=5)
    before = pool.processes()
    result = pool.run(PROBE, ["raise", "on purpose"], cpu_seconds=5)
    assert result.outcome is Outcome.FAILED
    assert "on purpose" in result.value
    assert pool.processes() == before


def test_the_deadline_is_cpu_time_and_not_wall_time(pool: Pool) -> None:
    assert pool.run(PROBE, ["sleep", 1.0], cpu_seconds=0.3).outcome is Outcome.DONE
    assert pool.run(PROBE, ["spin", 60], cpu_seconds=0.3).outcome is Outcome.TIMEOUT


def test_a_deadline_ends_c_code_too(pool: Pool) -> None:
    assert pool.run(PROBE, ["power", 10**8], cpu_seconds=0.3).outcome is Outcome.TIMEOUT


@pytest.mark.parametrize("way", ["exit", "kill", "memory"])
def test_a_death_costs_one_verdict(way: str) -> None:
    pool = Pool(2, memory_bytes=1 << 30)
    calls = [["echo", i] for i in range(20)]
    calls[7] = [way, 0]
    results = pool.run_many(PROBE, calls, cpu_seconds=20)
    assert [r.outcome for i, r in enumerate(results) if i != 7] == [Outcome.DONE] * 19
    assert [r.value for i, r in enumerate(results) if i != 7] == [i for i in range(20) if i != 7]
    assert results[7].outcome is Outcome.DIED
    pool.close()


def test_a_worker_killed_between_requests_costs_nothing(pool: Pool) -> None:
    pool.run_many(PROBE, [["echo", i] for i in range(4)], cpu_seconds=5)
    for pid in pool.processes():
        os.kill(pid, signal.SIGKILL)
        assert _gone([pid])
    assert [r.value for r in pool.run_many(PROBE, [["echo", i] for i in range(4)], cpu_seconds=5)] == [0, 1, 2, 3]


def test_what_no_worker_took_in_time_is_expired(pool: Pool) -> None:
    results = pool.run_many(PROBE, [["sleep", 0.4]] * 12, cpu_seconds=5, budget_seconds=1.0)
    outcomes = {r.outcome for r in results}
    assert outcomes == {Outcome.DONE, Outcome.EXPIRED}
    assert results[-1].outcome is Outcome.EXPIRED


def test_many_threads_share_the_workers(pool: Pool) -> None:
    answers: dict[int, list[int]] = {}

    def work(k: int) -> None:
        answers[k] = [r.value for r in pool.run_many(PROBE, [["echo", k * 100 + i] for i in range(25)], cpu_seconds=5)]

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == {k: [k * 100 + i for i in range(25)] for k in range(6)}
    assert len(pool.processes()) <= 2


def _in_child(queue: multiprocessing.Queue[list[int]]) -> None:
    pool = Pool(1)
    queue.put([r.value for r in pool.run_many(PROBE, [["echo", i] for i in range(3)], cpu_seconds=5)])


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_daemonic_child_process_can_have_workers(method: str) -> None:
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    child = context.Process(target=_in_child, args=(queue,), daemon=True)
    child.start()
    assert queue.get(timeout=60) == [0, 1, 2]
    child.join(timeout=30)


def test_a_forked_child_leaves_its_parents_workers_alone(pool: Pool) -> None:
    pool.run(PROBE, ["echo", 1], cpu_seconds=5)
    before = pool.processes()
    child = os.fork()
    if child == 0:
        code = 0 if pool.run(PROBE, ["echo", 2], cpu_seconds=5).value == 2 and pool.processes() != before else 1
        pool.close()
        os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert pool.processes() == before
    assert pool.run(PROBE, ["echo", 3], cpu_seconds=5).value == 3


@pytest.mark.parametrize("end", ["return", "kill"])
def test_no_process_is_left_when_the_caller_ends(end: str) -> None:
    code = (
        "import os, signal\nfrom rewardkit.processes.worker_pool import Pool\n"
        f"p = Pool(2)\np.run_many('{PROBE}', [['echo', 1]] * 4, cpu_seconds=5)\n"
        "print(*p.processes(), flush=True)\n" + ("os.kill(os.getpid(), signal.SIGKILL)\n" if end == "kill" else "")
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    pids = [int(pid) for pid in done.stdout.split()]
    assert pids
    assert _gone(pids)


def test_close_ends_all_workers() -> None:
    pool = Pool(2)
    pool.run_many(PROBE, [["echo", i] for i in range(4)], cpu_seconds=5)
    pids = pool.processes()
    pool.close()
    assert pids
    assert _gone(pids)


def test_no_signal_is_set_in_the_calling_process(pool: Pool) -> None:
    before = [signal.getsignal(s) for s in (signal.SIGALRM, signal.SIGPROF, signal.SIGVTALRM, signal.SIGCHLD)]
    pool.run(PROBE, ["spin", 60], cpu_seconds=0.2)
    assert [signal.getsignal(s) for s in (signal.SIGALRM, signal.SIGPROF, signal.SIGVTALRM, signal.SIGCHLD)] == before
    assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)


def test_processes_that_say_so_divide_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(16)))
    assert Pool().size == 16
    monkeypatch.setattr("rewardkit.processes.cores._sharers", [1])  # put back at the end
    share_cores(8)
    assert Pool().size == 2
    share_cores(64)
    assert Pool().size == 1
