"""Running the command line as a user does, in this process: by the entry point that the shell's command calls.

What a process of its own is needed for (signals, what is imported, a pipe that closes) is started by the test itself.
"""

from __future__ import annotations

import contextlib
import io
import os
import pty
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rewardkit import cli

ROOT = Path(__file__).resolve().parents[3]
Done = subprocess.CompletedProcess[str]
STYLING = ("NO_COLOR", "FORCE_COLOR", "TERM", "COLUMNS")


@contextlib.contextmanager
def user_at(folder: Path, variables: dict[str, str]) -> Iterator[None]:
    """In a folder, with nothing said about colours or a terminal but by these variables."""
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        for name in STYLING:
            patched.delenv(name, raising=False)
        for name, value in variables.items():
            patched.setenv(name, value)
        yield


@pytest.fixture
def rewardkit(tmp_path: Path) -> Callable[..., Done]:
    """Runs `rewardkit ARGUMENTS` in an empty folder, its output piped."""

    def run(*arguments: str, **variables: str) -> Done:
        out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
        with user_at(tmp_path, variables), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = cli.run(arguments)
        texts = []
        for stream in (out, err):
            stream.flush()
            texts.append(stream.buffer.getvalue().decode())  # type: ignore[attr-defined]
        return Done(arguments, code, *texts)

    return run


@pytest.fixture
def on_terminal(tmp_path: Path) -> Callable[..., str]:
    """What `rewardkit ARGUMENTS` writes to a terminal."""

    def run(*arguments: str, **variables: str) -> str:
        ours, theirs = pty.openpty()
        parts: list[bytes] = []

        def read() -> None:
            with contextlib.suppress(OSError):  # Linux: the other end is closed
                while part := os.read(ours, 1 << 16):
                    parts.append(part)

        reader = threading.Thread(target=read)
        reader.start()
        with (
            user_at(tmp_path, {"TERM": "xterm-256color", "COLUMNS": "100", **variables}),
            open(theirs, "w", encoding="utf-8") as terminal,
            contextlib.redirect_stdout(terminal),
            contextlib.redirect_stderr(terminal),
        ):
            code = cli.run(arguments)
        reader.join()
        os.close(ours)
        written = b"".join(parts)
        assert code == 0, written
        return written.decode()

    return run
