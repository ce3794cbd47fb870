"""What is called apart leaves nothing behind: neither what it started nor itself, once its caller is gone."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from rewardkit.audit.apart import Apart


def wait_for(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def is_there(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def starts_a_process(_: str) -> int:
    child = multiprocessing.get_context("fork").Process(target=time.sleep, args=(600,))
    child.start()
    assert child.pid is not None
    return child.pid


def test_a_call_may_start_processes_and_none_is_left() -> None:
    apart = Apart(starts_a_process, len, once=True)
    answers = apart.map(["a", "b"])
    assert [reason for _, reason in answers] == [None, None]
    wait_for(lambda: not any(is_there(pid) for pid, _ in answers))


def test_each_call_has_a_process_of_its_own_where_it_is_told_to() -> None:
    def own(_: str) -> int:
        return os.getpid()

    assert len({pid for pid, _ in Apart(own, len, once=True).map(["a", "b", "c"])}) == 3
    assert len({pid for pid, _ in Apart(own, len).map(["a", "b", "c"])}) == 1


def test_ctrl_c_raised_by_the_function_is_its_failure() -> None:
    def interrupted(_: str) -> None:
        raise KeyboardInterrupt

    assert Apart(interrupted, len).map(["a"]) == [(None, "KeyboardInterrupt: ")]


SCRIPT = """
import os, sys, time
from pathlib import Path
from rewardkit.audit.apart import Apart

def hangs(_):
    Path(sys.argv[1]).write_text(str(os.getpid()))
    while True:
        pass

Apart(hangs, len, deadline=600).map(["a"])
"""


def test_a_call_that_hangs_ends_with_its_caller(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    caller = subprocess.Popen([sys.executable, "-c", SCRIPT, str(file)], cwd=Path(__file__).parents[3])
    wait_for(lambda: file.exists() and file.read_text() != "")
    caller.kill()
    caller.wait()
    wait_for(lambda: not is_there(int(file.read_text())))
