"""The folder of a run: which file is where, and who may write there.

Everything that a run leaves lies below one folder, so that the same command finds it again. A file that a reader may
open while the run goes on is replaced whole, never written in place.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil

from rewardkit.errors import ConfigError

LOCK_WAIT: Final = 20.0
"""Seconds to wait for a killed run's processes to go: their supervisor holds the lock until it has ended them."""


@dataclass(frozen=True, slots=True)
class RunFolder:
    """The paths of a run.

    Attributes:
        path: the folder, absolute.
        checkpoints: where verl writes `global_step_N`; below `path` unless the user's config says otherwise.
    """

    path: Path
    checkpoints: Path

    @property
    def config(self) -> Path:
        """What verl reads."""
        return self.path / "config.yaml"

    @property
    def log(self) -> Path:
        """What verl and Ray print, over all attempts."""
        return self.path / "log.txt"

    @property
    def record(self) -> Path:
        """What was run, and how it went."""
        return self.path / "run.json"

    @property
    def metrics(self) -> Path:
        """The metrics of every step, a JSON object a line."""
        return self.path / "metrics.jsonl"

    @property
    def live_metrics(self) -> Path:
        """The steps of the attempt that goes on; verl empties the file when it opens it."""
        return self.path / ".metrics.live.jsonl"

    @property
    def curves(self) -> Path:
        """The picture of the reward."""
        return self.path / "rewards.png"

    @property
    def lock(self) -> Path:
        """Held while a run writes here."""
        return self.path / ".lock"

    def log_size(self) -> int:
        """Bytes in the log so far."""
        return self.log.stat().st_size if self.log.exists() else 0


@contextmanager
def locked(folder: RunFolder, wait: float = LOCK_WAIT) -> Iterator[int]:
    """Make the folder and hold it against a second run; yields the lock's file descriptor, for a child to hold it on.

    Raises:
        ConfigError: another run is going on there, or nothing can be written there.
    """
    try:
        folder.path.mkdir(parents=True, exist_ok=True)
        fd = os.open(folder.lock, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as e:
        raise ConfigError(
            f"can't write to {folder.path}: {e.strerror}", hint="give a folder that can be written with --out"
        ) from e
    try:
        deadline = time.monotonic() + wait
        while True:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline or _is_held_by_a_live_command(fd):
                    raise ConfigError(
                        f"another run is going on in {folder.path}", hint="wait for it, stop it, or give another --out"
                    ) from None
                time.sleep(0.2)
        os.truncate(fd, 0)
        os.pwrite(fd, str(os.getpid()).encode(), 0)
        yield fd
    finally:
        os.close(fd)


def _is_held_by_a_live_command(fd: int) -> bool:
    """False when the command that took the lock is gone and only its supervisor is still clearing up."""
    text = os.pread(fd, 32, 0).decode(errors="replace")
    return text.isdigit() and psutil.pid_exists(int(text))


def write_whole(path: Path, data: bytes) -> None:
    """Replace a file by new contents, or leave it as it was."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with partial.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
