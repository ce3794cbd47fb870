"""The smoke script for a GPU: one line without one, and its steps on the CPU, so that it works where one is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("verl", reason="verl is not installed")
pytestmark = pytest.mark.verl

ROOT = Path(__file__).parents[2]


def smoke(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / "gpu_smoke.py"), *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU: the script would run on it")
def test_without_a_gpu_it_says_so_in_one_line() -> None:
    done = smoke()
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("gpu_smoke: no GPU that torch")


@pytest.mark.long
def test_its_steps_work() -> None:
    done = smoke("--device", "cpu")
    assert done.returncode == 0, done.stderr
    steps = [line.split("  ")[0].split()[0] for line in done.stdout.splitlines() if line.endswith(" s)")]
    assert steps == ["manager", "FSDP", "checkpoint", "conversion"]
    assert "weights moved by" in done.stdout and "2,367,744 parameters" in done.stdout
