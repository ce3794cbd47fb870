"""A run of Llama-3-8B on eight GPUs of 80 GB that has no diagnostics, and a way to change it."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

from rewardkit.engine.loading import load_reward
from tests.models import LLAMA_3_8B
from trainer_glue.verl.config.diagnostics import ConfigDiagnostic
from trainer_glue.verl.config.resolved_config import ResolvedConfig
from trainer_glue.verl.config.written import put
from trainer_glue.verl.preflight.checks import examine
from trainer_glue.verl.preflight.machine import Gpu, Machine
from trainer_glue.verl.preflight.subject import Subject

GIB = 2**30
CONFIG: dict[str, Any] = {
    "data": {
        "train_files": "train.parquet",
        "val_files": "test.parquet",
        "train_batch_size": 1024,
        "max_prompt_length": 512,
        "max_response_length": 1024,
    },
    "actor_rollout_ref": {
        "model": {"path": "meta/llama", "enable_gradient_checkpointing": True, "use_remove_padding": True},
        "actor": {
            "strategy": "fsdp",
            "ppo_mini_batch_size": 256,
            "use_dynamic_bsz": True,
            "ppo_max_token_len_per_gpu": 16384,
            "use_kl_loss": False,
            "fsdp_config": {"model_dtype": "fp32", "param_offload": False, "optimizer_offload": False, "fsdp_size": -1},
            "optim": {"lr_warmup_steps": -1},
        },
        "rollout": {
            "name": "vllm",
            "n": 8,
            "temperature": 1.0,
            "top_p": 1.0,
            "top_k": -1,
            "tensor_model_parallel_size": 2,
            "gpu_memory_utilization": 0.6,
            "max_num_seqs": 256,
            "max_num_batched_tokens": 8192,
            "log_prob_use_dynamic_bsz": True,
            "log_prob_max_token_len_per_gpu": 16384,
            "free_cache_engine": True,
            "val_kwargs": {"n": 1, "do_sample": False, "temperature": 0},
        },
    },
    "algorithm": {"adv_estimator": "grpo"},
    "trainer": {
        "logger": ["console"],
        "nnodes": 1,
        "n_gpus_per_node": 8,
        "total_epochs": 15,
        "save_freq": 20,
        "test_freq": 5,
        "max_actor_ckpt_to_keep": 3,
        "default_local_dir": "checkpoints",
    },
}


class Packages(Machine):
    """A machine with packages that are made up."""

    def __init__(
        self,
        versions: dict[str, str] | None = None,
        folders: dict[str, Path] | None = None,
        gpus: int = 8,
        **variables: str,
    ) -> None:
        super().__init__(tuple(Gpu(80 * GIB, "a GPU of 80 GiB") for _ in range(gpus)), variables)
        self._versions = {"vllm": "0.24.0", "flash-attn": "2.8.3"} | (versions or {})
        self._folders = folders or {}

    def version(self, package: str) -> str | None:
        return self._versions.get(package) or None

    def folder(self, package: str) -> Path | None:
        return self._folders.get(package)


def subject(
    *,
    model: dict[str, Any] | None = LLAMA_3_8B,
    reward: str = "gsm8k()",
    rows: int | None = 7473,
    ranks: int = 8,
    machine: Machine | None = None,
    gpu: int = 80,
    on_gpus: bool = True,
    present: bool = True,
    scores: Path | None = None,
    **changes: Any,
) -> Subject:
    """A subject; dots in the keys of changes are written as two underscores."""
    config = copy.deepcopy(CONFIG)
    for key, value in changes.items():
        put(config, key.replace("__", "."), value)
    resolved = ResolvedConfig(
        config=config,
        reward=load_reward(reward),
        rows=rows,
        ranks=ranks,
        accelerator=on_gpus,
        present=present,
        made=frozenset(),
        where=lambda key: f"run.yaml: {key}",
    )
    elsewhere = on_gpus and not present
    return Subject(resolved, machine or Packages(), model, None, gpu * GIB, "a GPU", elsewhere, scores)


def found(lenient: bool = False, **changes: Any) -> list[ConfigDiagnostic]:
    """All diagnostics on a changed run."""
    return examine(subject(**changes), lenient=lenient)


def codes(**changes: Any) -> list[tuple[str, str, str]]:
    """Code, key and severity of all diagnostics on a changed run."""
    return [(f.code, f.key, f.severity) for f in found(**changes)]
