"""Running the command line in a process of its own, as a user does."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
Done = subprocess.CompletedProcess[str]


@pytest.fixture
def rewardkit(tmp_path: Path) -> Callable[..., Done]:
    """Runs `rewardkit ARGUMENTS` in an empty folder, its output piped."""

    def run(*arguments: str, **variables: str) -> Done:
        return subprocess.run(
            [sys.executable, "-m", "rewardkit", *arguments],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT), **variables},
            capture_output=True,
            text=True,
            timeout=120,
        )

    return run


@pytest.fixture
def on_terminal(tmp_path: Path) -> Callable[..., str]:
    """What `rewardkit ARGUMENTS` writes to a terminal."""

    def run(*arguments: str, **variables: str) -> str:
        ours, theirs = pty.openpty()
        environment = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR")}
        environment |= {"PYTHONPATH": str(ROOT), "TERM": "xterm-256color", "COLUMNS": "100", **variables}
        process = subprocess.Popen(
            [sys.executable, "-m", "rewardkit", *arguments],
            cwd=tmp_path,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=theirs,
            stderr=theirs,
        )
        os.close(theirs)
        written = b""
        while True:
            try:
                part = os.read(ours, 1 << 16)
            except OSError:  # Linux: the other end is closed
                break
            if not part:
                break
            written += part
        os.close(ours)
        assert process.wait(timeout=120) == 0, written
        return written.decode()

    return run
