"""verl 0.9.1's own trainer on a machine with no accelerator, from outside verl.

verl has no CPU platform and no rollout that runs without one, but it can be taught both: it loads the modules
named in ``VERL_USE_EXTERNAL_MODULES`` in every process of a run, and keeps registries for platforms, rollouts and
rollout replicas. :mod:`~trainer_glue.verl.cpu.plugin` is that module. What no extension point covers is patched in
:mod:`~trainer_glue.verl.cpu.workarounds`, and nowhere else.

This file is what a launcher needs *before* verl is imported: the environment and the config keys of such a run. It
may import neither verl nor torch nor ray.
"""

from __future__ import annotations

import importlib.metadata
import os
from pathlib import Path
from typing import Final

from rewardkit.errors import ConfigError

__all__ = ["PLUGIN", "ROLLOUT", "accelerator_present", "environment", "overrides", "reward_model_overrides"]

PLUGIN: Final = "trainer_glue.verl.cpu.plugin"
"""The module that verl loads in every process of a run on the CPU."""

ROLLOUT: Final = "hf_cpu"
"""``actor_rollout_ref.rollout.name`` of the Hugging Face rollout."""

DEVICE_FILES: Final = ("nvidia[0-9]*", "dxg", "kfd", "davinci[0-9]*")
"""What a driver leaves in ``/dev``: NVIDIA, NVIDIA under WSL, AMD, Ascend."""

LOGICAL_CPUS: Final = 32
"""What Ray is told it has, at least. Ray's CPUs are slots for actors, not threads."""

CPUS_PER_RANK: Final = 3
"""CPUs in a rank's placement bundle: ``max_colocate_count``, verl/single_controller/ray/base.py:146."""

MOST_RANKS: Final = 64
"""Ranks on one machine, at most."""

FIRST_LOGICAL_GPU: Final = 1000
"""Ray's logical GPUs bear numbers from here on, which no real device has."""


def accelerator_present() -> bool:
    """Whether verl could train on an accelerator here.

    Looks for a driver's device files; torch is not imported, which would take seconds. False as well where the
    devices are hidden (``CUDA_VISIBLE_DEVICES`` empty), where ``VERL_PLATFORM=cpu`` asks for the CPU, and where the
    installed torch is a CPU-only build.
    """
    if os.environ.get("VERL_PLATFORM", "").strip().lower() == "cpu":
        return False
    if os.environ.get("CUDA_VISIBLE_DEVICES", "0").strip() in ("", "-1"):
        return False
    try:
        if importlib.metadata.version("torch").endswith("+cpu"):
            return False
    except importlib.metadata.PackageNotFoundError:
        return False
    return any(next(Path("/dev").glob(pattern), None) is not None for pattern in DEVICE_FILES)


def environment() -> dict[str, str]:
    """Environment variables of a run on the CPU, for the process that starts verl; Ray's workers inherit them."""
    others = [name for name in os.environ.get("VERL_USE_EXTERNAL_MODULES", "").split(",") if name.strip()]
    return {
        # verl/__init__.py:52 imports these in every process that imports verl.
        "VERL_USE_EXTERNAL_MODULES": ",".join(dict.fromkeys([*others, PLUGIN])),
        # verl/plugin/platform/platform_manager.py: without it an unknown machine is taken for an NVIDIA one.
        "VERL_PLATFORM": "cpu",
        # verl/workers/engine/base.py:427: no engine is registered for device "cpu"; the FSDP engine for "cuda" is
        # device-neutral except for what the workarounds cover.
        "VERL_ENGINE_DEVICE": "cuda",
        # A run is a dozen processes on the same cores. By default a thread that waits for its siblings spins, and so
        # keeps them from the core that they need: generation with a tiny model took 4 to 18 s in place of 0.4 to 1.
        "OMP_WAIT_POLICY": "PASSIVE",
        # No device has such a number, so torch sees none even where one is installed. Empty would say the same, but
        # Ray refuses logical GPUs then: it counts these names (ray/_private/resource_and_label_spec.py).
        "CUDA_VISIBLE_DEVICES": ",".join(str(FIRST_LOGICAL_GPU + rank) for rank in range(MOST_RANKS)),
    }


def overrides(ranks: int = 1) -> dict[str, object]:
    """The verl keys that a run on the CPU needs, as dotted names.

    Defaults for such a run: a user's own value for a key may replace one, except where the comment says *must*. Some
    keys (marked new) are not in verl's schema, so on verl's own command line they need a ``++``.

    Args:
        ranks: processes that the model is sharded over (FSDP over gloo), each with a rollout of its own.

    Raises:
        ConfigError: fewer than one rank, or more than :data:`MOST_RANKS`.
    """
    if not 1 <= ranks <= MOST_RANKS:
        raise ConfigError(f"{ranks} ranks asked for; expected 1 to {MOST_RANKS}", hint="set trainer.n_gpus_per_node=1")
    ref, actor, rollout = (f"actor_rollout_ref.{part}" for part in ("ref", "actor", "rollout"))
    return {
        # must: the device of every `.to(...)` in the trainer.
        "trainer.device": "cpu",
        "trainer.nnodes": 1,
        # A rank holds one of Ray's logical GPUs (PlatformCPU.ray_resource_name).
        "trainer.n_gpus_per_node": ranks,
        # must (new): verl counts GPUs before it starts (single_controller/ray/base.py, _check_resource_available).
        "ray_kwargs.ray_init.num_gpus": ranks,
        # must: each rank's bundle wants 3 CPUs (ray/base.py:146); on a small machine the run would wait for ever.
        "ray_kwargs.ray_init.num_cpus": max(LOGICAL_CPUS, CPUS_PER_RANK * ranks + LOGICAL_CPUS // 2),
        # (new) Nobody looks at it, and it costs a second and two processes.
        "ray_kwargs.ray_init.include_dashboard": False,
        # FSDP2; "fsdp" (FSDP1) works too. The engines' own settings are below, the same for all three.
        f"{actor}.strategy": "fsdp2",
        "critic.strategy": "fsdp2",
        f"{actor}.use_torch_compile": False,
        **_engine(f"{actor}.fsdp_config"),
        **_engine(f"{ref}.fsdp_config"),
        **_engine("critic.fsdp"),
        # must (new): the default is flash_attention_2 (verl/workers/config/model.py), a GPU package.
        "actor_rollout_ref.model.override_config.attn_implementation": "sdpa",
        "critic.model.override_config.attn_implementation": "sdpa",
        # must: removing the padding goes through flash-attn's variable-length kernels.
        "actor_rollout_ref.model.use_remove_padding": False,
        "critic.model.use_remove_padding": False,
        # must: generation with Hugging Face transformers, one server per rank.
        f"{rollout}.name": ROLLOUT,
        f"{rollout}.tensor_model_parallel_size": 1,
        # As the trainer's, so that both compute the same probabilities; bfloat16 would halve the rollout's memory.
        f"{rollout}.dtype": "float32",
        # One batch of generate() at most: keys and values of all its rows are in memory at once.
        f"{rollout}.max_num_seqs": 64,
        # The weights go to the server in parts of this size, through Ray's object store in /dev/shm.
        f"{rollout}.checkpoint_engine.update_weights_bucket_megabytes": 256,
        # There is no device memory to free between rollout and training; True only adds a barrier.
        f"{rollout}.free_cache_engine": False,
        # must, with LoRA (no effect without): the rollout takes whole weights, not an adapter.
        "actor_rollout_ref.model.lora.merge": True,
        # Each is a process of 350 MB that takes seconds to start; one of each serves a machine of few cores.
        f"{rollout}.agent.num_workers": 1,
        "reward.num_workers": 1,
        "transfer_queue.backend.SimpleStorage.num_data_storage_units": 1,
        # A worker process per loader costs more than the loading of a small parquet.
        "data.dataloader_num_workers": 0,
        # verl polls for finished groups every 2 s (trainer/ppo/v1/replay_buffer.py:144, `poll_interval`), longer than
        # a small model generates. trainer_glue.verl.ReplayBuffer hands this to the constructor.
        "trainer.v1.sampler.sampler_kwargs.poll_interval": 0.1,
    }


def reward_model_overrides(ranks: int = 1) -> dict[str, object]:
    """What a run on the CPU needs beside :func:`overrides` where verl serves a reward model.

    Args:
        ranks: processes that train.
    """
    model = "reward.reward_model"
    return {
        # must: transformers behind vLLM's `/classify`, one server.
        f"{model}.rollout.name": ROLLOUT,
        f"{model}.rollout.tensor_model_parallel_size": 1,
        # There is no device memory to free between rollout and training.
        f"{model}.rollout.free_cache_engine": False,
        f"{model}.n_gpus_per_node": 1,
        f"{model}.nnodes": 1,
        # must (new): the server's resource pool holds one of Ray's logical GPUs as well.
        "ray_kwargs.ray_init.num_gpus": ranks + 1,
    }


def _engine(section: str) -> dict[str, object]:
    """What each of verl's FSDP engines needs: actor, reference and critic."""
    return {
        f"{section}.strategy": "fsdp2",
        # (new) verl computes in bfloat16 unless told so here (workers/engine/fsdp/transformer_impl.py:397), whatever
        # `dtype` says. Most CPUs emulate it: slower, and rollout and trainer then differ by 1e-4 in probability.
        f"{section}.mixed_precision.param_dtype": "fp32",
        f"{section}.dtype": "float32",
        # Compiling takes minutes per shape and needs a C++ compiler.
        f"{section}.use_torch_compile": False,
    }
