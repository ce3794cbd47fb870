"""GPU and host memory against the estimate, with what would make it fit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from rewardkit.diagnostics import Severity
from trainer_glue.verl.config.diagnostics import ConfigDiagnostic
from trainer_glue.verl.launch.memory import memory, shortage
from trainer_glue.verl.preflight.graders import grader_lines
from trainer_glue.verl.preflight.memory import GIB, Estimate, Phase, lora_parameters
from trainer_glue.verl.preflight.sizing import estimate_of
from trainer_glue.verl.preflight.subject import ACTOR, MODEL, ROLLOUT, Subject
from trainer_glue.verl.preflight.weights import broken

NEARLY_FULL: Final = 0.95
"""Of the usable memory: beyond this, what the estimate leaves out decides."""
FEW: Final = 8
"""Sequences of the longest length that a cache should hold at once."""
_UTILIZATION: Final = f"{ROLLOUT}.gpu_memory_utilization"
_MOST_RANKS: Final = 1024
_CODES: Final = {"rollout": "RKD301", "update": "RKD302", "log-prob": "RKD303", "sync": "RKD304"}


def check_memory(subject: Subject) -> Iterator[ConfigDiagnostic]:
    """Phases that don't fit or nearly don't, a cache that is too small, and a host that is too small."""
    if not subject.on_gpus:
        yield from _host_of_a_cpu_run(subject)
        return
    estimate = estimate_of(subject)
    if estimate is None:
        return
    for phase in estimate.phases:
        yield from _phase(subject, estimate, phase)
    yield from _cache(subject, estimate)
    yield from _host(subject, estimate)


def _phase(subject: Subject, estimate: Estimate, phase: Phase) -> Iterator[ConfigDiagnostic]:
    share = phase.total / estimate.usable
    if share <= NEARLY_FULL:
        return
    key, fix = _knob(subject, estimate, phase)
    size = f"{estimate.usable / GIB:.1f} GiB of a GPU ({subject.gpu_is})"
    if share <= 1:
        message = f"the {phase.name} phase takes an estimated {phase} of {size}: {share:.0%}"
        yield subject.diagnostic("RKD307", key, message, fix)
        return
    full = phase.name in ("update", "log-prob") and _fits_with_one_sequence(estimate, phase)
    when = " when micro batches are full of long responses" if full else ""
    message = f"the {phase.name} phase takes an estimated {phase}{when}; usable are {size}"
    yield subject.diagnostic(_CODES[phase.name], key, message, fix, Severity.WARNING if full else Severity.ERROR)


def _fits_with_one_sequence(estimate: Estimate, phase: Phase) -> bool:
    """Micro batches seldom hold what they may: only what one long response needs is certain."""
    s = estimate.settings
    update, log_prob = (min(tokens, s.sequence) for tokens in (s.update_tokens, s.log_prob_tokens))
    one = replace(estimate, settings=replace(s, update_tokens=update, log_prob_tokens=log_prob))
    return one.phase(phase.name).total <= estimate.usable


def _knob(subject: Subject, estimate: Estimate, phase: Phase) -> tuple[str, str]:
    """The key that the phase hangs on, and every single change that would make it fit."""
    target = NEARLY_FULL * estimate.usable
    key, fixes = _own_knob(subject, estimate, phase, target)
    for text, changes in _remedies(estimate):
        changed = replace(estimate, settings=replace(estimate.settings, **changes))
        if changed.settings != estimate.settings and changed.phase(phase.name).total <= target:
            fixes.append(text)
    if not fixes:
        fixes.append(f"no single setting is enough: at least {_enough(estimate)} GPUs, or several of them together")
    return key, "; or ".join(fixes)


def _own_knob(subject: Subject, estimate: Estimate, phase: Phase, target: float) -> tuple[str, list[str]]:
    """The key that says how much the phase takes, and the largest value of it that fits."""
    if phase.name == "sync":
        return f"{ROLLOUT}.tensor_model_parallel_size", []
    if phase.name == "rollout":
        others = phase.total - phase.parts["engine"]
        fits = int(100 * (target - others) / estimate.usable) / 100
        smallest = (estimate.engine_weights + estimate.engine_activations) / estimate.usable
        return _UTILIZATION, [f"{_UTILIZATION}={fits:g}"] if fits > smallest else []
    update = phase.name == "update"
    stem = f"{ACTOR}.ppo" if update else f"{ROLLOUT}.log_prob"
    dynamic = subject.on(f"{ACTOR}.use_dynamic_bsz" if update else f"{ROLLOUT}.log_prob_use_dynamic_bsz")
    key = f"{stem}_max_token_len_per_gpu" if dynamic else f"{stem}_micro_batch_size_per_gpu"
    tokens, sequence = _most_tokens(estimate, phase, target), estimate.settings.sequence
    fits_one = tokens >= sequence
    return key, [f"{key}={tokens if dynamic else tokens // sequence}"] if fits_one else []


def _remedies(estimate: Estimate) -> tuple[tuple[str, dict[str, Any]], ...]:
    """Changes that take less memory, in words and in settings, the cheapest first."""
    freed = (estimate.weights + estimate.optimizer) / GIB
    offload = f"{ACTOR}.fsdp_config.optimizer_offload=true {ACTOR}.fsdp_config.param_offload=true"
    return (
        (f"{ROLLOUT}.free_cache_engine=true", {"sleeps": True}),
        (f"{MODEL}.enable_gradient_checkpointing=true", {"checkpointing": True}),
        (f"{MODEL}.use_fused_kernels=true, which never holds whole logits", {"fused": True}),
        (
            f"{offload}, which frees {freed:.1f} GiB while the trainer rests",
            {"optimizer_offload": True, "param_offload": True},
        ),
        (f"LoRA: {MODEL}.lora_rank=32", {"trained": lora_parameters(estimate.shape, 32)}),
    )


def _most_tokens(estimate: Estimate, phase: Phase, target: float) -> int:
    """The most tokens of a micro batch that fit, a multiple of 1,024 above that; 0 when not even one fits."""

    def total(tokens: int) -> int:
        s = replace(estimate.settings, update_tokens=tokens, log_prob_tokens=tokens)
        return replace(estimate, settings=s).phase(phase.name).total

    low, high = 0, max(estimate.settings.update_tokens, estimate.settings.log_prob_tokens)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if total(middle) <= target else (low, middle - 1)
    return low - low % 1024 if low > 1024 else low


def _enough(estimate: Estimate) -> int:
    """The fewest ranks, by doubling, with which every phase fits for one long response at a time."""
    s, ranks = estimate.settings, estimate.settings.ranks
    while ranks < _MOST_RANKS:
        ranks *= 2
        tokens = min(s.update_tokens, s.sequence)
        wider = replace(s, ranks=ranks, shards=ranks, update_tokens=tokens, log_prob_tokens=tokens)
        if all(p.total <= NEARLY_FULL * estimate.usable for p in replace(estimate, settings=wider).phases):
            break
    return ranks


def _cache(subject: Subject, estimate: Estimate) -> Iterator[ConfigDiagnostic]:
    s = estimate.settings
    needed = estimate.engine_weights + estimate.engine_activations + FEW * s.sequence * estimate.token_bytes
    share = min(1.0, -(-100 * needed // estimate.usable) / 100)
    fix = f"{_UTILIZATION}={share:g}, or a larger {ROLLOUT}.tensor_model_parallel_size"
    inside = (
        f"{s.utilization:g} of a GPU are {s.utilization * estimate.usable / GIB:.1f} GiB; the engine's weights take "
        f"{estimate.engine_weights / GIB:.1f}, its activations {estimate.engine_activations / GIB:.1f}"
    )
    context = s.context or s.sequence
    if estimate.cached_tokens < context:
        message = (
            f"{inside}: the cache holds {estimate.cached_tokens:,} tokens, and vLLM starts with no less than one "
            f"sequence of {context:,}"
        )
        if estimate.cached_tokens >= s.sequence:
            fix = f"{ROLLOUT}.max_model_len={s.sequence}, which is the longest prompt with the longest response"
        yield subject.diagnostic("RKD305", _UTILIZATION, message, fix)
    elif estimate.at_once < min(FEW, s.concurrent):
        message = (
            f"{inside}; the cache holds {estimate.cached_tokens:,} tokens, {estimate.at_once:.1f} sequences of "
            f"{s.sequence:,} at once: most of a batch will wait"
        )
        yield subject.diagnostic("RKD306", _UTILIZATION, message, fix)


def _host(subject: Subject, estimate: Estimate) -> Iterator[ConfigDiagnostic]:
    """What is offloaded, the reference model, and one whole copy while weights are loaded."""
    if subject.elsewhere:
        return
    s = estimate.settings
    nodes = max(1, subject.integer("trainer.nnodes", 1))
    here = s.ranks // nodes
    offloaded = (estimate.weights if s.param_offload else 0) + (estimate.optimizer if s.optimizer_offload else 0)
    reference = subject.on(f"{ACTOR}.use_kl_loss") or subject.on("algorithm.use_kl_in_reward")
    if reference and s.trained is None:
        offloaded += s.weight_bytes * estimate.shape.parameters // s.shards
    if s.trained is not None:  # an engine with adapters sleeps with its weights in the host's memory
        offloaded += estimate.engine_weights
    needed = offloaded * here + s.weight_bytes * estimate.shape.parameters
    total, free = memory()
    if needed > free:
        message = (
            f"this node keeps an estimated {needed / GIB:.0f} GiB in the host's memory (what is offloaded, the "
            f"reference model, and a whole copy while loading); {free / GIB:.0f} of {total / GIB:.0f} GiB are free"
        )
        fix = "a host with more memory, or less offloading"
        yield subject.diagnostic("RKD308", f"{ACTOR}.fsdp_config.param_offload", message, fix)


def _host_of_a_cpu_run(subject: Subject) -> Iterator[ConfigDiagnostic]:
    folder = Path(str(subject.get(f"{MODEL}.path"))).expanduser()
    if not subject.resolved.ranks or any(broken(folder)):
        return
    text = shortage(folder, subject.resolved.ranks)
    if text:
        yield subject.diagnostic("RKD308", f"{MODEL}.path", text, "a smaller model", Severity.WARNING)


def table(subject: Subject) -> list[str]:
    """The estimate in words, a line a phase; empty when there is none."""
    estimate = estimate_of(subject)
    if estimate is None:
        return []
    lines = [f"{phase.name:<9} {phase}" for phase in estimate.phases]
    held = f"{estimate.cached_tokens:,} tokens, {estimate.at_once:.0f} sequences of {estimate.settings.sequence:,}"
    return [
        f"GPU memory, estimated; usable are {estimate.usable / GIB:.1f} GiB ({subject.gpu_is})",
        *lines,
        f"{'KV cache':<9} {held}",
        *grader_lines(subject),
    ]
