"""The recipes: each resolves, and verl's own validation accepts what it resolves to."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path

import pytest
from omegaconf import OmegaConf

from trainer_glue.verl.config import Resolved, recipe_names, resolve
from trainer_glue.verl.config.ask_verl import ask
from trainer_glue.verl.config.recipes import FOLDER, recipes

Write = Callable[..., Path]


def of_recipe(name: str, write_data: Write, model: Path, *, accelerator: bool) -> Resolved:
    overrides = []
    if name != "tiny":
        data = write_data(count=2048)
        overrides = [f"data.train_files={data}", f"data.val_files={data}", f"model.path={model}"]
    reward = None if name.endswith("dapo") else "gsm8k()"
    return resolve(name, overrides, reward=reward, accelerator=accelerator)


@pytest.mark.verl
@pytest.mark.parametrize("name", recipe_names())
def test_verl_accepts_it(name: str, write_data: Write, model: Path) -> None:
    config = OmegaConf.to_container(of_recipe(name, write_data, model, accelerator=True).unfilled(), resolve=True)
    assert isinstance(config, dict)
    answers = ask({str(k): v for k, v in config.items()})
    assert [f for f in answers if f["severity"] == "error"] == []
    lora = name.endswith("-lora") and importlib.util.find_spec("vllm") is None
    assert [f["key"] for f in answers] == (["actor_rollout_ref.model.lora_rank"] if lora else [])


@pytest.mark.parametrize("name", recipe_names())
def test_it_has_no_warnings_and_says_what_it_is_for(name: str, write_data: Write, model: Path) -> None:
    assert of_recipe(name, write_data, model, accelerator=True).diagnostics == ()
    assert (FOLDER / f"{name}.yaml").read_text().startswith("# ")


def test_the_recipes_that_there_are() -> None:
    assert {r.name for r in recipes()} == {
        "tiny",
        "small",
        "llama3-8b-dapo",
        "llama3-8b-gsm8k",
        "llama3-8b-gsm8k-lora",
        "llama3-8b-gsm8k-2nodes",
        "llama3-8b-gsm8k-reward-model",
        "llama3-8b-code",
    }
    assert all(len(r.summary) > 40 for r in recipes())


@pytest.mark.parametrize(
    ("name", "ranks"),
    [("gsm8k", 8), ("gsm8k-lora", 1), ("gsm8k-2nodes", 16), ("gsm8k-reward-model", 7), ("code", 8)],
)
def test_the_llama_recipes(name: str, ranks: int, write_data: Write, model: Path) -> None:
    resolved = of_recipe(f"llama3-8b-{name}", write_data, model, accelerator=True)
    part = resolved.config["actor_rollout_ref"]
    assert resolved.ranks == ranks
    assert (part["actor"]["strategy"], part["rollout"]["name"], part["rollout"]["n"]) == ("fsdp", "vllm", 8)
    assert (part["actor"]["kl_loss_coef"], part["actor"]["kl_loss_type"]) == (0.001, "low_var_kl")
    assert part["actor"]["fsdp_config"]["dtype"] == part["rollout"]["dtype"] == "bfloat16"
    assert part["model"]["enable_gradient_checkpointing"] and (part["model"]["lora_rank"] > 0) == (ranks == 1)
    steps = 7_473 // resolved.config["data"]["train_batch_size"] * resolved.config["trainer"]["total_epochs"]
    assert 0 < resolved.config["trainer"]["save_freq"] <= steps // 3
    assert 0 < resolved.config["trainer"]["test_freq"] <= steps // 3


@pytest.mark.parametrize("name", ["tiny", "small"])
def test_the_small_ones_need_no_accelerator(name: str, write_data: Write, model: Path) -> None:
    resolved = of_recipe(name, write_data, model, accelerator=False)
    assert (resolved.ranks, resolved.accelerator, resolved.diagnostics) == (1, False, ())
    two = resolve(name, reward="length(0.1)", accelerator=False, ranks=2, dry_run=True) if name == "tiny" else None
    assert two is None or two.ranks == 2


def test_tiny_is_the_default_and_makes_its_own_files(tmp_path: Path) -> None:
    resolved = resolve(accelerator=False, out=tmp_path)
    assert (resolved.name, resolved.assets, resolved.assets_folder) == ("tiny", "tiny", tmp_path / "assets")
    assert resolved.config["actor_rollout_ref"]["model"]["path"] == str(tmp_path / "assets" / "model")
    assert resolved.config["trainer"]["total_training_steps"] >= 40


def test_small_is_the_default_for_a_model_of_the_users(write_data: Write, model: Path) -> None:
    overrides = [f"model.path={model}", f"data.train_files={write_data()}"]
    resolved = resolve(None, overrides, reward="gsm8k()", accelerator=False)
    assert (resolved.name, resolved.assets) == ("small", None)
    assert resolved.config["actor_rollout_ref"]["actor"]["optim"]["lr"] <= 1e-5


def test_data_of_the_users_own_go_with_the_tiny_model(write_data: Write, tmp_path: Path) -> None:
    data = str(write_data())
    resolved = resolve("tiny", [f"data.train_files={data}"], accelerator=False, out=tmp_path)
    assert resolved.config["data"]["train_files"] == resolved.config["data"]["val_files"] == data
    assert resolved.assets == "tiny"
