"""A served formula through its life: started, restarted under load, broken, ended, killed."""

from __future__ import annotations

import http.client
import json
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


class Served:
    """The command, its address, the reward's file, and what it said."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "mine.py"
        self.write("length()")
        self._errors = folder / "stderr.txt"
        # A working folder of a user's may hold anything; -P keeps it out of the command's own imports.
        (folder / "json.py").write_text("raise ImportError('the user's own')")
        command = [sys.executable, "-P", "-m", "rewardkit", "serve", str(self.file), "--port", "0"]
        with self._errors.open("w") as errors:
            environment = {**os.environ, "PYTHONPATH": str(ROOT)}
            self.process = subprocess.Popen(command, cwd=folder, stderr=errors, env=environment)
        self.address = self.wait_for(r"http://(\S+)")

    def write(self, formula: str) -> None:
        self.file.write_text(f"from rewardkit import length\nreward = {formula}\n")

    @property
    def said(self) -> str:
        return self._errors.read_text()

    def wait_for(self, pattern: str) -> str:
        deadline = time.monotonic() + 120
        while not (match := re.search(pattern, self.said)):
            assert time.monotonic() < deadline and self.process.poll() is None, self.said
            time.sleep(0.05)
        return match[match.lastindex or 0]

    def formula(self) -> str:
        return str(httpx.get(f"http://{self.address}/health", timeout=60).json()["formula"])

    def children(self) -> list[int]:
        text = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        return [int(pid) for pid in text.split()]


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    process_ = Served(tmp_path)
    yield process_
    process_.process.kill()
    process_.process.wait()


def test_a_restart_reads_the_reward_again_and_loses_no_request(served: Served) -> None:
    stop, scores, failures = threading.Event(), [], []
    body = json.dumps({"rows": [{"response": "one two"}]})

    def hammer(pause: float) -> None:
        # A plain client that keeps its connection and never sends again: httpx looks first, and hides what is lost.
        connection = http.client.HTTPConnection(served.address, timeout=60)
        while not stop.is_set():
            try:
                connection.request("POST", "/score", body)
                scores.append(json.load(connection.getresponse())["rows"][0]["score"])
            except Exception as e:
                failures.append(repr(e))
                connection.close()
            time.sleep(pause)

    threads = [threading.Thread(target=hammer, args=(pause,)) for pause in (0, 0, 0.003, 0.05, 0.4)]
    for thread in threads:
        thread.start()
    served.write("10 * length()")
    served.process.send_signal(signal.SIGHUP)
    served.wait_for("rewardkit: restarted")
    time.sleep(1.0)
    stop.set()
    for thread in threads:
        thread.join()
    assert not failures
    assert set(scores) == {2.0, 20.0}
    assert scores[-1] == 20.0


BROKEN = {
    "reward = (\n": "SyntaxError",
    "import sys\nsys.exit(0)\n": "SystemExit",
    "import os\nos._exit(7)\n": "ended without a word",
    "reward = 3\n": "expected a reward",
}


def test_a_broken_reward_leaves_the_old_one_serving(served: Served) -> None:
    for text, reason in BROKEN.items():
        served.file.write_text(text)
        served.process.send_signal(signal.SIGHUP)
        served.wait_for(f"not restarted, the old formula goes on: .*{reason}.*\n")
        assert served.formula() == "length()"
    (child,) = served.children()  # what could not start is gone
    os.kill(child, signal.SIGKILL)  # and what takes the old one's place pays by the old formula, too
    served.wait_for("another takes its place")
    assert served.formula() == "length()"
    served.write("2 * length()")
    served.process.send_signal(signal.SIGHUP)
    served.wait_for("rewardkit: restarted")
    assert served.formula() == "2 * length()"
    assert "Traceback" not in served.said


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_all_of_it_without_a_traceback(served: Served, number: signal.Signals) -> None:
    assert served.formula() == "length()"
    served.process.send_signal(number)
    assert served.process.wait(timeout=60) == 0
    with pytest.raises(httpx.ConnectError):
        served.formula()
    assert len(served.said.splitlines()) == 1


def test_a_second_signal_waits_for_nothing(served: Served) -> None:
    served.file.write_text(
        "import time\nfrom rewardkit import term\n"
        "@term(bounds=(0, 1))\ndef slow(sample):\n    time.sleep(3600)\n    return 0.0\n"
        "reward = slow()\n"
    )
    served.process.send_signal(signal.SIGHUP)
    served.wait_for("rewardkit: restarted")
    connection = http.client.HTTPConnection(served.address, timeout=600)
    connection.request("POST", "/score", json.dumps({"rows": [{"response": "a"}]}))
    while httpx.get(f"http://{served.address}/health", timeout=60).json()["in_flight"] == 0:
        time.sleep(0.05)
    served.process.send_signal(signal.SIGTERM)
    time.sleep(0.5)
    served.process.send_signal(signal.SIGTERM)
    assert served.process.wait(timeout=60) == 0
    assert "Traceback" not in served.said


def test_a_killed_parent_takes_its_child_with_it(served: Served) -> None:
    (child,) = served.children()
    served.process.kill()
    deadline = time.monotonic() + 60
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
