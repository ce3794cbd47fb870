"""LoRA: splitting a PEFT state dict into base and adapter, the adapter in PEFT's form, and merging.

A merge is ``W + (alpha / r) * B @ A`` computed in float32 a block of rows at a time, so that it needs the factors in
memory and never the whole weight. Rank and adapted modules are read off the tensors; alpha is in no tensor, and a
guessed alpha is a different model, so an unknown one is an error.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import torch

from rewardkit.errors import CheckpointError

from .tensors import Source, rows

_PREFIX: Final = "base_model.model."
_FACTOR: Final = re.compile(
    r"(?P<module>.+)\.lora_(?P<embedding>embedding_)?(?P<side>[AB])\.(?P<adapter>[^.]+)(\.weight)?"
)
_SAVED: Final = re.compile(r"(?P<module>.+)\.modules_to_save\.(?P<adapter>[^.]+)\.(?P<leaf>.+)")


@dataclass(frozen=True, slots=True)
class Factors:
    """The two factors on one module."""

    a: Source
    b: Source
    embedding: bool

    @property
    def rank(self) -> int:
        """Rows of A."""
        return self.a.shape[0]


@dataclass(frozen=True, slots=True)
class Adapter:
    """What LoRA added to a model."""

    factors: Mapping[str, Factors]
    """By module name in the base model."""
    replaced: Mapping[str, Source]
    """Tensors trained in full (``modules_to_save``), by their name in the base model."""

    @property
    def rank(self) -> int:
        """The most frequent rank; others go to ``rank_pattern``."""
        return Counter(factors.rank for factors in self.factors.values()).most_common(1)[0][0]

    def tensors(self) -> dict[str, Source]:
        """As PEFT names them in ``adapter_model.safetensors``."""
        tensors: dict[str, Source] = {}
        for module, factors in self.factors.items():
            kind, leaf = ("lora_embedding_", "") if factors.embedding else ("lora_", ".weight")
            tensors[f"{_PREFIX}{module}.{kind}A{leaf}"] = factors.a
            tensors[f"{_PREFIX}{module}.{kind}B{leaf}"] = factors.b
        return tensors | {f"{_PREFIX}{name}": source for name, source in self.replaced.items()}

    def config(
        self, *, alpha: float, task_type: str | None, base_model: str | None, count: Callable[[str], int | None]
    ) -> dict[str, Any]:
        """``adapter_config.json``.

        Args:
            alpha: The numerator of the scale.
            task_type: PEFT's, such as ``CAUSAL_LM``.
            base_model: Name or folder of the model below.
            count: How many modules of the base model bear a last name, such as ``q_proj``; None where nobody knows.
        """
        return {
            "peft_type": "LORA",
            "task_type": task_type,
            "base_model_name_or_path": base_model,
            "r": self.rank,
            "lora_alpha": int(alpha) if alpha == int(alpha) else alpha,
            "target_modules": self._targets(count),
            "modules_to_save": sorted({name.rsplit(".", 2)[-2] for name in self.replaced}) or None,
            "rank_pattern": {m: f.rank for m, f in self.factors.items() if f.rank != self.rank},
            "lora_dropout": 0.0,
            "bias": "none",
            "fan_in_fan_out": False,
            "inference_mode": True,
        }

    def _targets(self, count: Callable[[str], int | None]) -> list[str]:
        """Last parts of the names where every module of that name is adapted, else whole names."""
        adapted = Counter(module.rsplit(".", 1)[-1] for module in self.factors)
        if all(count(leaf) in (None, times) for leaf, times in adapted.items()):
            return sorted(adapted)
        return sorted(self.factors)


@dataclass(frozen=True, slots=True)
class MergedTensor:
    """A weight with its factors added."""

    base: Source
    factors: Factors
    scale: float

    @property
    def name(self) -> str:
        """The base weight's."""
        return self.base.name

    @property
    def shape(self) -> tuple[int, ...]:
        """The base weight's."""
        return self.base.shape

    @property
    def dtype(self) -> torch.dtype:
        """The base weight's."""
        return self.base.dtype

    def fill(self, target: torch.Tensor, start: int) -> None:
        """See :class:`Source`."""
        stop = start + len(target)
        a = rows(self.factors.a, 0, self.factors.a.shape[0])
        if self.factors.embedding:
            delta = a[:, start:stop].T @ rows(self.factors.b, 0, self.factors.b.shape[0]).T
        else:
            delta = rows(self.factors.b, start, stop) @ a
        target.copy_(delta.mul_(self.scale).add_(rows(self.base, start, stop)))


def separate(tensors: Mapping[str, Source]) -> tuple[dict[str, Source], Adapter | None]:
    """Base tensors under the base model's own names, and the adapter if there is one.

    Raises:
        CheckpointError: Several adapters, half an adapter, or a kind of adapter that is not plain LoRA.
    """
    base: dict[str, Source] = {}
    sides: dict[str, dict[str, Source]] = {}
    embeddings: set[str] = set()
    replaced: dict[str, Source] = {}
    adapters: set[str] = set()
    for full_name, source in tensors.items():
        name = full_name.removeprefix(_PREFIX)
        if factor := _FACTOR.fullmatch(name):
            adapters.add(factor["adapter"])
            sides.setdefault(factor["module"], {})[factor["side"]] = source
            if factor["embedding"]:
                embeddings.add(factor["module"])
        elif saved := _SAVED.fullmatch(name):
            adapters.add(saved["adapter"])
            replaced[f"{saved['module']}.{saved['leaf']}"] = source
        elif ".lora_" in name or ".adapter_" in name:
            raise CheckpointError(
                f"{full_name} belongs to a kind of adapter that can't be converted; expected plain LoRA",
                hint="DoRA and other variants: load the base model and the checkpoint in PEFT and save from there",
            )
        else:
            own = name.replace(".base_layer.", ".").replace(".original_module.", ".")
            if own in base:
                raise CheckpointError(f"two tensors of the checkpoint are {own}: {base[own].name} and {full_name}")
            base[own] = source
    if not sides:
        return base, None
    if len(adapters) > 1:
        raise CheckpointError(f"several adapters in one checkpoint ({', '.join(sorted(adapters))}); expected one")
    factors = {}
    for module, sources in sides.items():
        if set(sources) != {"A", "B"} or sources["A"].shape[0] != sources["B"].shape[1]:
            shapes = {side: source.shape for side, source in sources.items()}
            raise CheckpointError(f"{module}: LoRA factors {shapes}; expected A (r, in) and B (out, r)")
        factors[module] = Factors(sources["A"], sources["B"], module in embeddings)
    return base, Adapter(factors, replaced)


def merge(base: Mapping[str, Source], adapter: Adapter, alpha: float) -> dict[str, Source]:
    """The base model's tensors with the adapter worked in.

    Raises:
        CheckpointError: A factor has no weight to be added to, or doesn't fit it.
    """
    merged = {**base, **adapter.replaced}
    for module, factors in adapter.factors.items():
        name = f"{module}.weight"
        below = base.get(name)
        if below is None:
            raise CheckpointError(
                f"the adapter changes {name}, which is not among the base model's tensors",
                hint="was --base given, and is it the model that was trained?",
            )
        a, b = factors.a.shape, factors.b.shape
        delta = (a[1], b[0]) if factors.embedding else (b[0], a[1])
        if below.shape != delta:
            raise CheckpointError(f"{name} is {below.shape} and the adapter's product is {delta}")
        merged[name] = MergedTensor(below, factors, alpha / factors.rank)
    return merged


def first_alpha(*candidates: Any) -> float | None:
    """The first candidate that is a positive number."""
    return next((float(value) for value in candidates if isinstance(value, (int, float)) and value > 0), None)


def require_alpha(alpha: float | None) -> float:
    """LoRA's alpha, known.

    Raises:
        CheckpointError: Nothing says what it is.
    """
    if alpha is None:
        raise CheckpointError(
            "this is a LoRA checkpoint and nothing in it says lora_alpha (verl writes lora_train_meta.json since 0.8)",
            hint="give the run's actor_rollout_ref.model.lora_alpha with --lora-alpha; verl's default is 16",
        )
    return alpha
