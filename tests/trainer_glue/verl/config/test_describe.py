"""`schema`: what is said of the keys is true of the installed verl."""

from __future__ import annotations

from typing import Any

import pytest

from rewardkit.errors import ConfigError
from trainer_glue.verl.config.comments import verl_comments
from trainer_glue.verl.config.compose import composed
from trainer_glue.verl.config.describe import describe, describe_settings
from trainer_glue.verl.config.recipes import FOLDER
from trainer_glue.verl.config.settings import KL, SETTINGS
from trainer_glue.verl.config.values import check_values
from trainer_glue.verl.config.yaml_file import read_yaml
from trainer_glue.verl.versions.installed import find_verl


def test_every_setting_is_a_key_and_says_what_it_means() -> None:
    described = describe_settings()
    assert [d.key for d in described] == list(SETTINGS)
    assert all(d.about.endswith(".") and d.types for d in described)


def test_every_key_of_a_recipe_is_a_setting_or_explained_by_verl() -> None:
    comments = verl_comments(find_verl())
    for path in FOLDER.glob("*.yaml"):
        file = read_yaml(path)
        leaves = [k for k in file.lines if not any(other.startswith(f"{k}.") for other in file.lines)]
        assert [k for k in leaves if k not in SETTINGS and k not in comments and ".override_config." not in k] == []


def test_verls_defaults_make_sense() -> None:
    defaults, _ = composed(find_verl())
    assert [str(f) for f in check_values(defaults, lambda _: "")] == []


def test_comments_are_those_above_the_key_of_the_file_that_counts() -> None:
    comments = verl_comments(find_verl())
    _, schema = composed(find_verl())
    listed = {p for p in schema.paths(listed=True) if not p.endswith("._target_")}
    assert len(listed & set(comments)) > 700
    assert "Learning rate" in comments["actor_rollout_ref.actor.optim.lr"]
    assert "seed" in comments["data.seed"].lower()


@pytest.mark.parametrize(
    ("field", "types", "default"),
    [
        ("data.train_batch_size", "a whole number", 1024),
        ("model.path", "text", "~/models/deepseek-llm-7b-chat"),
        ("actor_rollout_ref.rollout.multi_turn.format", "text", "hermes"),
        ("trainer.v1.sampler.max_off_policy_threshold", "a whole number", 8),
        ("rewardkit.reward", "null or text", None),
    ],
)
def test_a_key(field: str, types: str, default: Any) -> None:
    described = describe(field)
    assert (described.types, described.default) == (types, default)
    assert described.about or described.verl


def test_a_section_lists_what_is_below() -> None:
    described = describe("actor_rollout_ref.rollout.val_kwargs")
    assert (described.types, set(described.below)) == ("a section", {"top_k", "top_p", "temperature", "n", "do_sample"})


@pytest.mark.parametrize(
    ("field", "says"),
    [
        ("data.train_batch_sise", "did you mean data.train_batch_size?"),
        ("data.chat_template", "rewardkit.chat_template"),
        ("trainer.val_generations_to_log_to_wandb", "trainer.log_val_generations"),
    ],
)
def test_no_such_key(field: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says.replace("?", r"\?")):
        describe(field)


@pytest.mark.verl
def test_choices_are_verls_own() -> None:
    import torch
    import verl.trainer.ppo.v1  # noqa: F401 - registers the trainers
    from verl.trainer.ppo.core_algos import ADV_ESTIMATOR_REGISTRY, kl_penalty_forward
    from verl.trainer.ppo.v1.trainer_base import TRAINER_REGISTRY
    from verl.workers.rollout.replica import RolloutReplicaRegistry

    def choices(key: str) -> set[str]:
        return set(SETTINGS[key].choices)

    assert choices("algorithm.adv_estimator") == set(ADV_ESTIMATOR_REGISTRY)
    assert choices("trainer.v1.trainer_mode") == set(TRAINER_REGISTRY)
    assert choices("actor_rollout_ref.rollout.name") - {"hf_cpu"} == set(RolloutReplicaRegistry._registry) - {"hf_cpu"}
    for name in KL:
        if name != "full":  # verl has the name and no code for it
            kl_penalty_forward(torch.zeros(1, 1), torch.zeros(1, 1), name)
    with pytest.raises(NotImplementedError):
        kl_penalty_forward(torch.zeros(1, 1), torch.zeros(1, 1), "other")
