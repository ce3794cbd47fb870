"""A model folder and data files that the config's checks accept, and a way to plant faults in them."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("verl", reason="verl is not installed")
pytest.importorskip("pyarrow")

import omegaconf

from trainer_glue.verl.config.ask_verl import ask


@pytest.fixture(scope="session", autouse=True)
def parsed_once() -> Iterator[None]:
    """OmegaConf parses each interpolation of verl's config anew for each config: here the same ones once."""
    with pytest.MonkeyPatch.context() as patched:
        parse = functools.cache(omegaconf.grammar_parser.parse)
        for module in (omegaconf.base, omegaconf._utils):
            patched.setattr(module, "parse", parse)
        yield


class VerlHere:
    """Stands for the process of `ask_verl`: importing verl once more takes seconds, and this process has it."""

    def __init__(self, command: list[str], **_: Any) -> None:
        assert command[-1] == "trainer_glue.verl.config.ask_verl"

    def communicate(self, config: str, timeout: float) -> tuple[str, str]:
        self.returncode = 0
        return json.dumps(ask(json.loads(config))), ""

    def kill(self) -> None:
        pass

    def __enter__(self) -> VerlHere:
        return self

    def __exit__(self, *_: object) -> None:
        pass


@pytest.fixture
def verl_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """verl's own checks are asked in this process; `test_a_good_config` starts the real one."""
    monkeypatch.setattr("subprocess.Popen", VerlHere)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"model_type": "llama"}))
    (folder / "tokenizer.json").write_text("{}")
    (folder / "tokenizer_config.json").write_text("{}")
    (folder / "chat_template.jinja").write_text("{{ messages }}")
    (folder / "model.safetensors").write_bytes(b"")
    return folder


def rows(count: int = 64, **changes: Any) -> list[dict[str, Any]]:
    row = {
        "data_source": "mine",
        "prompt": [{"role": "user", "content": "1 + 1?"}],
        "reward_model": {"style": "rule", "ground_truth": "2"},
        "extra_info": {"index": 0},
    }
    row.update(changes)
    return [{k: v for k, v in row.items() if v is not ...}] * count


@pytest.fixture
def write_data(tmp_path: Path) -> Callable[..., Path]:
    """Write a parquet of rows; a keyword changes a column, `...` leaves it out."""
    import pyarrow
    import pyarrow.parquet

    def write(name: str = "data.parquet", count: int = 64, **changes: Any) -> Path:
        path = tmp_path / name
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows(count, **changes)), path)
        return path

    return write


@pytest.fixture
def good(model: Path, write_data: Callable[..., Path], tmp_path: Path) -> Callable[..., Path]:
    """A config file that resolves; keywords are lines of YAML put after the section that they name."""
    data = write_data()

    def write(extra: str = "", **sections: str) -> Path:
        def more(name: str, indent: int) -> str:
            return "".join(f"{' ' * indent}{line}\n" for line in sections.get(name, "").splitlines())

        text = (
            "rewardkit:\n"
            + ("" if "reward:" in sections.get("rewardkit", "") else "  reward: length(0.1, cap=1) + gsm8k()\n")
            + more("rewardkit", 2)
            + f"data:\n  train_files: {data}\n  val_files: {data}\n  train_batch_size: 8\n"
            + more("data", 2)
            + f"actor_rollout_ref:\n  model:\n    path: {model}\n"
            + more("model", 4)
            + "  actor:\n    ppo_mini_batch_size: 8\n    ppo_micro_batch_size_per_gpu: 4\n"
            + more("actor", 4)
            + "  rollout:\n    name: vllm\n    n: 4\n    tensor_model_parallel_size: 1\n"
            + "    log_prob_micro_batch_size_per_gpu: 4\n"
            + more("rollout", 4)
            + "algorithm:\n  adv_estimator: grpo\n"
            + more("algorithm", 2)
            + "trainer:\n  n_gpus_per_node: 1\n"
            + more("trainer", 2)
            + extra
        )
        path = tmp_path / "config.yaml"
        path.write_text(text)
        return path

    return write
