"""The recipes: each resolves, and verl's own validation accepts what it resolves to."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from omegaconf import OmegaConf

from trainer_glue.verl.config import Resolved, recipe_names, resolve
from trainer_glue.verl.config.recipes import FOLDER

Write = Callable[..., Path]


def of_recipe(name: str, write_data: Write, model: Path, *, accelerator: bool) -> Resolved:
    overrides = []
    if name != "tiny":
        data = write_data(count=2048)
        overrides = [f"data.train_files={data}", f"data.val_files={data}", f"model.path={model}"]
    return resolve(name, overrides, reward="gsm8k()", accelerator=accelerator)


@pytest.mark.verl
@pytest.mark.parametrize("name", recipe_names())
def test_verl_accepts_it(name: str, write_data: Write, model: Path) -> None:
    from verl.trainer.ppo.utils import need_critic, need_reference_policy
    from verl.utils.config import omega_conf_to_dataclass, validate_config

    resolved = of_recipe(name, write_data, model, accelerator=True)
    config = OmegaConf.create(resolved.to_yaml())
    validate_config(config, need_reference_policy(config), need_critic(config))
    for section in ("actor_rollout_ref.actor", "actor_rollout_ref.rollout", "algorithm"):
        omega_conf_to_dataclass(OmegaConf.select(config, section))


@pytest.mark.parametrize("name", recipe_names())
def test_it_has_no_warnings_and_says_what_it_is_for(name: str, write_data: Write, model: Path) -> None:
    assert of_recipe(name, write_data, model, accelerator=True).findings == ()
    assert (FOLDER / f"{name}.yaml").read_text().startswith("# ")


@pytest.mark.parametrize("name", ["tiny", "small"])
def test_the_small_ones_need_no_accelerator(name: str, write_data: Write, model: Path) -> None:
    resolved = of_recipe(name, write_data, model, accelerator=False)
    assert (resolved.ranks, resolved.accelerator, resolved.findings) == (1, False, ())
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
