"""Parameter counts against those that are published, and configs of other kinds."""

from __future__ import annotations

from typing import Any

import pytest

from tests.models import LLAMA_3_8B
from trainer_glue.verl.preflight.model_shape import shape_of

QWEN3_8B = LLAMA_3_8B | {
    "model_type": "qwen3",
    "intermediate_size": 12288,
    "num_hidden_layers": 36,
    "head_dim": 128,
    "vocab_size": 151936,
}
QWEN2_7B = LLAMA_3_8B | {
    "model_type": "qwen2",
    "hidden_size": 3584,
    "intermediate_size": 18944,
    "num_hidden_layers": 28,
    "num_attention_heads": 28,
    "num_key_value_heads": 4,
    "vocab_size": 152064,
}
LLAMA_3_70B = LLAMA_3_8B | {
    "hidden_size": 8192,
    "intermediate_size": 28672,
    "num_hidden_layers": 80,
    "num_attention_heads": 64,
}
SMOLLM2_135M = LLAMA_3_8B | {
    "hidden_size": 576,
    "intermediate_size": 1536,
    "num_hidden_layers": 30,
    "num_attention_heads": 9,
    "num_key_value_heads": 3,
    "vocab_size": 49152,
    "tie_word_embeddings": True,
}
MIXTRAL_8X7B = LLAMA_3_8B | {
    "model_type": "mixtral",
    "vocab_size": 32000,
    "num_local_experts": 8,
    "num_experts_per_tok": 2,
}


@pytest.mark.parametrize(
    ("config", "published"),
    [
        (LLAMA_3_8B, 8_030_261_248),
        (LLAMA_3_70B, 70_553_706_496),
        (SMOLLM2_135M, 134_515_008),
        (QWEN2_7B, 7_615_616_512),
        (QWEN3_8B, 8_190_735_360),
        (MIXTRAL_8X7B, 46_702_792_704),
    ],
    ids=["Llama-3-8B", "Llama-3-70B", "SmolLM2-135M", "Qwen2-7B", "Qwen3-8B", "Mixtral-8x7B"],
)
def test_parameters_are_the_published_ones(config: dict[str, Any], published: int) -> None:
    """As the model's safetensors index counts them; biases and norms of heads are left out here."""
    shape = shape_of(config)
    assert shape is not None
    assert shape.parameters == pytest.approx(published, rel=2e-4)
    if config["model_type"] == "llama":
        assert shape.parameters == published


def test_the_language_model_inside_a_multimodal_config_counts() -> None:
    whole = shape_of({"model_type": "llava", "text_config": LLAMA_3_8B, "architectures": ["X"]})
    assert whole is not None and (whole.parameters, whole.architecture) == (8_030_261_248, "X")


@pytest.mark.parametrize(
    "config",
    [
        {},
        {k: v for k, v in LLAMA_3_8B.items() if k != "hidden_size"},
        LLAMA_3_8B | {"kv_lora_rank": 512},
        LLAMA_3_8B | {"is_encoder_decoder": True},
        LLAMA_3_8B | {"num_attention_heads": "32"},
    ],
)
def test_no_shape_of_another_kind_of_model(config: dict[str, Any]) -> None:
    assert shape_of(config) is None
