"""Faults at random moments: kills, stops and restarts of the processes that a pool has started, busy or idle."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections import Counter
from pathlib import Path
from types import TracebackType


def sessions() -> set[int]:
    """The sessions that this process has started: fork servers are leaders of theirs."""
    return {pid for pid, (parent, session, _) in _processes().items() if parent == os.getpid() and session == pid}


def members(of: set[int]) -> list[int]:
    """The processes of some sessions that are not zombies."""
    return sorted(pid for pid, (_, session, state) in _processes().items() if session in of and state != "Z")


def _processes() -> dict[int, tuple[int, int, str]]:
    """Parent, session and state of every process."""
    processes = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                state, parent, _, session = (folder / "stat").read_text().rpartition(")")[2].split()[:4]
            except OSError:  # it has just ended
                continue
            processes[int(folder.name)] = int(parent), int(session), state
    return processes


SERVERS = 0.01
"""Share of the faults that hit fork servers."""


class Faults:
    """Injects faults from a thread as long as the block runs; ``count`` says how many of which kind.

    Args:
        seed: of the choices; when they fall is up to the machine.
        pause: seconds between two faults at most.
    """

    def __init__(self, seed: int, *, pause: float) -> None:
        self.count: Counter[str] = Counter()
        self.seen: set[int] = set()
        self._random, self._pause = random.Random(seed), pause
        self._others = sessions()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        stopped: dict[int, float] = {}
        while not self._done.wait(self._random.uniform(0, self._pause)):
            self.seen |= sessions() - self._others
            # Workers more often than fork servers, which take a second to load.
            what = "server" if self._random.random() < SERVERS else "worker"
            processes = [pid for pid in members(self.seen) if (pid in self.seen) == (what == "server")]
            if not processes:
                continue
            pid = self._random.choice(processes)
            how = self._random.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP, signal.SIGPROF])
            if self._send(pid, how):
                self.count[f"{how.name} {what}"] += 1
            if how is signal.SIGSTOP:
                stopped[pid] = time.monotonic() + self._random.uniform(0, 0.3)
            for pid in [pid for pid, end in stopped.items() if time.monotonic() > end]:
                del stopped[pid]
                self._send(pid, signal.SIGCONT)
        for pid in stopped:
            self._send(pid, signal.SIGCONT)

    def _send(self, pid: int, how: signal.Signals) -> bool:
        try:
            os.kill(pid, how)
        except ProcessLookupError:
            return False
        return True

    def __enter__(self) -> Faults:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        self._thread.join()
        self.seen |= sessions() - self._others


def left(of: set[int], seconds: float = 10.0) -> list[int]:
    """The processes of these sessions that are still there after so long."""
    end = time.monotonic() + seconds
    while (survivors := members(of)) and time.monotonic() < end:
        time.sleep(0.02)
    return survivors
