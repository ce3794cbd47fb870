"""A tiny random Llama whose vocabulary is larger than its tokenizer's."""

from __future__ import annotations

from typing import Any

from tests.trainer_glue.verl.tokenizers import byte_tokenizer

SPARE = 24
"""Ids of the model that the tokenizer doesn't have."""


def tiny_config(**changes: Any) -> Any:
    from transformers import LlamaConfig

    tokenizer = byte_tokenizer()
    settings = {
        "vocab_size": len(tokenizer) + SPARE,
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "head_dim": 16,
        "max_position_embeddings": 128,
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
        "tie_word_embeddings": False,
        "architectures": ["LlamaForCausalLM"],
    }
    return LlamaConfig(**{**settings, **changes})


def tiny_model(**changes: Any) -> Any:
    """Weights far from uniform, so that orders and shares are not a matter of rounding."""
    import torch
    from transformers import LlamaForCausalLM

    torch.manual_seed(0)
    model = LlamaForCausalLM(tiny_config(**changes)).eval()
    with torch.no_grad():
        model.get_output_embeddings().weight.mul_(20)
    return model


def tiny_engine(model: Any = None, **options: Any) -> Any:
    """An engine that holds `model`'s weights."""
    from trainer_glue.verl.cpu.engine import Engine

    model = tiny_model() if model is None else model
    engine = Engine(model.config, byte_tokenizer(), **options)
    engine.load(model.state_dict().items(), last=True)
    return engine
