"""Loggers: the user's own go to verl beside ours, and what they write stays below the run's folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from trainer_glue.verl.launch.plan import make_plan

pytest.importorskip("verl", reason="needs verl installed: pip install 'rewardkit-rl[verl]'")


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TENSORBOARD_DIR", "WANDB_DIR", "MLFLOW_TRACKING_URI"):
        monkeypatch.delenv(name, raising=False)


def variables(folder: Path, loggers: str) -> dict[str, str]:
    plan = make_plan("tiny", [f"trainer.logger={loggers}"], reward=None, out=folder / "run", dry_run=True)
    assert set(plan.verl.config["trainer"]["logger"]) >= {"console", "file"}
    names = ("TENSORBOARD_DIR", "WANDB_DIR", "MLFLOW_TRACKING_URI")
    return {name: plan.verl.variables[name] for name in names if name in plan.verl.variables}


@pytest.mark.parametrize(
    ("logger", "variable", "value"),
    [
        ("tensorboard", "TENSORBOARD_DIR", "{}/run/tensorboard"),
        ("wandb", "WANDB_DIR", "{}/run"),
        ("mlflow", "MLFLOW_TRACKING_URI", "sqlite:///{}/run/mlflow.db"),
    ],
)
def test_files_of_a_logger_stay_in_the_runs_folder(tmp_path: Path, logger: str, variable: str, value: str) -> None:
    assert variables(tmp_path, f"[{logger}]") == {variable: value.format(tmp_path)}
    assert variables(tmp_path, logger) == {variable: value.format(tmp_path)}


def test_a_logger_that_is_not_used_needs_no_variable(tmp_path: Path) -> None:
    assert variables(tmp_path, "[console]") == {}


def test_what_the_user_has_set_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "https://mlflow.example")
    assert variables(tmp_path, "[mlflow]") == {}
