"""verl's idea of a device, answered for a machine that has none.

A subclass of verl's ``PlatformBase`` (verl/plugin/platform/platform_base.py), registered as ``cpu`` by the plugin and
chosen by ``VERL_PLATFORM=cpu``.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from types import ModuleType

import torch
from verl.plugin.platform.platform_base import PlatformBase

from trainer_glue.verl.cpu import device
from trainer_glue.verl.cpu.workarounds import CPU


class PlatformCPU(PlatformBase):  # type: ignore[misc]
    """The CPU as verl's accelerator. Ranks talk over gloo and hold logical GPUs of Ray."""

    @property
    def device_name(self) -> str:
        """The torch device type."""
        return "cpu"

    @property
    def vendor_name(self) -> str:
        """The vendor, by which verl looks up engines."""
        return "cpu"

    @property
    def device_module(self) -> ModuleType:
        """What stands in for ``torch.cuda``."""
        return device

    def is_available(self) -> bool:
        """Always."""
        return True

    def current_device(self) -> str:
        """The device that tensors are moved to."""
        return CPU

    def device_count(self) -> int:
        """One for each process."""
        return device.device_count()

    def set_device(self, device_index: int) -> None:
        """Select a device: there is one."""

    def synchronize(self, device_index: int | None = None) -> None:
        """Wait for pending work: there is none."""

    def manual_seed(self, seed: int) -> None:
        """Seed torch."""
        torch.manual_seed(seed)

    def manual_seed_all(self, seed: int) -> None:
        """Seed torch."""
        torch.manual_seed(seed)

    def set_allocator_settings(self, settings: str) -> None:
        """Configure the allocator: torch's CPU allocator has no settings."""

    def empty_cache(self) -> None:
        """Give cached memory back: torch keeps none."""

    def get_device_capability(self, device_index: int = 0) -> tuple[int | None, int | None]:
        """A compute capability: none."""
        return None, None

    def communication_backend_name(self) -> str:
        """The collective library."""
        return "gloo"

    def visible_devices_envvar(self) -> str:
        """The variable in which Ray tells an actor its (logical) GPU."""
        return "CUDA_VISIBLE_DEVICES"

    @contextlib.contextmanager
    def nvtx_range(self, msg: str) -> Iterator[None]:
        """A profiler range: no profiler listens."""
        yield

    def profiler_start(self) -> None:
        """Start the device's profiler: there is none."""

    def profiler_stop(self) -> None:
        """Stop the device's profiler: there is none."""

    def ray_resource_name(self) -> str:
        """The resource that a rank holds; ``ray_init.num_gpus`` makes as many as there are ranks."""
        return "GPU"

    def ray_noset_envvars(self) -> list[str]:
        """Variables that keep Ray from setting the visible devices."""
        return ["RAY_EXPERIMENTAL_NOSET_CUDA_VISIBLE_DEVICES"]

    def is_ipc_supported(self) -> bool:
        """Whether device memory can be shared between processes: it can't."""
        return False

    def cudart(self) -> None:
        """The device's runtime library: none."""
