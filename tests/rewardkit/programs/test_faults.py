"""Faults from outside: processes killed and stopped at random, a full disk, forks of the caller, many timeouts."""

from __future__ import annotations

import contextlib
import gc
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rewardkit.programs.limits import Limits
from rewardkit.programs.local import LocalSandbox
from rewardkit.programs.outcome import Ending, Outcome
from rewardkit.programs.place import Place
from tests.rewardkit.programs.test_hostile import children

LIMITS = Limits(cpu_seconds=10, wall_seconds=60, memory_mb=512, file_mb=2, output_chars=20_000)
ECHO = "import sys, time\nx = int(sys.stdin.read())\ntime.sleep(0.01 * (x % 3))\nprint(x * x)"
CALLED = "import time\ndef f(x):\n    time.sleep(0.01 * (x % 3))\n    return x * x"


@contextlib.contextmanager
def meanwhile(do: Callable[[random.Random], None], every: float) -> Iterator[None]:
    """Something done again and again in another thread."""
    over, chance = threading.Event(), random.Random(0)

    def loop() -> None:
        while not over.wait(every):
            do(chance)

    thread = threading.Thread(target=loop)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def a_process(sandbox: LocalSandbox, chance: random.Random, before: set[int]) -> int | None:
    """One of those that this process has started for programs."""
    pids = sorted(children(os.getpid()) - before)
    return chance.choice(pids) if pids else None


@pytest.mark.parametrize(("number", "rows"), [(signal.SIGKILL, 150), (signal.SIGSTOP, 45)])
def test_processes_are_hit_at_random_and_no_verdict_is_another_rows(
    own_sandbox: LocalSandbox, number: signal.Signals, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rewardkit.programs.place._ANSWER_SECONDS", 1.0)
    monkeypatch.setattr("rewardkit.programs.place._START_SECONDS", 5.0)
    before = children(os.getpid())
    hits = 0

    def hit(chance: random.Random) -> None:
        nonlocal hits
        pid = a_process(own_sandbox, chance, before)
        if pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
                hits += 1

    def row(x: int) -> tuple[int, Outcome]:
        limits = Limits(wall_seconds=20 if number is signal.SIGKILL else 3, memory_mb=512)
        if x % 3 == 0:
            return x, own_sandbox.run(ECHO, str(x), limits)
        with own_sandbox.open(CALLED, limits) as session:
            return x, session.call("f", [x], fresh=x % 3 == 1)

    with meanwhile(hit, 0.5), ThreadPoolExecutor(2) as executor:
        came = list(executor.map(row, range(rows)))
    assert hits > 3
    for x, outcome in came:
        assert outcome.ending in (Ending.VALUE, Ending.BROKEN), outcome
        if outcome.ending is Ending.VALUE:
            assert outcome.value == x * x or outcome.output == f"{x * x}\n", (x, outcome)
    assert sum(outcome.ending is Ending.VALUE for _, outcome in came) > rows / 2
    own_sandbox.close()
    assert children(os.getpid()) == before


def test_a_run_is_tried_again_when_its_server_dies(own_sandbox: LocalSandbox) -> None:
    assert own_sandbox.run("print(1)", "", LIMITS).output == "1\n"
    for pid in own_sandbox.processes():
        os.kill(pid, signal.SIGKILL)
    assert own_sandbox.run("print(2)", "", LIMITS) == Outcome(Ending.VALUE, None, "2\n")


def test_a_session_whose_process_is_killed_says_so(own_sandbox: LocalSandbox) -> None:
    before = children(os.getpid())
    with own_sandbox.open("n = 0\ndef f():\n    global n; n += 1\n    return n", LIMITS) as session:
        assert session.call("f", fresh=False).value == 1
        for pid in children(os.getpid()) - before:
            os.kill(pid, signal.SIGKILL)
        for _ in range(2):
            assert session.call("f", fresh=False).ending is Ending.BROKEN
        assert session.call("f").value == 1
    assert own_sandbox.run("print(1)", "", LIMITS).output == "1\n"


def test_a_full_disk_is_not_the_programs_fault(own_sandbox: LocalSandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    program = "import errno, os\nraise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))"
    assert own_sandbox.run(program, "", LIMITS).ending is Ending.RAISED, "it says so, and the disk is not full"

    class Full:
        f_bavail, f_frsize, f_favail = 0, 4096, 100

    monkeypatch.setattr(os, "statvfs", lambda path: Full)
    assert own_sandbox.run(program, "", LIMITS).ending is Ending.BROKEN
    assert own_sandbox.run("raise ValueError", "", LIMITS).ending is Ending.RAISED


def test_a_folder_that_can_not_be_made_is_not_the_programs_fault(
    own_sandbox: LocalSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rewardkit.programs.place.os.mkdir", lambda *_: (_ for _ in ()).throw(OSError(28, "full")))
    outcome = own_sandbox.run("print(1)", "", LIMITS)
    assert (outcome.ending, "full" in outcome.reason) == (Ending.BROKEN, True)


def test_a_place_is_dropped_where_it_can_not_be_emptied(
    own_sandbox: LocalSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(place: Place) -> None:
        raise OSError("it can't be emptied")

    assert own_sandbox.run("print(1)", "", LIMITS).output == "1\n"
    monkeypatch.setattr(Place, "clean", fails)
    assert own_sandbox.run("print(2)", "", LIMITS).output == "2\n", "what came of it stands"
    assert own_sandbox.processes() == []


def test_a_forked_caller_leaves_its_parents_places_alone(own_sandbox: LocalSandbox) -> None:
    assert own_sandbox.run("print(1)", "", LIMITS).output == "1\n"
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            code = 0 if own_sandbox.run("print(2)", "", LIMITS).output == "2\n" else 2
            own_sandbox.close()
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert own_sandbox.run("print(3)", "", LIMITS).output == "3\n"


CALLER = """
import os, sys
from rewardkit.programs.limits import Limits
from rewardkit.programs.local import LocalSandbox
sandbox = LocalSandbox(sys.argv[1])
with sandbox.open("def f(): return 1", Limits()) as session:
    session.call("f", fresh=False)
    sandbox.run("print(1)", "", Limits())
    print("ready", flush=True)
    sandbox.run("import time; time.sleep(900)", "", Limits(wall_seconds=900))
"""


def test_nothing_is_left_when_the_caller_is_killed(sandbox: LocalSandbox) -> None:
    caller = subprocess.Popen([sys.executable, "-c", CALLER, sandbox.name], stdout=subprocess.PIPE, text=True)
    assert caller.stdout is not None
    with caller.stdout:
        assert caller.stdout.readline() == "ready\n"
    wait_until(lambda: len(children(caller.pid)) >= 4)
    theirs = children(caller.pid)
    caller.kill()
    caller.wait()
    wait_until(lambda: not any(is_running(pid) for pid in theirs))


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"  # nobody may be there to wait for it


def wait_until(true: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not true():
        assert time.monotonic() < until
        time.sleep(0.02)


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def leaks(sandbox: LocalSandbox, times: int, tmp_path: Path) -> None:
    limits = Limits(cpu_seconds=0.02, wall_seconds=0.05, memory_mb=256)
    programs = ["while True: pass", "import time; time.sleep(60)", "open('x', 'w').write('x')\nwhile True: pass"]

    def state() -> tuple[int, int, int]:
        gc.collect()
        folders = [name for name in os.listdir(tmp_path) if name.startswith("rewardkit-program-")]
        return len(os.listdir("/proc/self/fd")), len(children(os.getpid())), len(folders)

    with ThreadPoolExecutor(2) as executor:
        list(executor.map(lambda n: sandbox.run(programs[n % 3], "", limits), range(20)))
        before, memory = state(), resident()
        came = list(executor.map(lambda n: sandbox.run(programs[n % 3], "", limits), range(times)))
        assert {outcome.ending for outcome in came} <= {Ending.CPU, Ending.WALL}
        assert state() == before
        assert resident() - memory < 8 << 20
    zombies = [pid for pid in children(os.getpid()) if not is_running(pid)]
    assert zombies == []
    sandbox.close()
    assert state()[2] == 0


@pytest.fixture
def here(any_sandbox: LocalSandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalSandbox]:
    """A sandbox whose folders are made in the test's folder."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    sandbox = LocalSandbox(any_sandbox.name, size=2)  # type: ignore[arg-type]
    yield sandbox
    sandbox.close()


def test_timeouts_leave_nothing(here: LocalSandbox, tmp_path: Path) -> None:
    leaks(here, 60, tmp_path)


@pytest.mark.long
def test_a_thousand_timeouts_leave_nothing(here: LocalSandbox, tmp_path: Path) -> None:
    leaks(here, 1_000, tmp_path)
