"""The recipes for GPUs, looked at from a machine without any: they fit what they are for."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("verl", reason="needs verl installed: pip install 'rewardkit-rl[verl]'")
pytest.importorskip("pyarrow")

from tests.models import LLAMA_3_8B
from tests.trainer_glue.verl.config.conftest import rows
from trainer_glue.verl.config.recipes import recipe_names
from trainer_glue.verl.preflight.report import diagnose

FOR_CPUS = ("tiny", "small")


@pytest.fixture
def data(tmp_path: Path) -> str:
    """As many rows as GSM8K has for training."""
    import pyarrow
    import pyarrow.parquet

    path = tmp_path / "train.parquet"
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows(7473)), path)
    return str(path)


@pytest.fixture
def diagnosed(tmp_path: Path, data: str, monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, str]]:
    """Code and severity of what the preflight finds in a recipe for Llama-3-8B."""
    monkeypatch.setenv("VERL_PLATFORM", "cpu")
    model = tmp_path / "model"
    model.mkdir()
    (model / "config.json").write_text(json.dumps(LLAMA_3_8B))

    def diagnose_recipe(name: str, *overrides: str) -> dict[str, str]:
        files = (f"model.path={model}", f"data.train_files={data}", f"data.val_files={data}")
        own = None if name.endswith("reward-model") else "gsm8k()"
        report = diagnose(name, [*files, *overrides], reward=own, gpu=80)
        return {f.code: f.severity for f in report.diagnostics if f.code.startswith("RKD")}

    return diagnose_recipe


@pytest.mark.parametrize("name", [name for name in recipe_names() if name not in FOR_CPUS])
def test_a_recipe_fits_what_it_is_for(name: str, diagnosed: Callable[..., dict[str, str]]) -> None:
    assert {c for c in diagnosed(name) if c[3] not in "18"} == set(), "but for packages and this shell's variables"


def test_a_recipe_does_not_fit_what_it_is_not_for(diagnosed: Callable[..., dict[str, str]]) -> None:
    one = ("trainer.n_gpus_per_node=1", "rollout.tensor_model_parallel_size=1")
    assert diagnosed("llama3-8b-gsm8k", *one)["RKD302"] == "error"
