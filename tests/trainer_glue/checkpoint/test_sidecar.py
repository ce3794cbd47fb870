"""Config, generation config and tokenizer of the result."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from rewardkit.errors import CheckpointError
from trainer_glue.checkpoint import convert
from trainer_glue.checkpoint.sidecar import generation_config, model_config

from .conftest import Made

Make = Callable[[str], Made]
CASE = "fsdp2:untied:fp32:2"


def read(path: Path) -> dict[str, object]:
    return json.loads(path.read_text())


@pytest.mark.parametrize(
    ("config", "generation", "expected"),
    [
        ({"eos_token_id": 4}, {"eos_token_id": [1, 9], "temperature": 0.6}, [1, 9, 4]),
        ({"eos_token_id": 9}, {"eos_token_id": [1, 9]}, [1, 9]),
        ({"eos_token_id": 4}, None, 4),
        ({"eos_token_id": None}, {"eos_token_id": 7}, 7),
        ({"eos_token_id": [3, 4]}, {}, [3, 4]),
    ],
)
def test_no_eos_id_is_lost(config: dict, generation: dict | None, expected: object) -> None:
    written = generation_config(config, generation)
    assert written["eos_token_id"] == expected
    assert written.get("temperature") == (generation or {}).get("temperature")


def test_what_travels(made: Make, tmp_path: Path) -> None:
    source = made(CASE).actor / "huggingface"
    convert(made(CASE).run, tmp_path / "out", dtype="bf16")
    for name in ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja"):
        assert (tmp_path / "out" / name).read_bytes() == (source / name).read_bytes()
    generation = read(tmp_path / "out" / "generation_config.json")
    assert generation == {**read(source / "generation_config.json"), "bos_token_id": 1, "pad_token_id": 2}
    assert read(tmp_path / "out" / "config.json")["dtype"] == "bfloat16"


def test_weights_in_the_config_folder_stay_behind(copy: Make, tmp_path: Path) -> None:
    """verl writes full weights there when asked for `hf_model`; they are of another dtype or step for all we know."""
    made = copy(CASE)
    (made.actor / "huggingface" / "model-00001-of-00009.safetensors").write_bytes(b"stale")
    (made.actor / "huggingface" / "model.safetensors.index.json").write_text("{}")
    convert(made.run, tmp_path / "out")
    assert sorted(path.name for path in (tmp_path / "out").glob("*safetensors*")) == ["model.safetensors"]


def test_attention_of_the_training_machine_stays_behind() -> None:
    source = {"attn_implementation": "flash_attention_2", "torch_dtype": "float32", "text_config": {"dtype": "float32"}}
    assert model_config(source, dtype="bfloat16") == {
        "torch_dtype": "bfloat16",
        "text_config": {"dtype": "bfloat16"},
    }


def test_base_fills_in_what_is_missing(copy: Make, made: Make, tmp_path: Path) -> None:
    """As verl 0.2 wrote it: no generation config; here the tokenizer is gone too."""
    old = copy(CASE)
    for path in (old.actor / "huggingface").iterdir():
        if path.name != "config.json":
            path.unlink()
    (old.actor / "fsdp_config.json").unlink()
    base = made(CASE).actor / "huggingface"
    convert(old.run, tmp_path / "out", base=str(base))
    assert (tmp_path / "out" / "tokenizer.json").read_bytes() == (base / "tokenizer.json").read_bytes()
    assert read(tmp_path / "out" / "generation_config.json")["eos_token_id"] == [2, 3]
    (old.actor / "huggingface" / "config.json").unlink()
    with pytest.raises(CheckpointError, match=r"no config\.json .*\n  hint: name the model that was trained"):
        convert(old.run, tmp_path / "none")


def test_critic_is_a_token_classifier(made: Make, tmp_path: Path) -> None:
    from transformers import AutoModelForTokenClassification

    run = made("fsdp2:value:fp32:2").run
    report = convert(run, tmp_path / "out", critic=True, verify_result=True)
    assert report.value_head == "score.weight"
    assert report.verification is not None
    assert report.verification.model_class == "LlamaForTokenClassification"
    model, info = AutoModelForTokenClassification.from_pretrained(tmp_path / "out", output_loading_info=True)
    assert (model.num_labels, model.score.weight.shape[0]) == (1, 1)
    assert not info["missing_keys"]
    assert not info["unexpected_keys"]


def test_actor_and_critic_are_not_confused(made: Make, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"it has score\.weight.*\n  hint: --critic converts it"):
        convert(made("fsdp2:value:fp32:2").actor, tmp_path / "out")
    with pytest.raises(CheckpointError, match="--critic, and none of"):
        convert(made(CASE).actor, tmp_path / "out", critic=True)


def test_tied_in_the_config_and_not_in_the_weights(copy: Make, tmp_path: Path) -> None:
    made = copy(CASE)
    path = made.actor / "huggingface" / "config.json"
    path.write_text(json.dumps({**read(path), "tie_word_embeddings": True}))
    report = convert(made.run, tmp_path / "out", verify_result=True)
    assert report.tied == []
    assert "their values differ" in report.warnings[0]
    assert read(tmp_path / "out" / "config.json")["tie_word_embeddings"] is False


def test_value_head_of_trl(copy: Make, tmp_path: Path) -> None:
    """TRL's wrapper puts its head beside a language model and reads it from the same files."""
    import torch
    from safetensors.torch import load_file

    made = copy(CASE)
    head = {"v_head.summary.weight": torch.ones(1, 36), "v_head.summary.bias": torch.zeros(1)}
    for path in made.actor.glob("model_*.pt"):
        torch.save({**torch.load(path, weights_only=False), **head}, path)
    report = convert(made.actor, tmp_path / "out", critic=True, verify_result=True)
    assert report.value_head == "v_head.summary.weight"
    assert load_file(tmp_path / "out" / "model.safetensors").keys() == made.full().keys() | head.keys()
    assert read(tmp_path / "out" / "config.json")["architectures"] == ["LlamaForCausalLM"]
