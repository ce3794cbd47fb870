"""The CPU as verl's device: complete, and honest about what it is."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
verl = pytest.importorskip("verl")

from trainer_glue.verl.cpu import device
from trainer_glue.verl.cpu.cores import share_of_cores, usable_cores
from trainer_glue.verl.cpu.platform import PlatformCPU

TRAINER = ("trainer/ppo", "workers/engine/fsdp", "workers/engine_workers.py", "workers/engine/base.py")
TRAINER += ("single_controller", "utils/fsdp_utils.py", "utils/memory_utils.py", "utils/profiler/performance.py")
TRAINER += ("utils/checkpoint/checkpoint_manager.py", "utils/checkpoint/fsdp_checkpoint_manager.py")


def test_nothing_of_verls_interface_is_left_open() -> None:
    assert not PlatformCPU.__abstractmethods__
    assert PlatformCPU().device_module is device


def test_the_device_answers_every_call_that_the_fsdp_trainer_makes_on_it() -> None:
    folder = Path(verl.__file__).parent
    files = [file for part in TRAINER for file in (folder / part, *(folder / part).rglob("*.py")) if file.is_file()]
    called = {name for file in files for name in re.findall(r"get_torch_device\(\)\.(\w+)\(", file.read_text())}
    assert "empty_cache" in called and "memory_allocated" in called
    assert called <= set(dir(device))


def test_memory_is_the_machines_and_counters_are_zero() -> None:
    free, total = device.mem_get_info()
    assert 0 < free <= total
    counters = (device.memory_allocated, device.memory_reserved)
    counters += (device.max_memory_allocated, device.max_memory_reserved)
    assert [count() for count in counters] == [0] * 4


def test_random_state_is_torchs() -> None:
    device.manual_seed_all(3)
    state = device.get_rng_state()
    first = torch.rand(3)
    device.set_rng_state(state)
    assert torch.equal(torch.rand(3), first)
    platform = PlatformCPU()
    platform.manual_seed(3)
    assert torch.equal(torch.rand(3), first)


def test_a_rank_asks_ray_for_a_logical_gpu() -> None:
    assert PlatformCPU().ray_resource_options(1) == {"num_gpus": 1}


@pytest.mark.parametrize("ranks", [1, 2, 3, 1000])
def test_cores_are_shared_and_never_none(ranks: int) -> None:
    share = share_of_cores(ranks)
    assert share >= 1
    assert share == 1 or share * ranks <= usable_cores()


def plugged(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run in a process that verl is plugged into, as one of a run's would be."""
    from trainer_glue.verl.cpu import environment as cpu_environment

    variables = {**os.environ, **cpu_environment(), "VERL_LOGGING_LEVEL": "WARNING", **environment}
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, env=variables, check=False
    )


def test_importing_verl_registers_everything_in_silence_and_takes_a_rank_s_share_of_the_cores() -> None:
    done = plugged(
        "import verl, torch\n"
        "from verl.utils.device import get_device_id, get_device_name, get_nccl_backend\n"
        "assert (get_device_name(), get_device_id(), get_nccl_backend()) == ('cpu', 'cpu', 'gloo')\n"
        "from verl.workers.rollout.base import get_rollout_class\n"
        "from verl.workers.rollout.replica import get_rollout_replica_class\n"
        "print(get_rollout_class('hf_cpu').__name__, get_rollout_replica_class('hf_cpu').__name__)\n"
        "print(torch.get_num_threads())\n",
        RANK="0",
        WORLD_SIZE="1",
        OMP_NUM_THREADS="1",
    )
    printed = ["CpuRollout", "CpuReplica", str(usable_cores())]
    assert (done.stdout.split(), done.returncode) == (printed, 0), done.stderr


@pytest.mark.long
def test_another_verl_is_refused_before_anything_is_patched() -> None:
    done = plugged(
        "import importlib.metadata as m; real = m.version\n"
        "m.version = lambda name: '0.10.0' if name == 'verl' else real(name)\n"
        "import verl\n"
    )
    assert done.returncode == 1
    assert "MissingDependencyError: verl 0.10.0 is installed" in done.stderr
    assert "0.9.1" in done.stderr
