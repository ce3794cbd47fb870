"""Finding a checkpoint in every way that verl has laid one out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rewardkit.errors import CheckpointError
from trainer_glue.checkpoint.layout import find


def step(run: Path, number: int, ranks: int = 2, role: str = "actor") -> Path:
    folder = run / f"global_step_{number}" / role
    (folder / "huggingface").mkdir(parents=True)
    (folder / "huggingface" / "config.json").write_text("{}")
    for rank in range(ranks):
        (folder / f"model_world_size_{ranks}_rank_{rank}.pt").touch()
    return folder


def test_run_step_and_folder_are_the_same(tmp_path: Path) -> None:
    actor = step(tmp_path, 20)
    (tmp_path / "latest_checkpointed_iteration.txt").write_text("20")
    layouts = [find(path) for path in (tmp_path, actor.parent, actor)]
    assert {layout.folder for layout in layouts} == {actor}
    assert {layout.step for layout in layouts} == {20}
    assert layouts[0].world_size == 2  # without fsdp_config.json, from the names


def test_latest_is_what_verl_names(tmp_path: Path) -> None:
    step(tmp_path, 9)
    step(tmp_path, 10)
    assert find(tmp_path).step == 10
    (tmp_path / "latest_checkpointed_iteration.txt").write_text("9\n")
    assert find(tmp_path).step == 9
    assert find(tmp_path, step=10).step == 10


def test_folder_of_the_launcher(tmp_path: Path) -> None:
    actor = step(tmp_path / "checkpoints", 5)
    (tmp_path / "run.json").write_text(json.dumps({"config": {"actor_rollout_ref.model.path": "a/b"}}))
    layout = find(tmp_path)
    assert layout.folder == actor
    assert layout.run_folder == tmp_path
    assert layout.setting("actor_rollout_ref", "model", "path") == "a/b"
    assert layout.setting("actor_rollout_ref", "model", "other") is None


def test_latest_names_a_step_that_is_gone(tmp_path: Path) -> None:
    step(tmp_path, 3)
    (tmp_path / "latest_checkpointed_iteration.txt").write_text("4")
    with pytest.raises(CheckpointError, match=r"no global_step_4 .*\n  hint: steps that are there: 3"):
        find(tmp_path)


def test_a_step_whose_model_verl_has_removed(tmp_path: Path) -> None:
    step(tmp_path, 3)
    (tmp_path / "global_step_1").mkdir()
    with pytest.raises(CheckpointError, match=r"global_step_1 has no actor any more\n  hint: .*: 3"):
        find(tmp_path, step=1)


def test_latest_is_half_written(tmp_path: Path) -> None:
    step(tmp_path, 3)
    (tmp_path / "latest_checkpointed_iteration.txt").write_text("")
    with pytest.raises(CheckpointError, match="expected a step number"):
        find(tmp_path)


def test_critic(tmp_path: Path) -> None:
    critic = step(tmp_path, 3, role="critic")
    assert find(tmp_path, role="critic").folder == critic
    with pytest.raises(CheckpointError, match="--critic converts the critic"):
        find(tmp_path)


def test_config_beside_the_shards(tmp_path: Path) -> None:
    """As verl 0.4.0 wrote it."""
    actor = step(tmp_path, 3)
    (actor / "huggingface" / "config.json").rename(actor / "config.json")
    assert find(tmp_path).config_folder == actor


def test_files_of_two_world_sizes(tmp_path: Path) -> None:
    actor = step(tmp_path, 3, ranks=2)
    for rank in range(4):
        (actor / f"model_world_size_4_rank_{rank}.pt").touch()
    with pytest.raises(CheckpointError, match="several world sizes"):
        find(tmp_path)
    (actor / "fsdp_config.json").write_text('{"world_size": 4}')
    assert find(tmp_path).world_size == 4
    (actor / "fsdp_config.json").write_text('{"world_size": 8}')
    with pytest.raises(CheckpointError, match=r"says world_size 8; the shard files are of 2 and 4 ranks"):
        find(tmp_path)


@pytest.mark.parametrize("name", ["nothing", "empty"])
def test_nothing_there(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(CheckpointError, match="expected a run|no global_step_N folder"):
        find(tmp_path / name)
