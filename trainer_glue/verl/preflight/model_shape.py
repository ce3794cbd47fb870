"""The sizes of a causal language model, as its `config.json` gives them: what divides, and what needs memory.

No weights are read and no class of the model's is built. Sizes that a config leaves out follow Hugging Face's defaults.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

_GATED: Final = frozenset({"silu", "swish", "gelu_pytorch_tanh", "swiglu"})
"""Activations of models whose feed-forward block has a gate, so three matrices in place of two."""
_UNLIKE: Final = ("kv_lora_rank", "ssm_state_size", "state_size", "linear_num_key_heads", "is_encoder_decoder")
"""Keys of attention or layers of another kind, which the formulas here do not describe."""


@dataclass(frozen=True, slots=True)
class ModelShape:
    """A decoder-only transformer.

    Attributes:
        model_type: Hugging Face's name of the family, such as ``llama``.
        architecture: the class name, such as ``LlamaForCausalLM``; empty when the config has none.
        layers: decoder layers.
        hidden: width of the residual stream.
        heads: attention heads.
        kv_heads: heads of keys and values.
        head_dim: width of a head.
        intermediate: width of the feed-forward block; of one expert, in a mixture.
        vocabulary: entries of the embedding.
        tied: whether the output matrix is the embedding.
        gated: whether the feed-forward block has a gate.
        experts: experts a layer; 1 when it is not a mixture.
        active_experts: experts that a token goes through.
        context: the longest sequence; None when the config doesn't say.
        custom_code: whether the model brings code of its own.
    """

    model_type: str
    architecture: str
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    intermediate: int
    vocabulary: int
    tied: bool = False
    gated: bool = True
    experts: int = 1
    active_experts: int = 1
    context: int | None = None
    custom_code: bool = False

    @property
    def embedding(self) -> int:
        """Parameters of the embedding."""
        return self.vocabulary * self.hidden

    @property
    def layer(self) -> int:
        """Parameters of a decoder layer: attention, feed-forward blocks with their router, two norms."""
        attention = 2 * self.hidden * self.head_dim * (self.heads + self.kv_heads)
        block = (3 if self.gated else 2) * self.hidden * self.intermediate
        router = self.hidden * self.experts if self.experts > 1 else 0
        return attention + self.experts * block + router + 2 * self.hidden

    @property
    def parameters(self) -> int:
        """All parameters, biases left out: Meta-Llama-3-8B's 8,030,261,248 exactly."""
        return (1 if self.tied else 2) * self.embedding + self.layers * self.layer + self.hidden


def shape_of(config: Mapping[str, Any]) -> ModelShape | None:
    """The shape that a `config.json` describes; None when it lacks a size, or describes another kind of model."""
    text = config.get("text_config")
    inner: Mapping[str, Any] = {**config, **text} if isinstance(text, Mapping) else config
    sizes = {
        name: _size(inner, *keys)
        for name, keys in {
            "layers": ("num_hidden_layers", "n_layer", "n_layers"),
            "hidden": ("hidden_size", "n_embd", "d_model"),
            "heads": ("num_attention_heads", "n_head", "n_heads"),
            "vocabulary": ("vocab_size",),
        }.items()
    }
    if any(inner.get(key) for key in _UNLIKE) or None in sizes.values():
        return None
    layers, hidden, heads, vocabulary = (sizes[k] or 0 for k in ("layers", "hidden", "heads", "vocabulary"))
    experts = _size(inner, "num_local_experts", "num_experts", "n_routed_experts") or 1
    wide = ("moe_intermediate_size",) if experts > 1 else ()
    intermediate = _size(inner, *wide, "intermediate_size", "n_inner", "ffn_dim") or 4 * hidden
    names = config.get("architectures")
    activation = str(inner.get("hidden_act") or inner.get("activation_function") or "silu")
    return ModelShape(
        model_type=str(config.get("model_type") or ""),
        architecture=str(names[0]) if isinstance(names, list) and names else "",
        layers=layers,
        hidden=hidden,
        heads=heads,
        kv_heads=_size(inner, "num_key_value_heads") or heads,
        head_dim=_size(inner, "head_dim") or hidden // heads,
        intermediate=intermediate,
        vocabulary=vocabulary,
        tied=bool(inner.get("tie_word_embeddings", config.get("tie_word_embeddings", False))),
        gated=activation in _GATED,
        experts=experts,
        active_experts=_size(inner, "num_experts_per_tok") or 1,
        context=_size(inner, "max_position_embeddings", "n_positions"),
        custom_code="auto_map" in config,
    )


def _size(config: Mapping[str, Any], *keys: str) -> int | None:
    for key in keys:
        value = config.get(key)
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            return value
    return None
