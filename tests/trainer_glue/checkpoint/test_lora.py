"""LoRA: what PEFT makes of the result is what PEFT trained."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM

from rewardkit.errors import CheckpointError
from trainer_glue.checkpoint import convert

from .conftest import Made
from .fsdp import ALPHA, RANK, build

Make = Callable[[str], Made]
CASE = "fsdp2:lora:fp32:2"
IDS = torch.arange(4, 20).unsqueeze(0)


def trained(made: Made) -> torch.nn.Module:
    model = build("lora", "fp32")
    model.load_state_dict(made.full())
    return model.eval()


def logits(model: torch.nn.Module) -> torch.Tensor:
    with torch.no_grad():
        return model(input_ids=IDS).logits


def test_base_and_adapter_load_as_one_model(made: Make, tmp_path: Path) -> None:
    convert(made(CASE).run, tmp_path / "out")
    loaded = AutoModelForCausalLM.from_pretrained(tmp_path / "out").eval()
    assert torch.equal(logits(loaded), logits(trained(made(CASE))))


def test_adapter_loads_in_peft(made: Make, tmp_path: Path) -> None:
    from peft import PeftConfig, PeftModel

    convert(made(CASE).run, tmp_path / "out", base="")
    config = PeftConfig.from_pretrained(str(tmp_path / "out"))
    assert (config.r, config.lora_alpha, config.task_type) == (RANK, ALPHA, "CAUSAL_LM")
    model = build("untied", "fp32")
    model.load_state_dict(load_file(tmp_path / "out" / "model.safetensors"))
    with_adapter = PeftModel.from_pretrained(model, str(tmp_path / "out")).eval()
    assert torch.equal(logits(with_adapter), logits(trained(made(CASE))))


def test_merged(made: Make, tmp_path: Path) -> None:
    report = convert(made(CASE).run, tmp_path / "out", merge_lora=True, verify_result=True)
    assert report.lora == {"r": RANK, "lora_alpha": ALPHA, "merged": True}
    assert not (tmp_path / "out" / "adapter_config.json").exists()
    merged = trained(made(CASE)).merge_and_unload().state_dict()
    written = load_file(tmp_path / "out" / "model.safetensors")
    assert written.keys() == merged.keys()
    for name, tensor in merged.items():
        torch.testing.assert_close(written[name], tensor, atol=1e-6, rtol=1e-5)


def test_alpha_from_nowhere_is_an_error(copy: Make, tmp_path: Path) -> None:
    made = copy(CASE)
    (made.actor / "lora_train_meta.json").unlink()
    with pytest.raises(CheckpointError, match=r"nothing in it says lora_alpha") as e:
        convert(made.run, tmp_path / "out")
    assert "--lora-alpha" in str(e.value)
    given = convert(made.run, tmp_path / "given", lora_alpha=5)
    assert given.lora is not None
    assert given.lora["lora_alpha"] == 5
    config = {"actor_rollout_ref": {"model": {"lora_alpha": 24}}}
    (made.run / "run.json").write_text(json.dumps({"formula": "gsm8k()", "config": config}))
    from_run = convert(made.run, tmp_path / "from-run")
    assert from_run.lora is not None
    assert from_run.lora["lora_alpha"] == 24


@pytest.fixture
def adapter_only(copy: Make) -> Made:
    """As verl writes with `save_lora_only`."""
    made = copy(CASE)
    for path in made.actor.glob("model_*.pt"):
        state = torch.load(path, weights_only=False)
        torch.save({name: tensor for name, tensor in state.items() if "lora_" in name}, path)
    return made


def test_adapter_only(adapter_only: Made, tmp_path: Path) -> None:
    convert(adapter_only.run, tmp_path / "out", base=str(tmp_path), verify_result=True)
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert "adapter_model.safetensors" in names
    assert "config.json" not in names
    config = json.loads((tmp_path / "out" / "adapter_config.json").read_text())
    assert config["base_model_name_or_path"] == str(tmp_path)
    with pytest.raises(CheckpointError, match="adapter's tensors only; merging needs the base model's"):
        convert(adapter_only.run, tmp_path / "merged", merge_lora=True)


def test_adapter_only_merges_into_a_base_folder(adapter_only: Made, made: Make, tmp_path: Path) -> None:
    whole = made(CASE)
    convert(whole.run, tmp_path / "expected", merge_lora=True)
    base = tmp_path / "base"
    convert(whole.run, base)
    for name in ("adapter_config.json", "adapter_model.safetensors"):
        (base / name).unlink()
    convert(adapter_only.run, tmp_path / "out", base=str(base), merge_lora=True, verify_result=True)
    written = load_file(tmp_path / "out" / "model.safetensors")
    for name, tensor in load_file(tmp_path / "expected" / "model.safetensors").items():
        assert torch.equal(written[name], tensor), name
    save_file({"other.weight": torch.zeros(2, 2)}, base / "model.safetensors")
    with pytest.raises(CheckpointError, match="not among the base model's tensors"):
        convert(adapter_only.run, tmp_path / "wrong", base=str(base), merge_lora=True)


def test_some_modules_only(copy: Make, tmp_path: Path) -> None:
    """Short names would adapt modules that were not trained."""
    made = copy(CASE)
    for path in made.actor.glob("model_*.pt"):
        state = torch.load(path, weights_only=False)
        kept = {n: t for n, t in state.items() if ".lora_" not in n or "layers.1.self_attn.q_proj" in n}
        torch.save(kept, path)
    convert(made.run, tmp_path / "out")
    config = json.loads((tmp_path / "out" / "adapter_config.json").read_text())
    assert config["target_modules"] == ["model.layers.1.self_attn.q_proj"]


def test_merge_without_lora(made: Make, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="without LoRA tensors"):
        convert(made("fsdp2:untied:fp32:2").run, tmp_path / "out", merge_lora=True)


@pytest.fixture
def unusual(made: Make, tmp_path: Path) -> tuple[Path, torch.nn.Module]:
    """A run on one rank with an adapter on the embedding, a module trained in full, and two ranks of LoRA."""
    from peft import LoraConfig, get_peft_model

    config = LoraConfig(
        task_type="CAUSAL_LM",
        r=2,
        lora_alpha=6,
        target_modules=["embed_tokens", "q_proj", "down_proj"],
        modules_to_save=["lm_head"],
        rank_pattern={"down_proj": 4},
    )
    model = get_peft_model(build("untied", "fp32"), config).eval()
    for name, parameter in model.named_parameters():
        if "lora_" in name or "modules_to_save" in name:
            parameter.data = torch.randn_like(parameter)
    actor = tmp_path / "run" / "global_step_1" / "actor"
    actor.mkdir(parents=True)
    (actor / "huggingface").symlink_to(made(CASE).actor / "huggingface")
    torch.save(model.state_dict(), actor / "model_world_size_1_rank_0.pt")
    return actor, model


def test_unusual_adapter(unusual: tuple[Path, torch.nn.Module], tmp_path: Path) -> None:
    actor, model = unusual
    convert(actor, tmp_path / "out", lora_alpha=6)
    config = json.loads((tmp_path / "out" / "adapter_config.json").read_text())
    assert config["r"] == 2
    assert config["rank_pattern"] == {f"model.layers.{i}.mlp.down_proj": 4 for i in range(2)}
    assert config["modules_to_save"] == ["lm_head"]
    from peft import PeftModel

    base = build("untied", "fp32")
    base.load_state_dict(load_file(tmp_path / "out" / "model.safetensors"))
    loaded = PeftModel.from_pretrained(base, str(tmp_path / "out")).eval()
    assert torch.equal(logits(loaded), logits(model))


def test_unusual_adapter_merged(unusual: tuple[Path, torch.nn.Module], tmp_path: Path) -> None:
    actor, model = unusual
    convert(actor, tmp_path / "out", lora_alpha=6, merge_lora=True, verify_result=True)
    written = load_file(tmp_path / "out" / "model.safetensors")
    expected = model.merge_and_unload().state_dict()
    assert written.keys() == expected.keys()
    for name, tensor in expected.items():
        torch.testing.assert_close(written[name], tensor, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("base_model.model.model.layers.0.self_attn.q_proj.lora_magnitude_vector.default.weight", "plain LoRA"),
        ("base_model.model.model.layers.0.self_attn.q_proj.lora_A.second.weight", "several adapters"),
        ("base_model.model.model.layers.0.other.lora_A.default.weight", r"expected A \(r, in\) and B \(out, r\)"),
    ],
)
def test_adapters_that_can_not_be_converted(
    unusual: tuple[Path, torch.nn.Module], tmp_path: Path, name: str, message: str
) -> None:
    actor, model = unusual
    torch.save({**model.state_dict(), name: torch.zeros(2, 36)}, actor / "model_world_size_1_rank_0.pt")
    with pytest.raises(CheckpointError, match=message):
        convert(actor, tmp_path / "out", lora_alpha=6)
