"""The schema that is read from verl's files, against verl itself."""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Iterator
from typing import Any

import pytest

from trainer_glue.verl.config.compose import composed
from trainer_glue.verl.config.keys import check_keys, suggest
from trainer_glue.verl.config.schema import Key
from trainer_glue.verl.versions.installed import find_verl


@pytest.fixture(scope="module")
def verl_config() -> tuple[dict[str, Any], Key]:
    return composed(find_verl())


def test_verls_defaults_fit_their_own_schema(verl_config: tuple[dict[str, Any], Key]) -> None:
    defaults, schema = verl_config
    assert [str(f) for f in check_keys(defaults, schema, lambda _: "")] == []


@pytest.mark.parametrize(
    ("path", "types"),
    [
        ("data.train_batch_size", {"int"}),
        ("data.train_files", {"str", "list"}),
        ("actor_rollout_ref.actor.optim.lr", {"float"}),
        ("actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu", {"int", "none"}),
        ("actor_rollout_ref.actor.optim.betas", {"list"}),
        ("actor_rollout_ref.rollout.val_kwargs.do_sample", {"bool"}),
        ("actor_rollout_ref.rollout.repetition_penalty", {"float"}),
        ("trainer.total_training_steps", {"int", "none"}),
        ("algorithm.rollout_correction.rollout_is_threshold", {"float", "str"}),
    ],
)
def test_types_of_known_keys(path: str, types: set[str], verl_config: tuple[dict[str, Any], Key]) -> None:
    key = verl_config[1].find(path)
    assert key is not None
    assert key.types == types


@pytest.mark.parametrize(
    "path",
    [
        "actor_rollout_ref.model.override_config.anything",
        "actor_rollout_ref.rollout.engine_kwargs.vllm.anything",
        "ray_kwargs.ray_init.anything",
        "reward.reward_kwargs.anything.below",
        "data.apply_chat_template_kwargs.anything",
        "actor_rollout_ref.actor.fsdp_config.wrap_policy.transformer_layer_cls_to_wrap",
    ],
)
def test_keys_below_open_sections_are_free(path: str, verl_config: tuple[dict[str, Any], Key]) -> None:
    assert verl_config[1].find(path) is not None


@pytest.mark.parametrize("path", ["data.anything", "nothing", "trainer.v1.anything", "actor_rollout_ref.actor.x"])
def test_others_are_not(path: str, verl_config: tuple[dict[str, Any], Key]) -> None:
    assert verl_config[1].find(path) is None


def _targets(config: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for name, value in config.items():
        if isinstance(value, dict):
            if isinstance(value.get("_target_"), str):
                yield f"{prefix}{name}", value["_target_"]
            yield from _targets(value, f"{prefix}{name}.")


@pytest.mark.verl
def test_fields_read_from_source_are_the_dataclasses_own(verl_config: tuple[dict[str, Any], Key]) -> None:
    """What `ast` reads is what Python sees, for every dataclass that a section of the config becomes."""
    defaults, schema = verl_config
    seen = 0
    for path, target in _targets(defaults):
        module, _, name = target.rpartition(".")
        try:
            kind = getattr(importlib.import_module(module), name)
        except ModuleNotFoundError as e:
            if e.name is not None and e.name.startswith("verl"):
                raise
            continue  # a backend that is not installed
        if not dataclasses.is_dataclass(kind):
            continue
        key = schema.find(path)
        assert key is not None
        fields = {f.name for f in dataclasses.fields(kind) if f.init}
        missing = fields - set(key.children)
        assert not missing, f"{path}: {target}"
        seen += 1
    assert seen > 20


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("data.train_batch_sise", "data.train_batch_size"),
        ("trainer.train_batch_size", "data.train_batch_size"),
        ("actor_rollout_ref.rollout.max_response_length", "data.max_response_length"),
        ("trainer.lr", "actor_rollout_ref.actor.optim.lr"),
        ("n_gpus_per_node", "trainer.n_gpus_per_node"),
        ("trainer.save_frequency", "trainer.save_freq"),
    ],
)
def test_suggestions(wrong: str, right: str, verl_config: tuple[dict[str, Any], Key]) -> None:
    assert suggest(wrong, verl_config[1]) == f"did you mean {right}?"
