"""What will be written, decided before a byte is: names, dtypes, tied weights, value head, adapter.

The plan is pure bookkeeping over sources, except that tied embeddings are compared by their bytes: a config that says
tied and weights that differ are a checkpoint of an untied model, and dropping one of them would lose it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import torch

from rewardkit.errors import CheckpointError

from . import lora
from .tensors import Buffer, Source
from .writer import Output, output_dtype

VALUE_HEADS: Final = ("score.weight", "v_head.summary.weight")
"""A token classifier's head, and the one that TRL's value-head wrapper adds."""
_OUTPUT_EMBEDDINGS: Final = ("lm_head.weight", "embed_out.weight", "output_projection.weight")
_INPUT_EMBEDDINGS: Final = ("embed_tokens.weight", "wte.weight", "word_embeddings.weight", "embed_in.weight")


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that the writer and the config need to know."""

    outputs: list[Output]
    """Of the model's own files; empty when only an adapter is there."""
    adapter_outputs: list[Output] = field(default_factory=list)
    adapter_config: dict[str, Any] | None = None
    lora: dict[str, Any] | None = None
    """``r``, ``lora_alpha`` and ``merged``."""
    tied: bool | None = None
    """What the config's ``tie_word_embeddings`` has to become; None leaves it."""
    dropped: list[str] = field(default_factory=list)
    """Tied names that are not written twice."""
    value_head: str | None = None
    value_head_rows: int | None = None
    """Of a head that the config has to declare."""
    warnings: list[str] = field(default_factory=list)

    @property
    def nbytes(self) -> int:
        """Bytes of all tensors."""
        return sum(output.nbytes for output in (*self.outputs, *self.adapter_outputs))

    @property
    def dtype(self) -> str:
        """The dtype of most bytes, in the config's spelling."""
        weight: Counter[torch.dtype] = Counter()
        for output in self.outputs or self.adapter_outputs:
            weight[output.dtype] += output.nbytes
        return str(weight.most_common(1)[0][0]).removeprefix("torch.")


def plan(
    tensors: Mapping[str, Source],
    config: Mapping[str, Any],
    *,
    dtype: torch.dtype | None,
    critic: bool,
    base_tensors: Mapping[str, Source] | None = None,
    merge_lora: bool = False,
    lora_alpha: float | None = None,
    lora_task: str | None = None,
    base_model: str | None = None,
) -> Plan:
    """Decide what to write.

    Args:
        tensors: The checkpoint's tensors under its own names.
        config: The model's config.
        dtype: For floating-point tensors; None keeps each as it is.
        critic: A value model is wanted.
        base_tensors: The base model's, for a checkpoint that holds an adapter only.
        merge_lora: Work an adapter into the weights instead of writing it beside them.
        lora_alpha: LoRA's alpha, where anything says it.
        lora_task: PEFT's task type, where verl noted it.
        base_model: Name of the model below an adapter.

    Raises:
        CheckpointError: The tensors are not what was asked for.
    """
    base, adapter = lora.separate(tensors)
    base = _without_wrapper(base)
    head = next((name for name in VALUE_HEADS if name in base), None)
    _check_role(head, critic, base)
    adapter_outputs: list[Output] = []
    adapter_config = None
    summary = None
    if adapter is None:
        if merge_lora:
            raise CheckpointError("--merge-lora on a checkpoint without LoRA tensors", hint="leave the flag out")
    else:
        alpha = lora.require_alpha(lora_alpha)
        summary = {"r": adapter.rank, "lora_alpha": alpha, "merged": merge_lora}
        if merge_lora:
            if not base and not base_tensors:
                raise CheckpointError(
                    "the checkpoint holds the adapter's tensors only; merging needs the base model's too",
                    hint="name the model that was trained with --base",
                )
            base = lora.merge(base or dict(base_tensors or {}), adapter, alpha)
        else:
            sources = adapter.tensors()
            adapter_outputs = [_output(name, source, dtype) for name, source in sources.items()]
            adapter_config = adapter.config(
                alpha=alpha,
                task_type=lora_task or ("TOKEN_CLS" if head else "CAUSAL_LM"),
                base_model=base_model,
                count=_module_count(base, config),
            )
    outputs = [_output(name, source, dtype) for name, source in base.items()]
    outputs, tied, dropped, warnings = _without_tied(outputs, config)
    return Plan(
        outputs=outputs,
        adapter_outputs=adapter_outputs,
        adapter_config=adapter_config,
        lora=summary,
        tied=tied,
        dropped=dropped,
        value_head=head,
        value_head_rows=base[head].shape[0] if head == "score.weight" else None,
        warnings=warnings,
    )


def _without_wrapper(base: Mapping[str, Source]) -> dict[str, Source]:
    """Names as the model has them, without those of TRL's wrapper for a value head."""
    by_name: dict[str, Source] = {}
    for name, source in base.items():
        own = name.removeprefix("pretrained_model.")
        if own in by_name:
            raise CheckpointError(f"two tensors of the checkpoint are {own}: {by_name[own].name} and {source.name}")
        by_name[own] = source
    return by_name


def _output(name: str, source: Source, dtype: torch.dtype | None) -> Output:
    return Output(name, source, output_dtype(source.dtype, dtype))


def _check_role(head: str | None, critic: bool, base: Mapping[str, Source]) -> None:
    if head is not None and not critic:
        raise CheckpointError(
            f"this is a value model: it has {head}, and no language-model head to generate with",
            hint="--critic converts it as a token classifier",
        )
    if critic and head is None and base:
        raise CheckpointError(
            f"--critic, and none of {', '.join(VALUE_HEADS)} is in the checkpoint", hint="this may be the actor"
        )


def _module_count(base: Mapping[str, Source], config: Mapping[str, Any]) -> Callable[[str], int | None]:
    """How many weight matrices of the base model bear a last name."""
    if base:
        matrices = [name for name, source in base.items() if name.endswith(".weight") and len(source.shape) == 2]
        counts = Counter(name.split(".")[-2] for name in matrices)
        return counts.get
    # Without the base model's tensors, each name is taken to occur once a layer.
    layers = config.get("num_hidden_layers")
    return lambda _: layers if isinstance(layers, int) else None


def _without_tied(
    outputs: list[Output], config: Mapping[str, Any]
) -> tuple[list[Output], bool | None, list[str], list[str]]:
    """Outputs without second copies of tied embeddings, the tie flag to write, what was dropped, warnings."""
    text = config.get("text_config")
    tied = config.get("tie_word_embeddings", text.get("tie_word_embeddings") if isinstance(text, Mapping) else None)
    if not tied:
        return outputs, None, [], []
    for head in outputs:
        if not head.name.endswith(_OUTPUT_EMBEDDINGS):
            continue
        for embedding in outputs:
            same_kind = (embedding.source.shape, embedding.dtype) == (head.source.shape, head.dtype)
            if not embedding.name.endswith(_INPUT_EMBEDDINGS) or not same_kind:
                continue
            if _same_bytes(head, embedding):
                return [output for output in outputs if output is not head], None, [head.name], []
            warning = (
                f"the config ties {head.name} to {embedding.name}, and their values differ: both are written, "
                "and the config says untied"
            )
            return outputs, False, [], [warning]
    return outputs, None, [], []


def _same_bytes(a: Output, b: Output) -> bool:
    blocks = zip(a.blocks(Buffer()), b.blocks(Buffer()), strict=True)
    return all(torch.equal(left.view(torch.uint8), right.view(torch.uint8)) for left, right in blocks)
