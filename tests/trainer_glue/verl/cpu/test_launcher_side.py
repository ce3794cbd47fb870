"""What a launcher reads before verl is imported: light, complete, and right about accelerators."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import trainer_glue.verl.cpu as cpu
from rewardkit.errors import ConfigError


def test_the_package_imports_neither_torch_nor_verl_nor_ray_and_prints_nothing() -> None:
    code = (
        "import sys, trainer_glue.verl.cpu as c; c.environment(); c.overrides(2); c.accelerator_present();"
        "assert not {'torch', 'verl', 'ray', 'transformers'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == done.stderr == ""


def test_environment_keeps_the_users_own_external_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VERL_USE_EXTERNAL_MODULES", "mine.plugin")
    assert cpu.environment()["VERL_USE_EXTERNAL_MODULES"] == f"mine.plugin,{cpu.PLUGIN}"
    monkeypatch.setenv("VERL_USE_EXTERNAL_MODULES", f"mine.plugin,{cpu.PLUGIN}")
    assert cpu.environment()["VERL_USE_EXTERNAL_MODULES"] == f"mine.plugin,{cpu.PLUGIN}"


def test_logical_gpus_are_named_for_every_rank_and_no_real_one_is() -> None:
    names = cpu.environment()["CUDA_VISIBLE_DEVICES"].split(",")
    assert len(set(names)) == cpu.MOST_RANKS
    assert min(map(int, names)) >= cpu.FIRST_LOGICAL_GPU


@pytest.mark.parametrize("ranks", [1, 2, 24])
def test_ray_is_told_of_enough_slots(ranks: int) -> None:
    keys = cpu.overrides(ranks)
    assert keys["trainer.n_gpus_per_node"] == keys["ray_kwargs.ray_init.num_gpus"] == ranks
    cpus = keys["ray_kwargs.ray_init.num_cpus"]
    # Beside the ranks' bundles: task runner, storage, agent and reward workers, a CPU each.
    assert isinstance(cpus, int) and cpus >= cpu.CPUS_PER_RANK * ranks + 8


@pytest.mark.parametrize("ranks", [0, -1, cpu.MOST_RANKS + 1])
def test_a_number_of_ranks_that_cannot_be_is_refused(ranks: int) -> None:
    with pytest.raises(ConfigError, match="ranks asked for"):
        cpu.overrides(ranks)


def test_the_keys_compose_with_verls_config_and_pass_its_own_dataclasses() -> None:
    pytest.importorskip("verl")
    hydra = pytest.importorskip("hydra")
    texts = [f"++{key}={value}" for key, value in cpu.overrides(2).items()]
    with hydra.initialize_config_module("verl.trainer.config", version_base=None):
        config = hydra.compose("ppo_trainer", overrides=[*texts, "actor_rollout_ref.model.path=x"])
    from verl.utils.config import omega_conf_to_dataclass

    rollout = omega_conf_to_dataclass(config.actor_rollout_ref.rollout)
    assert rollout.name == cpu.ROLLOUT
    for engine in (config.actor_rollout_ref.actor.fsdp_config, config.actor_rollout_ref.ref.fsdp_config):
        assert omega_conf_to_dataclass(engine).mixed_precision == {"param_dtype": "fp32"}
    new = re.compile(r"ray_init\.(num_gpus|include_dashboard)|override_config|mixed_precision|sampler_kwargs")
    with hydra.initialize_config_module("verl.trainer.config", version_base=None):
        # Every other key is verl's own: without ++ hydra refuses what it does not know.
        known = [text.removeprefix("++") for text in texts if not new.search(text)]
        hydra.compose("ppo_trainer", overrides=known)


@pytest.fixture
def devices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A /dev of its own, with a torch that could use what is there."""
    monkeypatch.setattr(cpu, "Path", lambda path: tmp_path if path == "/dev" else Path(path))
    monkeypatch.setattr(cpu.importlib.metadata, "version", lambda name: "2.13.0")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.delenv("VERL_PLATFORM", raising=False)
    return tmp_path


def test_no_device_file_is_no_accelerator(devices: Path) -> None:
    (devices / "null").touch()
    (devices / "nvidiactl").touch()
    assert not cpu.accelerator_present()


@pytest.mark.parametrize("name", ["nvidia0", "dxg", "kfd", "davinci3"])
def test_a_device_file_is_an_accelerator(devices: Path, name: str) -> None:
    (devices / name).touch()
    assert cpu.accelerator_present()


@pytest.mark.parametrize(
    ("variable", "value"), [("CUDA_VISIBLE_DEVICES", ""), ("CUDA_VISIBLE_DEVICES", "-1"), ("VERL_PLATFORM", "CPU")]
)
def test_a_hidden_device_is_none(devices: Path, monkeypatch: pytest.MonkeyPatch, variable: str, value: str) -> None:
    (devices / "nvidia0").touch()
    monkeypatch.setenv(variable, value)
    assert not cpu.accelerator_present()


def test_a_device_that_the_installed_torch_cannot_use_is_none(devices: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (devices / "nvidia0").touch()
    monkeypatch.setattr(cpu.importlib.metadata, "version", lambda name: "2.13.0+cpu")
    assert not cpu.accelerator_present()
