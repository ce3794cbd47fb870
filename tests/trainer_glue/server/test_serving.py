"""A served formula through its life: started, restarted under load, ended, killed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("uvicorn")
httpx = pytest.importorskip("httpx")

ROOT = Path(__file__).parents[3]


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], str, Path]]:
    """The command, its address, and the reward's file."""
    file = tmp_path / "mine.py"
    file.write_text("from rewardkit import length\nreward = length()\n")
    command = [sys.executable, "-m", "rewardkit", "serve", str(file), "--port", "0"]
    process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    found = re.search(r"http://\S+", process.stderr.readline())
    assert found is not None
    yield process, found[0], file
    process.kill()
    process.wait()


def test_a_restart_reads_the_reward_again_and_loses_no_request(served: tuple[subprocess.Popen[str], str, Path]) -> None:
    process, address, file = served
    stop, scores, failures = threading.Event(), [], []

    def hammer() -> None:
        with httpx.Client() as client:
            while not stop.is_set():
                try:
                    answer = client.post(f"{address}/score", json={"rows": [{"response": "one two"}]}, timeout=30)
                    scores.append(answer.json()["rows"][0]["score"])
                except Exception as e:
                    failures.append(repr(e))

    threads = [threading.Thread(target=hammer) for _ in range(4)]
    for thread in threads:
        thread.start()
    file.write_text("from rewardkit import length\nreward = 10 * length()\n")
    process.send_signal(signal.SIGHUP)
    assert process.stderr is not None and "restarted" in process.stderr.readline()
    time.sleep(0.5)
    stop.set()
    for thread in threads:
        thread.join()
    assert not failures
    assert set(scores) == {2.0, 20.0}
    assert scores[-1] == 20.0


def test_sigterm_ends_all_of_it(served: tuple[subprocess.Popen[str], str, Path]) -> None:
    process, address, _ = served
    assert httpx.get(f"{address}/health", timeout=30).json()["status"] == "ok"
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=30) == 0
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{address}/health", timeout=5)


def test_a_killed_parent_takes_its_child_with_it(served: tuple[subprocess.Popen[str], str, Path]) -> None:
    process, _, _ = served
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    (child,) = map(int, children.read_text().split())
    process.kill()
    deadline = time.monotonic() + 30
    while Path(f"/proc/{child}").exists() and _is_running(child):
        assert time.monotonic() < deadline
        time.sleep(0.1)


def _is_running(pid: int) -> bool:
    try:
        return "zombie" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False


def test_a_port_that_is_taken_and_a_reward_that_is_none(tmp_path: Path) -> None:
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        command = [sys.executable, "-m", "rewardkit", "serve"]
        for arguments, part in ((["length()", "--port", port], "can't listen"), (["lenght()"], "'length'")):
            done = subprocess.run([*command, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=60)
            assert done.returncode == 2
            assert part in done.stderr and "Traceback" not in done.stderr
    assert os.listdir(tmp_path) == []
