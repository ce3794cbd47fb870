"""What a good config resolves to: what wins over what, and what rewardkit puts in."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from omegaconf import OmegaConf

from rewardkit.engine.loading import load_reward, reward_from_config
from tests.profiles import examples
from trainer_glue.verl.config import ConfigErrors, resolve
from trainer_glue.verl.config.diagnostics import ConfigDiagnostic
from trainer_glue.verl.config.wiring import escaped

Good = Callable[..., Path]


def test_the_file_goes_over_verls_defaults_and_the_command_line_over_the_file(good: Good) -> None:
    config = resolve(good(data="max_prompt_length: 99"), ["data.train_batch_size=16"], accelerator=True).config
    assert config["data"]["train_batch_size"] == 16
    assert config["data"]["max_prompt_length"] == 99
    assert config["data"]["truncation"] == "error"
    assert config["actor_rollout_ref"]["rollout"]["prompt_length"] == 99, "interpolations are filled in"


def test_the_reward_is_wired_in(good: Good) -> None:
    resolved = resolve(good(), accelerator=True)
    reward, sampler = resolved.config["reward"], resolved.config["trainer"]["v1"]["sampler"]
    assert reward["reward_manager"]["source"] == "importlib"
    assert reward["reward_manager"]["name"] == "RewardManager"
    assert reward["reward_manager"]["module"]["path"] == "pkg://trainer_glue.verl"
    assert sampler["custom_sampler"] == {"path": "pkg://trainer_glue.verl", "name": "ReplayBuffer"}
    assert reward_from_config(reward["reward_kwargs"]["rewardkit"]) == resolved.reward.reward
    assert reward_from_config(sampler["sampler_kwargs"]["rewardkit"]) == resolved.reward.reward


SERVED = ["reward.reward_model.enable=true", "reward.reward_model.rollout.name=vllm"]
POOL = ["enable_resource_pool=true", "n_gpus_per_node=1", "nnodes=1"]


def test_beside_a_reward_model_verl_is_made_to_ask_the_formula(good: Good) -> None:
    served = [*SERVED, *(f"reward.reward_model.{line}" for line in POOL)]
    resolved = resolve(good(), served, accelerator=True)
    assert resolved.config["reward"]["custom_reward_function"]["path"] == "pkg://trainer_glue.verl.reward_model"
    with pytest.raises(ConfigErrors) as raised:
        resolve(good(), SERVED, accelerator=True)
    assert [(e.code, e.key) for e in raised.value.errors] == [("bypass", "reward.reward_model.enable_resource_pool")]
    assert "reward.reward_model.nnodes=1" in (raised.value.errors[0].hint or "")
    without = resolve(good(), accelerator=True)
    assert without.config["reward"]["custom_reward_function"]["path"] is None


def test_what_is_set_beside_the_reward_stays(good: Good) -> None:
    manager, sampler = "reward.reward_kwargs.rewardkit", "trainer.v1.sampler.sampler_kwargs.rewardkit"
    config = resolve(good(), [f"{manager}.deadline=60", f"{sampler}.unscored_limit=0.5"], accelerator=True).config
    assert config["reward"]["reward_kwargs"]["rewardkit"]["deadline"] == 60
    assert config["trainer"]["v1"]["sampler"]["sampler_kwargs"]["rewardkit"]["unscored_limit"] == 0.5


def test_the_callers_reward_wins_over_the_files(good: Good) -> None:
    assert resolve(good(), accelerator=True, reward="length(0.5)").reward.formula == "length(0.5)"
    assert resolve(good(), accelerator=True, reward=load_reward("length(0.5)")).reward.formula == "length(0.5)"
    assert resolve(good(), ["rewardkit.reward='length(0.5)'"], accelerator=True).reward.formula == "length(0.5)"


def test_short_names_and_new_keys(good: Good) -> None:
    overrides = [
        "rollout.n=2",
        "+ray_kwargs.ray_init.address=auto",
        "+model.override_config.attn_implementation=sdpa",
        "+data.mine=[1,'two',{three: 3}]",
        "~trainer.default_hdfs_dir",
        "trainer.logger=[console,tensorboard]",
    ]
    config = resolve(good(), overrides, accelerator=True).config
    assert config["actor_rollout_ref"]["rollout"]["n"] == 2
    assert config["actor_rollout_ref"]["actor"]["rollout_n"] == 2
    assert config["ray_kwargs"]["ray_init"]["address"] == "auto"
    assert config["actor_rollout_ref"]["model"]["override_config"] == {"attn_implementation": "sdpa"}
    assert config["data"]["mine"] == [1, "two", {"three": 3}]
    assert "default_hdfs_dir" not in config["trainer"]
    assert config["trainer"]["logger"] == ["console", "tensorboard"]


def test_a_config_group_can_be_chosen(good: Good) -> None:
    overrides = ["actor@actor_rollout_ref.actor=megatron_actor"]
    assert resolve(good(), overrides, accelerator=True).config["actor_rollout_ref"]["actor"]["strategy"] == "megatron"


def test_keys_of_a_sections_dataclass_are_known_though_absent_from_verls_yaml(good: Good) -> None:
    path = good(rollout="repetition_penalty: 1.1\nagent: {agent_loop_manager_class: a.B}")
    rollout = resolve(path, accelerator=True).config["actor_rollout_ref"]["rollout"]
    assert rollout["repetition_penalty"] == 1.1


def test_hydra_blocks_of_a_file_made_for_verl_are_left_alone(good: Good) -> None:
    extra = "hydra:\n  searchpath: [pkg://verl.trainer.config]\ndefaults: [ppo_trainer, _self_]\n"
    assert resolve(good(extra), accelerator=True).diagnostics == ()


def test_what_is_written_out_resolves_to_itself(good: Good, tmp_path: Path) -> None:
    first = resolve(good(), accelerator=True)
    again = tmp_path / "again.yaml"
    again.write_text(OmegaConf.to_yaml(first.unfilled()))
    second = resolve(again, accelerator=True)
    assert second.config == first.config
    assert second.reward.fingerprint == first.reward.fingerprint


def test_what_is_written_out_keeps_its_interpolations(good: Good) -> None:
    text = OmegaConf.to_yaml(resolve(good(), accelerator=True).unfilled())
    assert yaml.safe_load(text)["actor_rollout_ref"]["actor"]["rollout_n"].startswith("${")
    OmegaConf.to_container(OmegaConf.create(text), resolve=True)


@settings(examples(0.5), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(alphabet="$\\{}ab'\"\n", max_size=12))
def test_an_escaped_text_is_read_as_it_was(text: str) -> None:
    assert OmegaConf.to_container(OmegaConf.create({"a": escaped(text)}), resolve=True) == {"a": text}


def test_a_reward_file_with_dollars_in_it_travels(good: Good, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "from rewardkit import Sample, term\n\n"
        "@term(bounds=(0, 1))\n"
        "def priced(sample: Sample) -> float:\n"
        "    return float('${' in sample.response)\n\n"
        "reward = priced()\n"
    )
    resolved = resolve(good(), accelerator=True, reward=str(file))
    plain = OmegaConf.to_container(resolved.unfilled(), resolve=True)
    assert isinstance(plain, dict)
    assert plain["reward"]["reward_kwargs"]["rewardkit"]["source"] == file.read_text()
    again = tmp_path / "again.yaml"
    again.write_text(OmegaConf.to_yaml(resolved.unfilled()))
    assert resolve(again, accelerator=True).reward.fingerprint == resolved.reward.fingerprint


def test_the_seed_and_the_ranks(good: Good) -> None:
    resolved = resolve(good(), ["data.seed=7"], accelerator=True, ranks=2)
    assert (resolved.seed, resolved.ranks) == (7, 2)
    assert resolved.config["trainer"]["n_gpus_per_node"] == 2
    assert resolve(good(), accelerator=True).seed == 42


def test_out_is_where_checkpoints_go(good: Good, tmp_path: Path) -> None:
    resolved = resolve(good(), accelerator=True, out=tmp_path / "run")
    assert resolved.out == tmp_path / "run"


def test_without_an_accelerator_the_cpus_keys_go_over_the_file_and_say_so(good: Good) -> None:
    resolved = resolve(good(), accelerator=False)
    assert not resolved.accelerator
    assert resolved.config["actor_rollout_ref"]["rollout"]["name"] == "hf_cpu"
    assert resolved.config["trainer"]["device"] == "cpu"
    assert [f.key for f in resolved.diagnostics if f.code == "cpu"] == ["actor_rollout_ref.rollout.name"]


def test_the_command_line_goes_over_the_cpus_keys(good: Good) -> None:
    config = resolve(good(), ["rollout.name=vllm"], accelerator=False).config
    assert config["actor_rollout_ref"]["rollout"]["name"] == "vllm"


def test_a_config_for_gpus_is_refused_without_and_shown_in_a_dry_run(good: Good) -> None:
    path = good(trainer="nnodes: 2")
    with pytest.raises(ConfigErrors) as raised:
        resolve(path, accelerator=False)
    assert [f.code for f in raised.value.errors] == ["no-accelerator"]
    shown = resolve(path, accelerator=False, dry_run=True)
    assert shown.accelerator
    assert shown.config["actor_rollout_ref"]["rollout"]["name"] == "vllm"
    assert [f.code for f in shown.diagnostics] == ["no-accelerator"]


def test_a_dry_run_only_warns_of_files_that_are_missing(good: Good) -> None:
    overrides = ["data.train_files=/nowhere.parquet", "model.path=/nowhere"]
    diagnostics = resolve(good(), overrides, accelerator=True, dry_run=True).diagnostics
    assert {(f.code, f.severity) for f in diagnostics} == {("missing-file", "warning"), ("missing-model", "warning")}


def test_training_files_stand_in_for_validation_files(good: Good) -> None:
    path = good()
    path.write_text("".join(x for x in path.read_text().splitlines(keepends=True) if "val_files" not in x))
    resolved = resolve(path, accelerator=True)
    assert resolved.config["data"]["val_files"] == resolved.config["data"]["train_files"]
    assert [f.code for f in resolved.diagnostics] == ["no-validation"]


def test_a_chat_template_goes_to_a_tokenizer_without_one_only(good: Good, model: Path) -> None:
    path = good(rewardkit="chat_template: llama-3")
    kept = resolve(path, accelerator=True)
    assert kept.config["actor_rollout_ref"]["model"]["custom_chat_template"] is None
    assert [f.code for f in kept.diagnostics] == ["own-template"]
    (model / "chat_template.jinja").unlink()
    applied = resolve(path, accelerator=True)
    assert "<|eot_id|>" in applied.config["actor_rollout_ref"]["model"]["custom_chat_template"]
    with pytest.raises(ConfigErrors, match="no chat template"):
        resolve(good(), accelerator=True)


def test_asynchronous_modes_get_the_asynchronous_sampler(good: Good) -> None:
    path = good(trainer="v1: {trainer_mode: colocate_async}")
    sampler = resolve(path, accelerator=True).config["trainer"]["v1"]["sampler"]["custom_sampler"]
    assert sampler["name"] == "ReplayBufferAsync"


def test_verls_default_manager_spelled_out_is_replaced(good: Good) -> None:
    resolved = resolve(good("reward: {reward_manager: {source: register, name: naive}}\n"), accelerator=True)
    assert resolved.config["reward"]["reward_manager"]["name"] == "RewardManager"
    assert resolved.diagnostics == ()


def test_the_reward_loop_is_told_whose_tokens_are_whose_but_by_a_manager_of_the_users_own(good: Good) -> None:
    def agent_loop(path: Path) -> str:
        rollout = resolve(path, accelerator=True).config["actor_rollout_ref"]["rollout"]
        return str(rollout["agent"]["agent_loop_manager_class"])

    assert agent_loop(good()) == "trainer_glue.verl.AgentLoopManager"
    key = "actor_rollout_ref.rollout.agent.agent_loop_manager_class"
    resolved = resolve(good(), [f"{key}=mine.Manager"], accelerator=True)
    assert resolved.config["actor_rollout_ref"]["rollout"]["agent"]["agent_loop_manager_class"] == "mine.Manager"


def test_a_sampler_of_the_users_own_is_kept_with_a_warning(good: Good) -> None:
    path = good(trainer="v1: {sampler: {custom_sampler: {path: 'pkg://mine', name: Mine}}}")
    resolved = resolve(path, accelerator=True)
    assert resolved.config["trainer"]["v1"]["sampler"]["custom_sampler"]["name"] == "Mine"
    assert {f.code for f in resolved.diagnostics} == {"sampler"}


def test_warnings_don_t_stop_a_run(good: Good) -> None:
    path = good(actor="optim: {warmup_style: cosine}", trainer="use_v1: false")
    codes = {f.code for f in resolve(path, accelerator=True).diagnostics}
    assert codes == {"dead-key", "old-trainer"}


def test_neither_verl_nor_torch_is_imported_and_it_takes_seconds() -> None:
    code = (
        "import sys\n"
        "from trainer_glue.verl.config import resolve\n"
        "resolve('tiny', accelerator=False)\n"
        "print([m for m in ('verl', 'torch', 'ray', 'transformers') if m in sys.modules])\n"
    )
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 5, "CPU seconds, imports included"


def test_verl_missing_or_untested_is_one_of_the_diagnostics(good: Good, monkeypatch: pytest.MonkeyPatch) -> None:
    path = good(rewardkit="reward: lenght(0.1)")
    monkeypatch.setattr("importlib.metadata.version", lambda _: "0.8.0")
    with pytest.raises(ConfigErrors) as raised:
        resolve(path, accelerator=True)
    assert [f.code for f in raised.value.errors] == ["verl", "reward"]
    assert "verl 0.8.0 is installed; tested are 0.9.1" in str(raised.value)
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(ConfigErrors, match=r"verl is not installed.*\n.*pip install 'rewardkit-rl\[verl\]'"):
        resolve(path, accelerator=True)


def test_errors_survive_a_process_boundary() -> None:
    import copy

    wrong = ConfigDiagnostic("unknown-key", "verl has no such key", "a.yaml:3", "did you mean y?", key="data.x")
    error = ConfigErrors([wrong])
    again = copy.copy(error)  # by __reduce__, as pickle does
    assert again.errors == error.errors
    assert str(again) == str(error)
