"""Planted faults: each is found, under the right key, with where it stands and what to do; and all of them at once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from trainer_glue.verl.config import ConfigDiagnostic, ConfigErrors, resolve

Good = Callable[..., Path]


def errors(path: Path | str | None, *overrides: str, **options: object) -> tuple[ConfigDiagnostic, ...]:
    with pytest.raises(ConfigErrors) as raised:
        resolve(path, overrides, accelerator=True, **options)  # type: ignore[arg-type]
    return raised.value.errors


YAML_FAULTS = [
    # section, line of YAML, code, key, what the message or hint says
    ("data", "train_batch_sise: 8", "unknown-key", "data.train_batch_sise", "did you mean data.train_batch_size?"),
    ("data", "rollout_n: 8", "unknown-key", "data.rollout_n", ""),
    ("data", "max_prompt_length: long", "wrong-type", "data.max_prompt_length", "is 'long'; expected a whole number"),
    ("data", "shuffle: 'true'", "wrong-type", "data.shuffle", "without the quotes"),
    ("data", "chat_template: llama-3", "dead-key", "data.chat_template", "rewardkit.chat_template: llama-3"),
    ("data", "max_response_length: 0", "batch-size", "data.max_response_length", "at least 1"),
    ("trainer", "total_epoch: 1", "unknown-key", "trainer.total_epoch", "did you mean trainer.total_epochs?"),
    ("trainer", "save_freq: null", "wrong-type", "trainer.save_freq", "is null; expected a whole number"),
    ("trainer", "total_epochs: 1.5", "wrong-type", "trainer.total_epochs", "is 1.5"),
    ("trainer", "v1: sync", "wrong-type", "trainer.v1", "expected a section"),
    ("trainer", "logger: true", "wrong-type", "trainer.logger", "expected a list or text"),
    (
        "model",
        "lr: 1e-6",
        "unknown-key",
        "actor_rollout_ref.model.lr",
        "did you mean actor_rollout_ref.actor.optim.lr?",
    ),
    ("model", "use_remove_padding: 1", "wrong-type", "actor_rollout_ref.model.use_remove_padding", "true or false"),
    ("actor", "optim: {lr: fast}", "wrong-type", "actor_rollout_ref.actor.optim.lr", "is 'fast'; expected a number"),
    ("actor", "kl_loss: true", "unknown-key", "actor_rollout_ref.actor.kl_loss", "use_kl_loss"),
    (
        "actor",
        "checkpoint: {contents: [model]}",
        "dead-key",
        "actor_rollout_ref.actor.checkpoint.contents",
        "save_cont",
    ),
    ("actor", "use_kl_loss: true", "micro-batch-size", "actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu", ""),
    ("rollout", "load_format: dummy_dtensor", "dead-key", "actor_rollout_ref.rollout.load_format", "set dummy"),
    ("rollout", "mode: sync", "dead-key", "actor_rollout_ref.rollout.mode", "removed"),
    ("rollout", "temprature: 1", "unknown-key", "actor_rollout_ref.rollout.temprature", "rollout.temperature?"),
    (
        "algorithm",
        "filter_groups: {enable: true, metric: acc}",
        "wrong-value",
        "algorithm.filter_groups.metric",
        "one of",
    ),
    ("algorithm", "kl_coef: 0.1", "unknown-key", "algorithm.kl_coef", "did you mean algorithm.kl_ctrl.kl_coef?"),
    ("rewardkit", "rewards: length(0.1)", "unknown-key", "rewardkit.rewards", "did you mean rewardkit.reward?"),
    ("rewardkit", "reward: lenght(0.1)", "reward", "rewardkit.reward", "did you mean 'length'?"),
    ("rewardkit", "reward: 3", "wrong-type", "rewardkit.reward", "expected null or text"),
    ("rewardkit", "chat_template: llama3", "unknown-template", "rewardkit.chat_template", "'llama-3'"),
    ("rewardkit", "assets: big", "assets", "rewardkit.assets", "expected tiny"),
    ("", "custom_reward_function: {path: a.py}", "dead-key", "custom_reward_function.path", "rewardkit.reward"),
    ("", "reward_model: {reward_manager: dapo}", "dead-key", "reward_model.reward_manager", "rewardkit.reward"),
    ("", "reward_manager: custom", "dead-key", "reward_manager", "rewardkit.reward"),
    ("", "critic: null", "wrong-type", "critic", "leave the section out"),
    ("", "reward: {custom_reward_function: {path: a.py}}", "two-rewards", "reward.custom_reward_function.path", ""),
    ("", "reward: {reward_manager: {name: dapo}}", "two-rewards", "reward.reward_manager.name", "leave it out"),
    ("", "actor_rolout_ref: {}", "unknown-key", "actor_rolout_ref", "did you mean actor_rollout_ref?"),
    ("", "data.train_files: a", "unknown-key", "data.train_files", "nest it: data: {train_files:"),
    ("", "defaults: [ppo_megatron_trainer]", "defaults", "defaults", "ppo_megatron_trainer"),
]


@pytest.mark.parametrize(("section", "line", "code", "key", "says"), YAML_FAULTS, ids=[f[1] for f in YAML_FAULTS])
def test_a_fault_in_the_file(section: str, line: str, code: str, key: str, says: str, good: Good) -> None:
    extra = f"{line}\n" if not section else ""
    path = good(extra, **({section: line} if section else {}))
    (diagnostic,) = errors(path)
    assert (diagnostic.code, diagnostic.key) == (code, key)
    assert says in str(diagnostic)
    if code != "micro-batch-size":  # that one is about a key that is missing
        lines = path.read_text().splitlines()
        assert diagnostic.where == f"{path}:{lines.index(next(x for x in lines if x.endswith(line))) + 1}"


def test_all_faults_are_found_in_one_pass(good: Good) -> None:
    planted = [
        f for f in YAML_FAULTS if f[1] not in ("rewardkit", "reward: 3", "rewards: length(0.1)", "use_kl_loss: true")
    ]
    # one of each pair that sets the same key, or the section of the other; a metric is a name of a reward that is read
    again = ("reward: {reward_manager: {name: dapo}}", "kl_loss: true", "filter_groups: {enable: true, metric: acc}")
    planted = [f for f in planted if f[1] not in again]
    sections: dict[str, str] = {}
    for section, line, *_ in planted:
        sections[section] = sections.get(section, "") + f"{line}\n"
    codes = {(f.code, f.key) for f in errors(good(sections.pop(""), **sections))}
    assert {(code, key) for _, _, code, key, _ in planted} - codes == set()
    assert len(planted) >= 30


OVERRIDE_FAULTS = [
    ("rollout.nn=3", "unknown-key", "actor_rollout_ref.rollout.nn", "did you mean actor_rollout_ref.rollout.n?"),
    ("trainer.total_epochs=x", "wrong-type", "trainer.total_epochs", "expected a whole number"),
    ("+actor_rollout_ref.actor.nothing=1", "unknown-key", "actor_rollout_ref.actor.nothing", ""),
    ("~data.nothing", "unknown-key", "data.nothing", ""),
    ("data.train_batch_size=[1", "bad-override", "data.train_batch_size", "quotes"),
    ("trainer.total_epochs", "bad-override", "trainer.total_epochs", "neither key=value nor ~key"),
    ("trainer.total_epochs=1,2", "bad-override", "trainer.total_epochs", "a list is written [a,b]"),
    ("custom_reward_function.path=a.py", "dead-key", "custom_reward_function.path", "rewardkit.reward"),
    ("actor.ppo_mini_batch_size=16", "batch-size", "actor_rollout_ref.actor.ppo_mini_batch_size", "more than"),
    ("data.train_batch_size=128", "batch-size", "data.train_batch_size", "64 rows: an epoch would have no step"),
    ("data.train_max_samples=4", "batch-size", "data.train_batch_size", "4 rows"),
    ("trainer.n_gpus_per_node=3", "batch-size", "actor_rollout_ref.actor.ppo_mini_batch_size", "3 ranks"),
    (
        "rollout.tensor_model_parallel_size=2",
        "parallel-size",
        "actor_rollout_ref.rollout.tensor_model_parallel_size",
        "",
    ),
    ("rollout.name=null", "required", "actor_rollout_ref.rollout.name", "vllm"),
    ("data.train_files=/nowhere.parquet", "missing-file", "data.train_files", "no file /nowhere.parquet"),
    ("model.path=/nowhere", "missing-model", "actor_rollout_ref.model.path", "no folder /nowhere"),
    ("algorithm.adv_estimator=gae", "required", "critic.model.path", "is not set"),
    ("trainer.project_name='${nowhere}'", "interpolation", "trainer.project_name", "nowhere"),
    ("actor@actor_rollout_ref.actor=nothing", "config-group", "actor@actor_rollout_ref.actor=nothing", "nothing"),
    ("rewardkit.reward=length(", "reward", "rewardkit.reward", ""),
]


@pytest.mark.parametrize(("override", "code", "key", "says"), OVERRIDE_FAULTS, ids=[f[0] for f in OVERRIDE_FAULTS])
def test_a_fault_on_the_command_line(override: str, code: str, key: str, says: str, good: Good) -> None:
    diagnostic = next(f for f in errors(good(), override) if f.key == key)
    assert diagnostic.code == code
    assert says in str(diagnostic)


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("tinny", "did you mean 'tiny'?"),
        ("nowhere.yaml", "the config file nowhere.yaml does not exist"),
        ("some/folder", "does not exist"),
    ],
)
def test_a_config_that_is_none(source: str, says: str) -> None:
    (only,) = errors(source)
    assert only.code == "missing-config"
    assert says in str(only)


def test_a_file_that_is_no_yaml(tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text("data:\n  train_files: a\n reward_manager:\n")
    diagnostic = next(f for f in errors(path) if f.code == "yaml-syntax")
    assert diagnostic.where == f"{path}:3"


def test_the_reward_of_the_call_is_loaded_with_the_rest(good: Good) -> None:
    diagnostics = errors(good(data="shufle: true"), reward="no_such_reward")
    assert {f.code for f in diagnostics} == {"unknown-key", "reward"}


def test_no_reward_at_all(good: Good) -> None:
    path = good()
    path.write_text(path.read_text().replace("  reward: length(0.1, cap=1) + gsm8k()\n", "  chat_template: null\n"))
    (diagnostic,) = errors(path)
    assert (diagnostic.code, diagnostic.key) == ("no-reward", "rewardkit.reward")
    assert "--reward" in str(diagnostic)
