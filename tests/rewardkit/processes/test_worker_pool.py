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
from tests.rewardkit.processes.faults import left, members


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


def _limited(setup: str) -> str:
    """What a process says that first does something to itself, and then asks a worker."""
    code = (
        f"import resource, signal, sys\nfrom rewardkit.processes.worker_pool import Pool\n{setup}\n"
        f"r = Pool(1).run('{PROBE}', ['echo', 1], cpu_seconds=5)\nprint(r.outcome.name, r.value)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("limit", ["(3 << 30, 3 << 30)", "(2 << 30, 3 << 30)", "(3 << 30, -1)"])
def test_a_lower_limit_on_memory_is_kept(limit: str) -> None:
    """`ulimit -v`: nobody may set more than the hard limit."""
    assert _limited(f"resource.setrlimit(resource.RLIMIT_AS, {limit})") == "DONE 1"


def test_a_thread_that_blocks_signals_hands_that_on_to_no_worker() -> None:
    setup = f"signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGPROF])\nP = '{PROBE}'"
    setup += "\nprint(Pool(1).run(P, ['spin', 30], cpu_seconds=0.2).outcome.name)"
    assert _limited(setup).split() == ["TIMEOUT", "DONE", "1"]


def test_a_death_is_explained() -> None:
    pool = Pool(1, memory_bytes=1 << 30)
    cases = {"exit": "exit code 3", "kill": "SIGKILL", "memory": "more memory", "crash": "Fatal Python error"}
    for way, says in cases.items():
        result = pool.run(PROBE, [way, 0], cpu_seconds=5)
        assert result.outcome is Outcome.DIED
        assert says in result.value
    pool.close()


def test_workers_that_can_not_start_say_why_and_cost_no_time_each() -> None:
    pool = Pool(2, preload="no_such_module")
    results = pool.run_many(PROBE, [["echo", 1]] * 200, cpu_seconds=5)
    assert {r.outcome for r in results} == {Outcome.DIED}
    assert all("No module named 'no_such_module'" in r.value for r in results)
    assert pool.processes() == []
    pool.preload = ""
    assert pool.run(PROBE, ["echo", 1], cpu_seconds=5).outcome is Outcome.DONE
    pool.close()


def test_a_signal_from_outside_is_no_timeout(pool: Pool) -> None:
    """The policy is blamed for a timeout, and nobody but its own CPU time may say so."""
    assert pool.run(PROBE, ["signal", int(signal.SIGPROF)], cpu_seconds=5).outcome is Outcome.DIED
    assert pool.run(PROBE, ["signal", int(signal.SIGXCPU)], cpu_seconds=5).outcome is Outcome.DIED


def test_an_answer_that_is_no_json_is_a_failure(pool: Pool) -> None:
    result = pool.run(PROBE, ["object", 0], cpu_seconds=5)
    assert result.outcome is Outcome.FAILED
    assert "not JSON serializable" in result.value


def test_requests_and_answers_longer_than_a_socket_holds(pool: Pool) -> None:
    texts = [f"{i}" * 3_000_000 for i in range(4)]
    results = pool.run_many(PROBE, [["echo", text] for text in texts], cpu_seconds=20)
    assert [r.value for r in results] == texts


def test_no_process_outlives_a_forked_copy_of_the_caller(pool: Pool) -> None:
    """It has copies of all channels, those of workers that are at a request too."""
    asking = threading.Thread(target=lambda: pool.run(PROBE, ["sleep", 0.5], cpu_seconds=5))
    asking.start()
    time.sleep(0.3)
    child = os.fork()
    if child == 0:
        time.sleep(20)
        os._exit(0)
    asking.join()
    pids = members(set(pool.processes()))
    pool.close()
    try:
        assert len(pids) > 1
        assert left(set(pids)) == []
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_a_budget_says_what_it_left_out(pool: Pool, caplog: pytest.LogCaptureFixture) -> None:
    pool.run_many(PROBE, [["sleep", 0.4]] * 12, cpu_seconds=5, budget_seconds=0.5)
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "of 12 calls" in caplog.text
    assert "budget of 0.5 s" in caplog.text
