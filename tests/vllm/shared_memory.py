"""Segments of shared memory that processes killed in the middle of their work leave in /dev/shm.

verl ends vLLM's workers with SIGKILL, and then nobody removes the queues through which vLLM's processes talk: up to
400 MB for each worker, which stay until the machine starts anew. Linux only.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Final

FOLDER: Final = Path("/dev/shm")
NAMES: Final = ("psm_*", "sem.mp-*", "verl_weights_*")
"""What Python's `multiprocessing` (vLLM's queues and locks) and verl (weights on their way) name theirs."""


def segments() -> frozenset[str]:
    """Names of the segments that are there now and are this user's."""
    names = set()
    for pattern in NAMES:
        for path in FOLDER.glob(pattern):
            try:
                if path.stat().st_uid == os.getuid():
                    names.add(path.name)
            except FileNotFoundError:
                continue
    return frozenset(names)


def held() -> frozenset[str]:
    """Names of the segments that a living process of this user maps."""
    names = set()
    for maps in Path("/proc").glob("[0-9]*/maps"):
        try:
            lines = maps.read_text().splitlines()
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
        names |= {line.rpartition(f"{FOLDER}/")[2] for line in lines if f" {FOLDER}/" in line}
    return frozenset(names)


def remove_new(before: frozenset[str], seconds: float = 30.0) -> dict[str, int]:
    """Remove segments that were not there before and that no process maps; waits for processes on their way out.

    Args:
        before: what stays, whoever holds it.
        seconds: how long to wait for those that still hold one.

    Returns:
        The names of what was removed, and their sizes in bytes.
    """
    removed = {}
    deadline = time.monotonic() + seconds
    while True:
        new = segments() - before
        for name in new - held():
            path = FOLDER / name
            try:
                size = path.stat().st_size
                path.unlink()
            except FileNotFoundError:  # its owner was quicker
                continue
            removed[name] = size
        if not new or time.monotonic() > deadline:
            return removed
        time.sleep(0.5)
