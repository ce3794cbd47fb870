"""GPUs against what the config asks for, and whether the model divides over them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from trainer_glue.verl.config.diagnostics import ConfigDiagnostic
from trainer_glue.verl.preflight.graders import reward_gpus
from trainer_glue.verl.preflight.model_shape import ModelShape
from trainer_glue.verl.preflight.subject import ACTOR, ROLLOUT, Subject

_PER_NODE: Final = "trainer.n_gpus_per_node"
_TENSOR: Final = f"{ROLLOUT}.tensor_model_parallel_size"
_SEQUENCE: Final = f"{ACTOR}.ulysses_sequence_parallel_size"


def check_parallel(subject: Subject) -> Iterator[ConfigDiagnostic]:
    """GPUs, tensor and sequence parallelism."""
    if not subject.on_gpus:
        return
    if not subject.elsewhere:
        yield from _gpus(subject)
    per_node, size = subject.integer(_PER_NODE), subject.integer(_TENSOR, 1)
    shape = subject.shape
    if size >= 1 and shape is not None:
        yield from _tensor(subject, shape, size)
    if per_node and size > per_node:
        message = f"is {size}, more than the {per_node} GPUs of a node: every layer's sums would cross the network"
        yield subject.diagnostic("RKD206", _TENSOR, message, f"at most {per_node}")
    parts = subject.integer(_SEQUENCE, 1)
    if parts > 1:
        yield from _sequence(subject, shape, parts)


def _gpus(subject: Subject) -> Iterator[ConfigDiagnostic]:
    wanted, visible = subject.integer(_PER_NODE), subject.machine.gpus
    if not wanted or not visible:
        return  # none at all is told where the config is resolved
    beside = reward_gpus(subject) if subject.integer("trainer.nnodes", 1) == 1 else 0
    if wanted <= len(visible) < wanted + beside:
        message = f"is {wanted}, the reward model has {beside} of its own, and this node has {len(visible)}"
        yield subject.diagnostic("RKD207", _PER_NODE, message, f"{_PER_NODE}={max(1, len(visible) - beside)}")
        return
    if len(visible) < wanted:
        hidden = subject.machine.environment.get("CUDA_VISIBLE_DEVICES")
        why = f" (CUDA_VISIBLE_DEVICES={hidden})" if hidden is not None else ""
        message = f"is {wanted}, and this node has {len(visible)}{why}"
        fix = f"{_PER_NODE}={len(visible)}"
        yield subject.diagnostic("RKD201", _PER_NODE, message, fix)
    elif (idle := len(visible) - wanted - beside) > 0:
        message = f"is {wanted}, and this node has {len(visible)}: {idle} will idle"
        yield subject.diagnostic("RKD202", _PER_NODE, message, f"{_PER_NODE}={wanted + idle}")


def _tensor(subject: Subject, shape: ModelShape, size: int) -> Iterator[ConfigDiagnostic]:
    ranks = subject.resolved.ranks
    fits = [s for s in _divisors(shape.heads) if _divides(shape, s) and (not ranks or ranks % s == 0)]
    if not _divides(shape, size):
        message = (
            f"is {size}, and the model has {shape.heads} attention heads, {shape.kv_heads} key-value heads and a "
            f"feed-forward width of {shape.intermediate:,}"
        )
        yield subject.diagnostic("RKD203", _TENSOR, message, f"one of {', '.join(map(str, fits))}")
    elif size > shape.kv_heads:
        copies = size // shape.kv_heads
        message = f"is {size}, and the model has {shape.kv_heads} key-value heads: each is kept {copies} times"
        fix = f"{max(s for s in fits if s <= shape.kv_heads)} takes no such copies"
        yield subject.diagnostic("RKD204", _TENSOR, message, fix)


def _divides(shape: ModelShape, size: int) -> bool:
    """vLLM's conditions: heads and feed-forward width are split; key-value heads are split or copied whole."""
    heads_fit = shape.kv_heads % size == 0 or size % shape.kv_heads == 0
    return shape.heads % size == 0 and heads_fit and shape.intermediate % size == 0


def _sequence(subject: Subject, shape: ModelShape | None, parts: int) -> Iterator[ConfigDiagnostic]:
    ranks = subject.resolved.ranks
    if ranks and ranks % parts:
        fix = f"one of {', '.join(map(str, _divisors(ranks)))}"
        message = f"is {parts}, and {ranks} ranks are not a multiple of it"
        yield subject.diagnostic("RKD205", _SEQUENCE, message, fix)
    elif shape is not None and shape.heads % parts:
        fits = [s for s in _divisors(shape.heads) if not ranks or ranks % s == 0]
        message = f"is {parts}, and the model has {shape.heads} attention heads"
        yield subject.diagnostic("RKD205", _SEQUENCE, message, f"one of {', '.join(map(str, fits))}")


def _divisors(n: int) -> list[int]:
    return [d for d in range(1, n + 1) if n % d == 0]
