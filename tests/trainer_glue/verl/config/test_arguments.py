"""Configs and rewards as arguments for verl's command line: hydra, given them, composes the same config."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest
from hydra import compose, initialize_config_dir
from hydra.core.override_parser.overrides_parser import OverridesParser
from hypothesis import given
from hypothesis import strategies as st
from omegaconf import OmegaConf
from verl.trainer.ppo.v1.agent_loop_tq import AgentLoopManagerTQ
from verl.utils.import_utils import load_class_from_fqn

from rewardkit.engine.loading import load_reward, reward_from_config
from trainer_glue.verl.config import recipe_names, resolve
from trainer_glue.verl.config.arguments import config_arguments, hydra_value, quoted_lines, reward_arguments
from trainer_glue.verl.config.overrides import _plain
from trainer_glue.verl.launch.command import verl_command
from trainer_glue.verl.launch.folder import RunFolder
from trainer_glue.verl.versions.installed import find_verl

USER_FILE = '''\
from rewardkit import Sample, term

COSTS = {"a": "${not.ours}", 'b': "it's \\\\ here"}


@term(bounds=(0, 1))
def priced(sample: Sample) -> float:
    """Quotes 'of' "both" kinds, a $HOME, a `tick`, a backslash \\\\, ünïcode."""
    return float("${" in sample.response)


reward = priced()
'''


def composed_by_hydra(arguments: list[str]) -> Any:
    with initialize_config_dir(config_dir=str(find_verl().config), version_base=None):
        return compose("ppo_trainer", overrides=arguments)


@pytest.fixture
def rewards(tmp_path: Path) -> dict[str, str]:
    file = tmp_path / "mine.py"
    file.write_text(USER_FILE, encoding="utf-8")
    return {"formula": "length(0.1) + ends_with('.?!', min_words=0)", "name": "gsm8k", "file": str(file)}


@pytest.mark.parametrize("kind", ["formula", "name", "file"])
def test_a_reward_travels_in_the_arguments(kind: str, rewards: dict[str, str]) -> None:
    source = load_reward(rewards[kind])
    pasted = quoted_lines([str(a) for a in reward_arguments(source)])
    arguments = shlex.split(pasted.replace(" \\\n", " "))
    config = OmegaConf.to_container(composed_by_hydra([*arguments, "actor_rollout_ref.model.path=here"]), resolve=False)
    wired = OmegaConf.create(config)
    assert (
        reward_from_config(OmegaConf.to_container(wired.reward.reward_kwargs.rewardkit, resolve=True)) == source.reward
    )
    sampler = wired.trainer.v1.sampler
    assert reward_from_config(OmegaConf.to_container(sampler.sampler_kwargs.rewardkit, resolve=True)) == source.reward
    assert sampler.sampler_kwargs.rewardkit.tokenizer == "here"
    assert (wired.reward.reward_manager.source, wired.reward.reward_manager.name) == ("importlib", "RewardManager")
    assert (sampler.custom_sampler.path, sampler.custom_sampler.name) == ("pkg://trainer_glue.verl", "ReplayBuffer")
    agent_loop = wired.actor_rollout_ref.rollout.agent.agent_loop_manager_class
    assert load_class_from_fqn(agent_loop).__mro__[1] is AgentLoopManagerTQ


@pytest.mark.parametrize("accelerator", [True, pytest.param(False, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", recipe_names())
def test_the_command_by_hand_is_the_same_run(name: str, accelerator: bool, tmp_path: Path) -> None:
    dapo = ["algorithm.filter_groups.metric=gsm8k"] if "dapo" in name else []
    resolved = resolve(name, ["data.train_files=a.parquet", "model.path=org/m", *dapo], reward="gsm8k()", dry_run=True,
                       accelerator=accelerator)  # fmt: skip
    verl = verl_command(resolved, RunFolder(tmp_path, tmp_path / "checkpoints"))
    words = shlex.split(verl.by_hand().replace(" \\\n", " "))
    start = words.index("verl.trainer.main_ppo")
    assert words[start - 2 : start] == ["python", "-m"]
    assert set(words[: start - 2]) == {f"{k}={v}" for k, v in verl.variables.items()}
    arguments = [w for w in words[start + 1 :] if not w.startswith("hydra")]
    composed = OmegaConf.to_container(composed_by_hydra(arguments), resolve=True)
    assert composed == verl.config


def test_groups_come_first(tmp_path: Path) -> None:
    group, path = "model_engine=megatron", tmp_path / "large.yaml"
    path.write_text(
        "actor_rollout_ref:\n  model: {path: org/m}\n  actor: {strategy: megatron, use_dynamic_bsz: true}\n"
        "  rollout: {name: vllm, n: 4}\nalgorithm: {adv_estimator: grpo}\ndata: {train_files: a.parquet}\n"
    )
    resolved = resolve(path, [group], reward="gsm8k()", dry_run=True, accelerator=True)
    assert resolved.groups == (group,)
    wanted = OmegaConf.to_container(resolved.unfilled(), resolve=False)
    assert isinstance(wanted, dict)
    arguments = config_arguments({str(k): v for k, v in wanted.items()}, resolved.groups)
    assert arguments[0] == group
    assert OmegaConf.to_container(composed_by_hydra(arguments), resolve=False) == wanted


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text("$\\{}ab'\"\n #,:[]=e1é~", max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b_c"]), inner, max_size=2),
    max_leaves=5,
)


@given(VALUES)
def test_a_value_is_read_back_by_hydra(value: Any) -> None:
    override = OverridesParser.create().parse_override(f"key={hydra_value(value)}")
    assert _plain(override.value()) == value
