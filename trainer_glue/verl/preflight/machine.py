"""What this machine has: GPUs, packages, environment. Facts only, gathered once, without importing torch."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Final

_QUERY: Final = ("nvidia-smi", "--query-gpu=memory.total,name", "--format=csv,noheader,nounits")
MIB: Final = 2**20


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU that a process started here would see."""

    memory: int
    """Bytes."""
    name: str


@dataclass(frozen=True)
class Machine:
    """The machine that the preflight runs on.

    Attributes:
        gpus: the visible ones; None where they can't be listed, as on AMD's.
        environment: variables.
    """

    gpus: tuple[Gpu, ...] | None
    environment: Mapping[str, str] = field(default_factory=lambda: MappingProxyType(dict(os.environ)))

    def version(self, package: str) -> str | None:
        """The version of an installed distribution, or None."""
        return _version(package)

    def folder(self, package: str) -> Path | None:
        """The folder of an installed package, or None; it is not imported."""
        return _folder(package)


def this_machine() -> Machine:
    """The facts of this machine."""
    return Machine(_gpus())


def _gpus() -> tuple[Gpu, ...] | None:
    if shutil.which(_QUERY[0]) is None:
        return None
    try:
        done = subprocess.run(_QUERY, capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    rows = [line.partition(",") for line in done.stdout.splitlines() if line.strip()]
    gpus = [Gpu(int(memory) * MIB, name.strip()) for memory, _, name in rows if memory.strip().isdigit()]
    return tuple(_visible(gpus, os.environ.get("CUDA_VISIBLE_DEVICES")))


def _visible(gpus: list[Gpu], setting: str | None) -> list[Gpu]:
    """CUDA's rule: the named ones up to the first that doesn't exist. Names other than numbers are taken as there."""
    if setting is None:
        return gpus
    chosen = []
    for name in (part.strip() for part in setting.split(",")):
        if name.isdigit() and int(name) < len(gpus):
            chosen.append(gpus[int(name)])
        elif name.startswith(("GPU-", "MIG-")) and gpus:
            chosen.append(gpus[0])
        else:
            break
    return chosen


@cache
def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


@cache
def _folder(package: str) -> Path | None:
    spec = importlib.util.find_spec(package)
    places = spec.submodule_search_locations if spec is not None else None
    return Path(next(iter(places))) if places else None
