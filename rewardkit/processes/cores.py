"""How many CPUs this process may use."""

from __future__ import annotations

import os
from typing import Final

_sharers: Final = [1]


def share_cores(processes: int) -> None:
    """Say how many processes like this one the machine has: pools made from now on divide its cores by them."""
    _sharers[0] = max(1, processes)


def cores() -> int:
    """The CPUs that this process may use, its share of them where it is one of several; at least 1."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, usable // _sharers[0])
