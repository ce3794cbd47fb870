"""The CPU as a device module: what verl calls on ``torch.cuda``, answered for the CPU.

verl reaches it through ``get_torch_device()``. A function stands here because verl's trainer calls it; what has no
meaning on a CPU (caches, peaks, streams) does nothing or is zero, and what has one (memory, random state) is real.
"""

from __future__ import annotations

import psutil
import torch


def is_available() -> bool:
    """Whether the device can be used: always."""
    return True


def device_count() -> int:
    """Devices that this process sees: one."""
    return 1


def current_device() -> int:
    """The index of the current device: 0."""
    return 0


def set_device(device: object) -> None:
    """Select a device: there is one."""


def get_device_name(device: object = None) -> str:
    """A name for logs and for verl's FLOPs table, which knows none for a CPU."""
    return "cpu"


def synchronize(device: object = None) -> None:
    """Wait for pending work: CPU work is done when its call returns."""


def empty_cache() -> None:
    """Give cached memory back: torch keeps none on the CPU."""


def ipc_collect() -> None:
    """Close freed shared handles: there are none."""


def memory_allocated(device: object = None) -> int:
    """Bytes held by torch's allocator, which does not count on the CPU: 0."""
    return 0


def memory_reserved(device: object = None) -> int:
    """Bytes reserved by torch's allocator: 0, as above."""
    return 0


def max_memory_allocated(device: object = None) -> int:
    """Peak of :func:`memory_allocated`."""
    return 0


def max_memory_reserved(device: object = None) -> int:
    """Peak of :func:`memory_reserved`."""
    return 0


def reset_peak_memory_stats(device: object = None) -> None:
    """Forget the peaks."""


def mem_get_info(device: object = None) -> tuple[int, int]:
    """Free and total bytes of the machine's memory."""
    memory = psutil.virtual_memory()
    return memory.available, memory.total


def set_per_process_memory_fraction(fraction: float, device: object = None) -> None:
    """Cap the allocator: the operating system does that here."""


def get_rng_state(device: object = None) -> torch.Tensor:
    """torch's random state; the CPU has one."""
    return torch.get_rng_state()


def set_rng_state(state: torch.Tensor, device: object = None) -> None:
    """Set torch's random state."""
    torch.set_rng_state(state)


def manual_seed_all(seed: int) -> None:
    """Seed torch."""
    torch.manual_seed(seed)
