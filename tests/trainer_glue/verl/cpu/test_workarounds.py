"""Canaries: each workaround is still called for by the installed verl and torch, and still works.

One that fails here after an update is either superfluous (delete it) or no longer fits (read verl again).
"""

from __future__ import annotations

import importlib.metadata
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
verl = pytest.importorskip("verl")

from rewardkit.errors import MissingDependencyError
from trainer_glue.verl.cpu import workarounds
from trainer_glue.verl.cpu.workarounds import CPU, WORKAROUNDS
from trainer_glue.verl.versions import installed

ONE_RANK = """
import os, torch
from torch.distributed import HashStore, init_process_group
from torch.distributed.device_mesh import init_device_mesh
init_process_group("gloo", store=HashStore(), rank=0, world_size=1)
mesh = init_device_mesh("cpu", (1,))
"""

# What verl does, and what it fails with before the workaround.
SCENES = {
    "one gloo backend": (
        """
import os, torch
os.environ.update(RANK="0", WORLD_SIZE="1", MASTER_ADDR="127.0.0.1", MASTER_PORT="0", DIST_INIT_METHOD="")
os.environ["DIST_INIT_METHOD"] = "file://" + __import__("tempfile").mktemp()
import verl.utils.distributed
from verl.plugin.platform.platform_manager import set_platform
from trainer_glue.verl.cpu.platform import PlatformCPU
set_platform(PlatformCPU())
def scene():
    verl.utils.distributed.initialize_global_process_group_ray()
    assert torch.distributed.get_backend() == "gloo"
""",
        "Duplicate device type cpu",
    ),
    "pin nothing": (
        ONE_RANK
        + """
from torch.distributed.fsdp import CPUOffload, CPUOffloadPolicy, fully_shard
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
def fsdp2():
    model = torch.nn.Linear(4, 4)
    fully_shard(model, mesh=mesh, offload_policy=CPUOffloadPolicy(pin_memory=True))
    return model(torch.ones(1, 4))
def fsdp1():
    model = FSDP(torch.nn.Linear(4, 4), device_id="cpu", cpu_offload=CPUOffload(offload_params=True), device_mesh=mesh)
    return model(torch.ones(1, 4))
def scene():
    errors = []
    for forward in (fsdp1, fsdp2):
        try:
            assert forward().shape == (1, 4)
        except RuntimeError as error:
            errors.append(str(error))
    # Both or neither: a scene that fails in one only must not pass for one that needs the workaround.
    assert len(errors) != 1, errors
    if errors:
        raise RuntimeError(errors[0])
""",
        "accelerator",
    ),
    "sync module states on the CPU": (
        ONE_RANK
        + """
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from trainer_glue.verl.cpu.workarounds import CPU
def scene():
    model = FSDP(torch.nn.Linear(4, 4), device_id=CPU, sync_module_states=True, device_mesh=mesh)
    assert model(torch.ones(1, 4)).shape == (1, 4)
""",
        "CPU parameters or buffers",
    ),
    "critic with sdpa": (
        """
import tempfile, torch
import verl.utils.model
from tests.trainer_glue.verl.cpu.models import tiny_model
verl.utils.model.is_trl_available = lambda: False  # with trl there is another message for the same fault
folder = tempfile.mkdtemp()
tiny_model().save_pretrained(folder)
def scene():
    from transformers import AutoConfig
    config = AutoConfig.from_pretrained(folder, num_labels=1)
    model = verl.utils.model.load_valuehead_model(folder, torch.float32, config, False)
    assert model(input_ids=torch.ones(1, 3, dtype=torch.long)).logits.shape == (1, 3, 1)
""",
        "not a value head model",
    ),
}

IMPORTS = """
import json, os, sys, traceback
import torch, torch.distributed.fsdp, verl.utils.distributed, verl.utils.model
torch.set_num_threads(1)
trials, ended = json.load(sys.stdin), {}
for name, code in trials.items():
    if not (child := os.fork()):
        try:
            exec(code, {})
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    ended[name] = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
print(json.dumps(ended))
"""
"""Runs each trial in a process of its own, forked after the imports, which take seconds."""

TRIAL = """
try:
    scene()
except Exception as error:
    assert {message!r} in str(error), repr(error)
else:
    raise SystemExit("works without the workaround")
from trainer_glue.verl.cpu.workarounds import WORKAROUNDS
next(w for w in WORKAROUNDS if w.name == {name!r}).apply()
scene()
"""


@pytest.mark.parametrize("workaround", WORKAROUNDS, ids=lambda w: w.name)
def test_the_line_that_calls_for_it_is_where_it_was(workaround: workarounds.Workaround) -> None:
    lines = (Path(verl.__file__).parent / workaround.file).read_text().splitlines()
    assert lines[workaround.line - 1].strip() == workaround.quote


def test_each_workaround_has_a_scene() -> None:
    assert {workaround.name for workaround in WORKAROUNDS} == set(SCENES)


@pytest.fixture(scope="session")
def tried(once: Callable[[str, Callable[[Path], None]], Path]) -> subprocess.CompletedProcess[str]:
    """All trials: how each ended, as JSON, and what they said."""

    def run(folder: Path) -> None:
        trials = {name: scene + TRIAL.format(name=name, message=says) for name, (scene, says) in SCENES.items()}
        command = [sys.executable, "-W", "ignore", "-c", IMPORTS]
        done = subprocess.run(command, input=json.dumps(trials), capture_output=True, text=True, check=False)
        (folder / "out").write_text(done.stdout)
        (folder / "err").write_text(done.stderr)

    folder = once("workarounds", run)
    return subprocess.CompletedProcess([], 0, (folder / "out").read_text(), (folder / "err").read_text())


@pytest.mark.parametrize("name", SCENES)
def test_it_fails_without_and_works_with(name: str, tried: subprocess.CompletedProcess[str]) -> None:
    assert tried.stdout, tried.stderr[-3000:]
    assert json.loads(tried.stdout.splitlines()[-1])[name] == 0, tried.stderr[-3000:]


def test_the_devices_name_serves_both_uses_and_a_plain_one_does_not() -> None:
    source = (Path(verl.__file__).parent / "utils" / "fsdp_utils.py").read_text()
    assert 'torch.device(f"{get_device_name()}:{device_id}")' in source, "verl formats the device id as an index"
    assert "device=get_device_id()" in source, "verl uses the device id as a device"
    with pytest.raises(RuntimeError):
        torch.device(f"cpu:{'cpu'}")
    assert torch.device(f"cpu:{CPU}").type == "cpu"
    assert torch.ones(1, device=CPU).device.type == "cpu"


def test_environment_and_keys_are_still_called_for() -> None:
    """What the launcher's side says of verl's lines, for what no workaround is needed."""
    from trainer_glue.verl.cpu import CPUS_PER_RANK

    def line(file: str, number: int) -> str:
        return (Path(verl.__file__).parent / file).read_text().splitlines()[number - 1].strip()

    assert line("__init__.py", 52) == "import_external_libs(modules)"
    assert "No engine registered for device" in line("workers/engine/base.py", 427)
    assert line("single_controller/ray/base.py", 146) == 'bundle = {"CPU": self.max_colocate_count}'
    assert line("trainer/ppo/v1/replay_buffer.py", 144) == "poll_interval: float = 2.0,"
    assert line("workers/engine/fsdp/transformer_impl.py", 397) == "param_dtype = torch.bfloat16"
    from verl.single_controller.ray import ResourcePoolManager

    assert ResourcePoolManager.__dataclass_fields__["max_colocate_count"].default == CPUS_PER_RANK


@pytest.mark.parametrize("version", ["0.9.0", "0.10.0.dev0", None])
def test_another_verl_is_refused(monkeypatch: pytest.MonkeyPatch, version: str | None) -> None:
    def version_of(name: str) -> str:
        if version is None:
            raise importlib.metadata.PackageNotFoundError(name)
        return version

    monkeypatch.setattr("importlib.metadata.version", version_of)
    with pytest.raises(MissingDependencyError, match=version or "without a distribution's metadata"):
        installed.find_verl()


def test_applying_twice_patches_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    first = WORKAROUNDS[0]
    counted = workarounds.Workaround(
        first.name, first.file, first.line, first.quote, first.why, lambda: calls.append(first.name)
    )
    monkeypatch.setattr(workarounds, "WORKAROUNDS", (counted,))
    monkeypatch.setattr(workarounds, "_applied", set())
    workarounds.apply_workarounds()
    workarounds.apply_workarounds()
    assert calls == [first.name]
