"""`rewardkit train` on a Ray cluster that is there already: it joins, is stopped, and leaves the cluster as it was."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.trainer_glue.verl.launch.test_real_run import start, steps_in

pytest.importorskip("verl", reason="needs verl installed: pip install 'rewardkit-rl[verl]'")
pytestmark = [pytest.mark.run, pytest.mark.long]


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of a cluster that listens at RAY_ADDRESS; Ray's sockets need a short path."""
    from trainer_glue.verl.launch.processes import descendants

    folder = Path(tempfile.mkdtemp(prefix="rk-test-", dir="/tmp"))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.delenv("RAY_TMPDIR", raising=False)
    command = [sys.executable, "-c", "from ray.scripts.scripts import main; main()", "start", "--head", "--block"]
    options = [f"--port={port}", f"--temp-dir={folder}", "--num-cpus=16", "--num-gpus=1", "--include-dashboard=false"]
    with (folder / "head.txt").open("wb") as log:
        head = subprocess.Popen([*command, *options], stdout=log, stderr=log, start_new_session=True)
    try:
        deadline = time.monotonic() + 60
        while "runtime started" not in (folder / "head.txt").read_text() and time.monotonic() < deadline:
            assert head.poll() is None, (folder / "head.txt").read_text()
            time.sleep(0.2)
        monkeypatch.setenv("RAY_ADDRESS", f"127.0.0.1:{port}")
        yield folder
        assert head.poll() is None, "the cluster outlives the run"
    finally:
        processes = descendants(head.pid)
        head.terminate()
        head.wait(timeout=60)
        for pid in processes:
            if Path(f"/proc/{pid}").exists():
                os.kill(pid, signal.SIGKILL)
        shutil.rmtree(folder, ignore_errors=True)


def actors(folder: Path) -> list[str]:
    """The actors of a cluster's node, whose processes Ray names after them."""
    from trainer_glue.verl.launch.processes import descendants

    raylet = next(
        int(entry.name)
        for entry in Path("/proc").glob("[0-9]*")
        if b"raylet/raylet" in (line := command(entry)) and str(folder).encode() in line
    )
    names = [command(Path(f"/proc/{pid}")).decode(errors="replace") for pid in descendants(raylet)]
    return [n for n in names if n.startswith("ray::") and "IDLE" not in n and "Agent" not in n]


def command(entry: Path) -> bytes:
    try:
        return (entry / "cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""


def test_a_run_joins_a_cluster_and_leaves_it_as_it_was(cluster, tmp_path):
    process = start(tmp_path, "trainer.total_training_steps=50", "trainer.save_freq=1")
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line)
        if line.split()[:1] == ["1/50"]:
            assert actors(cluster), "the run is on the cluster, where its actors are found while they are there"
            process.send_signal(signal.SIGINT)
    assert process.wait() == 130, "".join(lines)
    run = tmp_path / "runs" / "tiny"
    assert "reward/length/mean" in steps_in(run)[1]
    record = json.loads((run / "run.json").read_text())
    assert record["state"] == "stopped" and (run / record["checkpoint"] / "actor").is_dir()
    deadline = time.monotonic() + 15
    while (left := actors(cluster)) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert not left
