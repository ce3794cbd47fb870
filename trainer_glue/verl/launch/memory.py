"""Whether the machine has the memory that a run on the CPU takes: Ray kills workers of a host that is nearly full."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import psutil

GIB: Final = 2**30
BASE: Final = 3.5 * GIB
"""verl, Ray and one rank with a model of no size to speak of, measured."""
PER_RANK: Final = 0.7 * GIB
"""Each further rank, measured."""
COPIES: Final = 6
"""Of the parameters in float32: trainer, gradients, two Adam moments, the rollout's model, and one on its way to it."""
RESERVE: Final = 0.05
"""Of the whole memory: Ray kills workers when less than this is free (`RAY_memory_usage_threshold`, 0.95)."""

_CGROUP: Final = Path("/sys/fs/cgroup")


def shortage(model: Path, ranks: int) -> str | None:
    """A warning when a run on the CPU is likely to run out of memory, or None.

    Args:
        model: the model's folder; one that is not here counts as small.
        ranks: processes that train.
    """
    total, free = memory()
    needed = BASE + PER_RANK * (ranks - 1) + COPIES * float32_bytes(model)
    usable = free - RESERVE * total
    if needed <= usable:
        return None
    return (
        f"about {needed / GIB:.1f} GiB of memory are needed and {max(usable, 0) / GIB:.1f} GiB are usable: "
        "Ray kills workers when the machine is nearly full"
    )


def memory() -> tuple[int, int]:
    """Bytes of memory in all and free for new processes, within the control group's limit."""
    machine = psutil.virtual_memory()
    total, free = machine.total, machine.available
    limit = _CGROUP / "memory.max"
    if limit.exists() and (text := limit.read_text().strip()) != "max":
        stat = dict(line.split() for line in (_CGROUP / "memory.stat").read_text().splitlines())
        used = int((_CGROUP / "memory.current").read_text()) - int(stat["inactive_file"])  # cached files give way
        total, free = min(total, int(text)), min(free, int(text) - used)
    return total, free


def float32_bytes(model: Path) -> int:
    """Bytes of a model's parameters in float32, from the headers of its safetensors files."""
    if not model.is_dir():
        return 0
    from safetensors import safe_open

    count = 0
    for path in model.glob("*.safetensors"):
        with safe_open(path, framework="numpy") as file:
            for name in file.keys():  # noqa: SIM118 - not a mapping
                size = 1
                for dim in file.get_slice(name).get_shape():
                    size *= dim
                count += size
    return 4 * count
