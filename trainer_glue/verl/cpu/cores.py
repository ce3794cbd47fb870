"""How many threads a process of the run may use: its share of the machine.

Ray starts actors with ``OMP_NUM_THREADS`` at the CPUs of their bundle, one for a rank, so left alone a rank would
compute on one core. Generation and training take turns, so each of them gets all cores, shared among its ranks.
"""

from __future__ import annotations

import os


def usable_cores() -> int:
    """The cores this process may run on, which in a container or under taskset are fewer than the machine's."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def share_of_cores(ranks: int) -> int:
    """Threads for each of `ranks` processes that compute at the same time; at least one."""
    return max(1, usable_cores() // max(1, ranks))
