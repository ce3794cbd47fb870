"""A process and everything that came from it: found, ended, and waited for.

Ray's daemons and workers start sessions of their own, so a process group doesn't hold them. A *subreaper* does: every
process below it whose own parent ends becomes its child, so the tree below it is whole as long as it lives.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import time
from typing import Final

import psutil

_PR_SET_PDEATHSIG: Final = 1
_PR_SET_CHILD_SUBREAPER: Final = 36


def become_subreaper() -> None:
    """Adopt what any process below this one leaves behind."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def die_with_parent() -> None:
    """Have the kernel kill this process when the thread that started it ends."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _prctl(option: int, value: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, ctypes.c_ulong(value), 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"prctl({option}): {os.strerror(number)}")


def descendants(root: int) -> list[int]:
    """The processes below a process, itself left out, zombies too."""
    try:
        return [process.pid for process in psutil.Process(root).children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def reap() -> dict[int, int]:
    """Exit codes of the children that have ended, by process id; death by a signal is 128 plus its number."""
    ended = {}
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                break
            code = os.waitstatus_to_exitcode(status)
            ended[pid] = code if code >= 0 else 128 - code
    return ended


def end_descendants(timeout: float) -> list[int]:
    """Kill everything below this process, a subreaper; what is still there after the timeout is returned."""
    deadline = time.monotonic() + timeout
    while True:
        reap()
        left = descendants(os.getpid())
        if not left or time.monotonic() > deadline:
            return left
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)
