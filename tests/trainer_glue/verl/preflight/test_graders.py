"""Models that grade: what the formula asks, and what verl is to serve."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("httpx")

from tests.models import LLAMA_3_8B
from tests.servers import Server
from tests.trainer_glue.verl.preflight.runs import Packages, found, subject
from trainer_glue.verl.preflight.graders import grader_lines

RM = "reward__reward_model"
FORMULA = "gsm8k() + 0.2 * reward_model(low=-1, high=1)"


def codes(**changes: Any) -> list[str]:
    return [one.code for one in found(**changes)]


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REWARDKIT_ENDPOINTS", raising=False)


@pytest.fixture
def server() -> Iterator[Server]:
    started = Server()
    yield started
    started.close()


def model(folder: Path, *, template: bool = True, **changes: Any) -> str:
    folder.mkdir()
    one = {"architectures": ["LlamaForSequenceClassification"], "id2label": {"0": "LABEL_0"}}
    (folder / "config.json").write_text(json.dumps({**LLAMA_3_8B, **one, **changes}))
    if template:
        (folder / "chat_template.jinja").write_text("{{ messages }}")
    return str(folder)


def served(path: str | None, **changes: Any) -> dict[str, Any]:
    usual = {
        "enable": True, "enable_resource_pool": True, "n_gpus_per_node": 1, "nnodes": 1, "model_path": path,
        "rollout__name": "vllm", "rollout__dtype": "bfloat16", "rollout__tensor_model_parallel_size": 1,
        "rollout__gpu_memory_utilization": 0.5,
    }  # fmt: skip
    return {f"{RM}__{key}": value for key, value in {**usual, **changes}.items()}


def test_a_reward_model_on_a_gpu_of_its_own_has_no_diagnostics(tmp_path: Path) -> None:
    run = {"reward": FORMULA, "machine": Packages(gpus=9), **served(model(tmp_path / "rm"))}
    assert codes(**run) == []
    assert grader_lines(subject(**run)) == ["reward model on 1 GPU of its own: 14.0 GiB of weights on each, of 50%"]
    assert grader_lines(subject()) == []


def test_gpus_are_counted_together(tmp_path: Path) -> None:
    (one,) = found(reward=FORMULA, **served(model(tmp_path / "rm")))
    assert (one.code, one.severity) == ("RKD207", "error")
    assert "trainer.n_gpus_per_node=7" in (one.hint or "")


FAULTS: list[tuple[dict[str, Any], dict[str, Any], str, str]] = [
    ({}, {"rollout__gpu_memory_utilization": 0.1}, "RKD311", "gpu_memory_utilization=0.21"),
    ({}, {"rollout__tensor_model_parallel_size": 2}, "RKD311", "tensor_model_parallel_size=1"),
    ({"template": False}, {}, "RKD708", "chat_template"),
    ({"id2label": {"0": "a", "1": "b"}}, {}, "RKD708", "has 2 outputs"),
    ({"architectures": ["LlamaForCausalLM"]}, {}, "RKD708", "judge(base_url='verl')"),
]


@pytest.mark.parametrize(("of_model", "of_config", "code", "says"), FAULTS)
def test_what_verl_could_not_serve(tmp_path: Path, of_model: Any, of_config: Any, code: str, says: str) -> None:
    run = served(model(tmp_path / "rm", **of_model), **of_config)
    (one,) = found(reward=FORMULA, machine=Packages(gpus=9), **run)
    assert (one.code, one.severity) == (code, "error")
    assert says in f"{one.message} {one.hint}"


def test_a_model_that_nobody_asks_and_one_that_nobody_serves(tmp_path: Path) -> None:
    path = model(tmp_path / "rm")
    assert codes(machine=Packages(gpus=9), **served(path)) == ["RKD707"]
    assert codes(reward=FORMULA) == ["RKD708"]
    assert codes(reward=FORMULA, machine=Packages(gpus=9), **served(None)) == ["RKD708"]
    grouped = "gsm8k() + 0.2 * reward_model(low=0, high=1) + 0.2 * group_judge(model='m', base_url='verl')"
    assert codes(reward=grouped, machine=Packages(gpus=9), **served(path)) == ["RKD708"]


def test_servers_are_looked_for(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    formula = "gsm8k() + 0.5 * judge(model='m', base_url='grader')"
    assert codes(reward=formula) == ["RKD705"]
    monkeypatch.setenv("REWARDKIT_ENDPOINTS", f"grader={server.url}")
    assert codes(reward=formula) == []
    by_url = f"gsm8k() + 0.5 * judge(model='m', base_url={server.url!r})"
    assert codes(reward=by_url) == []
    server.close()
    assert codes(reward=formula) == codes(reward=by_url) == ["RKD706"]
    assert codes(reward=formula, present=False) == [], "the run is elsewhere"
