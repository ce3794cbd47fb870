r"""How much memory of a GPU each phase of a step takes, worked out from sizes alone.

Of $P$ parameters, $T$ of them trained, sharded over $F$ ranks, in a model of $L$ layers of width $h$, with feed-forward
width $i$, $k$ values of keys in a layer (`kv_heads * head_dim`) and a vocabulary $V$; $b$ bytes a number of the
trainer's weights (4 in float32, verl's default); $t$ tokens a micro batch on a GPU. Bytes a GPU:

==================  =========================================  ======================================================
part                bytes                                      source
==================  =========================================  ======================================================
weights             $bP/F$                                     ZeRO (Rajbhandari et al. 2020, arXiv 1910.02054,
gradients           $bT/F$                                     section 3.1): 16 bytes a parameter with Adam, 2 + 2 +
optimizer           $2bT/F$                                    12 in mixed precision there, 4 + 4 + 8 here
gathered units      $2(R + 2l)$, in bfloat16                   FSDP: the root unit (embedding and head, $R$) and two
                                                               layers ($l$ each), one of them ahead
unsharded grads     $2R$ and $4l$; $6R$ at the end             FSDP keeps the root's until the end of the backward
                                                               pass and reduces in float32
checkpoints         $2thL$                                     Korthikanti et al. 2022, arXiv 2205.05198, table 2,
                                                               full recomputation
one layer           $t(2h + 8i + 18h + 4k)$ with a gate,       the same, section 4.1, without attention scores (flash
                    $t(2h + 4i + 12h + 4k)$ without            attention) and dropout masks: $32th$ for GPT; a gate's
                                                               four products, and norms computed in float32, added
logits              $2tV$ times 2, with entropy times 4        verl PR 1212: logits, probabilities and their gradients;
                                                               times 3 without gradients; 0 with fused kernels
engine              `gpu_memory_utilization` of the GPU        verl's performance guide: of the total memory
KV cache            $2Lk$ numbers a token and GPU, over TP     Kwon et al. 2023, arXiv 2309.06180: 800 KB for OPT-13B
==================  =========================================  ======================================================

verl 0.9.1 goes through four phases. Rollout: the engine whole, and of the trainer what is not offloaded, without
gradients. Sync: weights, the engine's weights, two buckets; the KV cache comes after (`engine_workers.py`,
`update_weights`). Log-probabilities and update: the engine asleep, all of the trainer's (`zero_grad` on leaving).

What is assumed and not worked out is in the constants. The estimate is for full micro batches of the longest sequences.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from trainer_glue.verl.preflight.model_shape import ModelShape

GIB: Final = 2**30
HALF: Final = 2
"""Bytes of a bfloat16 number."""
RESERVED: Final = round(0.85 * GIB)
"""Of a card's nominal memory, not to be had: an A100 of 80 GiB has 79.15."""
TRAINER_CONTEXT: Final = 2 * GIB
"""CUDA's context, NCCL's buffers and what the allocator does not give back, of the trainer; assumed."""
ENGINE_CONTEXT: Final = GIB
"""The engine's own context, outside what it may use; assumed."""
GRAPHS: Final = GIB
"""CUDA graphs of the engine, which are not freed when it sleeps; assumed."""
LOGIT_COPIES: Final[Mapping[str, int]] = {"update": 2, "update with entropy": 4, "log-prob": 3}
SAMPLER_BYTES: Final = 8
"""A logit of the engine's sampler: float32, and once more for probabilities."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What of a config decides about memory.

    Attributes:
        ranks: processes that train, one a GPU.
        shards: ranks that share one copy of the weights.
        weight_bytes: of a number of the trainer's weights, gradients and moments.
        trained: parameters that are trained; None for all.
        param_offload: whether the weights wait in the host's memory.
        optimizer_offload: whether the moments do.
        checkpointing: whether activations are recomputed.
        entropy: whether the update computes the entropy.
        fused: whether logits are never whole.
        update_tokens: tokens of a micro batch of the update, on one GPU.
        log_prob_tokens: the same where only probabilities are computed.
        utilization: the engine's share of a GPU.
        tensor_parallel: GPUs of one engine.
        sequence: tokens of the longest prompt with the longest response.
        context: tokens of the longest sequence that the engine takes; None for `sequence`.
        concurrent: sequences that one engine works on at once, at most.
        batched_tokens: tokens of one step of the engine, at most.
        graphs: whether the engine captures CUDA graphs.
        sleeps: whether it frees its memory between rollouts.
        bucket: bytes of a part of the weights on its way to the engine.
    """

    ranks: int
    shards: int
    weight_bytes: int = 4
    trained: int | None = None
    param_offload: bool = False
    optimizer_offload: bool = False
    checkpointing: bool = True
    entropy: bool = False
    fused: bool = False
    update_tokens: int = 16384
    log_prob_tokens: int = 16384
    utilization: float = 0.5
    tensor_parallel: int = 1
    sequence: int = 1024
    context: int | None = None
    concurrent: int = 256
    batched_tokens: int = 8192
    graphs: bool = True
    sleeps: bool = True
    bucket: int = 2 * GIB


@dataclass(frozen=True)
class Phase:
    """One phase of a step.

    Attributes:
        name: `rollout`, `sync`, `log-prob` or `update`.
        parts: bytes by part.
    """

    name: str
    parts: Mapping[str, int]

    @property
    def total(self) -> int:
        """Bytes in all."""
        return sum(self.parts.values())

    def __str__(self) -> str:
        parts = ", ".join(f"{name} {size / GIB:.1f}" for name, size in self.parts.items() if size >= 0.05 * GIB)
        return f"{self.total / GIB:.1f} GiB ({parts})"


@dataclass(frozen=True)
class Estimate:
    """The memory of one GPU.

    Attributes:
        shape: the model.
        settings: what the config says.
        gpu: bytes of a GPU, as on its label.
        critic: the critic's shape; None without one.
    """

    shape: ModelShape
    settings: Settings
    gpu: int
    critic: ModelShape | None = None

    @property
    def usable(self) -> int:
        """Bytes of the GPU that a program can have."""
        return self.gpu - RESERVED

    @property
    def weights(self) -> int:
        """The trainer's weights."""
        return self.settings.weight_bytes * self.shape.parameters // self.settings.shards

    @property
    def trained(self) -> int:
        """Parameters that are trained."""
        return self.shape.parameters if self.settings.trained is None else self.settings.trained

    @property
    def gradients(self) -> int:
        """Their gradients."""
        return self.settings.weight_bytes * self.trained // self.settings.shards

    @property
    def optimizer(self) -> int:
        """Adam's two moments."""
        return 2 * self.gradients

    @property
    def engine_weights(self) -> int:
        """The engine's own copy."""
        return HALF * self.shape.parameters // self.settings.tensor_parallel

    @property
    def token_bytes(self) -> int:
        """A token's keys and values on one GPU. Heads that a GPU can't share are copied to it."""
        heads = max(1, self.shape.kv_heads // self.settings.tensor_parallel)
        return 2 * self.shape.layers * heads * self.shape.head_dim * HALF

    @property
    def engine_activations(self) -> int:
        """What the engine needs beside weights and cache in its largest step."""
        s, m, tp = self.settings, self.shape, self.settings.tensor_parallel
        block = HALF * s.batched_tokens * (2 * m.hidden + 3 * m.active_experts * m.intermediate // tp)
        return block + SAMPLER_BYTES * s.concurrent * m.vocabulary

    @property
    def cache(self) -> int:
        """Bytes of the KV cache; negative when there is no room for any."""
        return round(self.settings.utilization * self.usable) - self.engine_weights - self.engine_activations

    @property
    def cached_tokens(self) -> int:
        """Tokens that one engine's cache holds."""
        return max(0, self.cache) // self.token_bytes

    @property
    def at_once(self) -> float:
        """Sequences of the longest length that one engine's cache holds."""
        return self.cached_tokens / self.settings.sequence

    def layer_activations(self, tokens: int) -> int:
        """What the backward pass of one layer needs of its forward pass."""
        m = self.shape
        width = m.active_experts * m.intermediate
        norms, block = (12, 8) if m.gated else (4, 4)
        return tokens * (2 * m.hidden + block * width + (norms + 6) * m.hidden + 4 * m.kv_heads * m.head_dim)

    @cached_property
    def rollout(self) -> Phase:
        """Generation."""
        parts = {"engine": round(self.settings.utilization * self.usable), **self._resident()}
        return Phase("rollout", {**parts, "graphs and contexts": self._around()})

    @cached_property
    def sync(self) -> Phase:
        """Weights on their way from the trainer to the engine."""
        parts = {"weights": self.weights, **self._resident(weights=False), "engine's weights": self.engine_weights}
        tensor = HALF * self.shape.embedding
        parts |= {"buckets": 2 * max(self.settings.bucket, tensor) + tensor, "graphs and contexts": self._around()}
        return Phase("sync", parts)

    @cached_property
    def log_prob(self) -> Phase:
        """Probabilities of the old policy: no gradients, and the entropy for the logs."""
        tokens = self.settings.log_prob_tokens
        parts = {"weights": self.weights, **self._resident(weights=False)}
        parts |= {"gathered units": self._gathered, "activations": self.layer_activations(tokens)}
        parts |= {"logits": self._logits(tokens, "log-prob"), **self._asleep()}
        return Phase("log-prob", parts)

    @cached_property
    def update(self) -> Phase:
        """Forward and backward passes with the optimizer's state."""
        return self.update_of(self.settings.update_tokens)

    def update_of(self, tokens: int) -> Phase:
        """The update with micro batches of so many tokens on a GPU.

        Three moments can be the worst: at the head, in a layer, and when the root unit's gradients are reduced.
        """
        m, root, layer = self.shape, self._root, self.shape.layer
        one = self.layer_activations(tokens)
        kept = HALF * tokens * m.hidden * m.layers if self.settings.checkpointing else m.layers * one
        trains_root = self.settings.trained is None
        held = HALF * root if trains_root else 0
        logits = self._logits(tokens, "update with entropy" if self.settings.entropy else "update")
        moments = (
            {"activations": kept, "logits": logits, "unsharded gradients": held},
            {"activations": kept + one, "logits": 0, "unsharded gradients": held + (4 * layer if trains_root else 0)},
            {"activations": 0, "logits": 0, "unsharded gradients": 6 * root if trains_root else 0},
        )
        state = {"weights": self.weights, "gradients": self.gradients, "optimizer": self.optimizer}
        worst = max(moments, key=lambda parts: sum(parts.values()))
        return Phase("update", {**state, **self._critic(), "gathered units": self._gathered, **worst, **self._asleep()})

    @property
    def phases(self) -> tuple[Phase, ...]:
        """All four, in the order of a step."""
        return self.rollout, self.log_prob, self.update, self.sync

    def phase(self, name: str) -> Phase:
        """The phase of that name."""
        return next(phase for phase in self.phases if phase.name == name)

    @property
    def _root(self) -> int:
        return (1 if self.shape.tied else 2) * self.shape.embedding + self.shape.hidden

    @property
    def _gathered(self) -> int:
        return HALF * (self._root + 2 * self.shape.layer)

    def _logits(self, tokens: int, kind: str) -> int:
        return 0 if self.settings.fused else HALF * LOGIT_COPIES[kind] * tokens * self.shape.vocabulary

    def _resident(self, *, weights: bool = True) -> dict[str, int]:
        """Of the trainer, what is never offloaded."""
        s = self.settings
        parts = {"weights": self.weights} if weights and not s.param_offload else {}
        return {**parts, **({} if s.optimizer_offload else {"optimizer": self.optimizer}), **self._critic()}

    def _critic(self) -> dict[str, int]:
        if self.critic is None:
            return {}
        return {"critic": 3 * self.settings.weight_bytes * self.critic.parameters // self.settings.shards}

    def _around(self) -> int:
        return TRAINER_CONTEXT + ENGINE_CONTEXT + (GRAPHS if self.settings.graphs else 0)

    def _asleep(self) -> dict[str, int]:
        """The engine while the trainer works."""
        kept = 0 if self.settings.sleeps else round(self.settings.utilization * self.usable)
        return {"graphs and contexts": self._around(), **({"engine": kept} if kept else {})}


def lora_parameters(shape: ModelShape, rank: int) -> int:
    """Parameters of adapters of a rank on every matrix of every layer (Hu et al. 2021, arXiv 2106.09685)."""
    m = shape
    q, kv = m.heads * m.head_dim, m.kv_heads * m.head_dim
    attention = 2 * (m.hidden + q) + 2 * (m.hidden + kv)
    block = (3 if m.gated else 2) * (m.hidden + m.intermediate)
    return rank * m.layers * (attention + m.experts * block)
