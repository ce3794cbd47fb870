"""From a config to what decides about memory (:class:`~trainer_glue.verl.preflight.memory.Settings`)."""

from __future__ import annotations

from typing import Final

from trainer_glue.verl.preflight.memory import Estimate, Settings, lora_parameters
from trainer_glue.verl.preflight.model_shape import ModelShape
from trainer_glue.verl.preflight.subject import ACTOR, MODEL, ROLLOUT, Subject

_HALF_TYPES: Final = frozenset({"bf16", "bfloat16", "fp16", "float16", "half"})


def estimate_of(subject: Subject) -> Estimate | None:
    """The estimate for a run on GPUs with FSDP; None for any other, or when a size is missing."""
    shape = subject.shape
    settings = None if shape is None else settings_of(subject, shape)
    if shape is None or settings is None:
        return None
    critic = subject.on("critic.enable") or (
        subject.get("critic.enable") is None and subject.get("algorithm.adv_estimator") == "gae"
    )
    return Estimate(shape, settings, subject.gpu, shape if critic else None)


def settings_of(subject: Subject, shape: ModelShape) -> Settings | None:
    """What the config says about memory; None when it is not a run of FSDP on GPUs, or lacks a number."""
    fsdp = f"{ACTOR}.fsdp_config"
    ranks = subject.resolved.ranks
    tensor_parallel = subject.integer(f"{ROLLOUT}.tensor_model_parallel_size", 1)
    fits = subject.on_gpus and subject.get(f"{ACTOR}.strategy") in ("fsdp", "fsdp2")
    if not fits or ranks < 1 or tensor_parallel < 1 or subject.sequence < 1:
        return None
    shards = subject.integer(f"{fsdp}.fsdp_size", -1)
    rank = subject.integer(f"{MODEL}.lora_rank") or subject.integer(f"{MODEL}.lora.rank")
    context = subject.integer(f"{ROLLOUT}.max_model_len") or shape.context or subject.sequence
    return Settings(
        ranks=ranks,
        shards=shards if 0 < shards < ranks else ranks,
        weight_bytes=2 if str(subject.get(f"{fsdp}.model_dtype")).lower() in _HALF_TYPES else 4,
        trained=lora_parameters(shape, rank) if rank else None,
        param_offload=subject.on(f"{fsdp}.param_offload") or subject.on(f"{fsdp}.offload_policy"),
        optimizer_offload=subject.on(f"{fsdp}.optimizer_offload") or subject.on(f"{fsdp}.offload_policy"),
        checkpointing=subject.on(f"{MODEL}.enable_gradient_checkpointing"),
        entropy=bool(subject.number(f"{ACTOR}.entropy_coeff")) or subject.on(f"{ACTOR}.calculate_entropy"),
        fused=subject.on(f"{MODEL}.use_fused_kernels"),
        update_tokens=_tokens(subject, f"{ACTOR}.use_dynamic_bsz", f"{ACTOR}.ppo", _update_rows(subject)),
        log_prob_tokens=_tokens(
            subject, f"{ROLLOUT}.log_prob_use_dynamic_bsz", f"{ROLLOUT}.log_prob", _log_prob_rows(subject)
        ),
        utilization=subject.number(f"{ROLLOUT}.gpu_memory_utilization", 0.5) or 0.5,
        tensor_parallel=tensor_parallel,
        sequence=subject.sequence,
        context=context,
        concurrent=subject.integer(f"{ROLLOUT}.max_num_seqs", 256),
        batched_tokens=subject.integer(f"{ROLLOUT}.max_num_batched_tokens", 8192),
        graphs=not subject.on(f"{ROLLOUT}.enforce_eager"),
        sleeps=subject.get(f"{ROLLOUT}.free_cache_engine") is not False,
        bucket=subject.integer(f"{ROLLOUT}.checkpoint_engine.update_weights_bucket_megabytes", 2048) << 20,
    )


def _tokens(subject: Subject, dynamic: str, stem: str, rows: int) -> int:
    """Tokens of a full micro batch on a GPU; no more than all that a rank has."""
    sequence_parallel = max(1, subject.integer(f"{ACTOR}.ulysses_sequence_parallel_size", 1))
    all_rows = rows * subject.sequence
    if subject.on(dynamic):
        return min(subject.integer(f"{stem}_max_token_len_per_gpu", 16384), max(all_rows, subject.sequence))
    micro = subject.integer(f"{stem}_micro_batch_size_per_gpu")
    if not micro:
        total = subject.integer(f"{stem}_micro_batch_size")
        micro = max(1, total * sequence_parallel // subject.resolved.ranks)
    return micro * subject.sequence // sequence_parallel


def _update_rows(subject: Subject) -> int:
    """Responses of a mini batch that one rank gets."""
    return _rows(subject, f"{ACTOR}.ppo_mini_batch_size")


def _log_prob_rows(subject: Subject) -> int:
    """Responses of a step that one rank gets."""
    return _rows(subject, "data.train_batch_size")


def _rows(subject: Subject, key: str) -> int:
    return max(1, subject.integer(key, 1) * subject.integer(f"{ROLLOUT}.n", 1) // subject.resolved.ranks)
