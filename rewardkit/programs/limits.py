"""What one run of a program may use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from rewardkit.errors import ParameterError

_MOST: Final = 1e9


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one process: one whole program, one call, or all the calls of a session that keeps its process.

    Args:
        cpu_seconds: CPU time over all threads.
        wall_seconds: time on the clock, from when the process runs.
        memory_mb: address space in MiB, the interpreter's own 50 or so included.
        processes: threads at a time, the first one included. No program starts a process.
        file_mb: MiB that all files in its scratch folder may hold.
        output_chars: characters of its printed text, and of a returned value's encoding.
    """

    cpu_seconds: float = 10.0
    wall_seconds: float = 30.0
    memory_mb: int = 1024
    processes: int = 32
    file_mb: int = 16
    output_chars: int = 1_000_000

    def __post_init__(self) -> None:
        least = {
            "cpu_seconds": 0.01,
            "wall_seconds": 0.01,
            "memory_mb": 128,
            "processes": 1,
            "file_mb": 0,
            "output_chars": 1,
        }
        for name, minimum in least.items():
            if not minimum <= getattr(self, name) <= _MOST:
                raise ParameterError(f"`{name}` is {getattr(self, name)!r}; expected {minimum:g} to {_MOST:g}")
