"""Installed packages against the model and against what verl was released with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.models import LLAMA_3_8B
from tests.trainer_glue.verl.preflight.runs import Packages, found
from trainer_glue.verl.preflight import versions
from trainer_glue.verl.preflight.machine import Gpu, Machine, _visible
from trainer_glue.verl.preflight.versions import architectures, model_types, released_with


@pytest.fixture
def vllm(tmp_path: Path) -> Path:
    folder = tmp_path / "vllm" / "model_executor" / "models"
    folder.mkdir(parents=True)
    lines = '    "LlamaForCausalLM": ("llama", "LlamaForCausalLM"),\n    "OPTForCausalLM": (\n        "opt",\n'
    (folder / "registry.py").write_text(f"_TEXT_GENERATION_MODELS = {{\n{lines}")
    return tmp_path / "vllm"


def test_the_installed_transformers_knows_its_own_types() -> None:
    pytest.importorskip("verl", reason="what brings transformers")
    folder = Machine(None).folder("transformers")
    assert folder is not None
    types = model_types(folder)
    assert {"llama", "qwen2", "qwen3", "mistral", "gemma2", "gpt_oss"} <= types
    assert "llama5000" not in types


def test_an_unknown_model_type(tmp_path: Path) -> None:
    auto = tmp_path / "models" / "auto"
    auto.mkdir(parents=True)
    (auto / "configuration_auto.py").write_text('M = OrderedDict([("llama", "LlamaConfig"), ("opt", "OPTConfig")])')
    machine = Packages({"transformers": "5.9.0"}, {"transformers": tmp_path})
    assert found(machine=machine) == []
    (diagnostic,) = found(machine=machine, model=LLAMA_3_8B | {"model_type": "llama9"})
    assert (diagnostic.code, diagnostic.severity) == ("RKD103", "error")
    assert "'llama9', which transformers 5.9.0 does not know" in diagnostic.message
    custom = LLAMA_3_8B | {"model_type": "llama9", "auto_map": {"AutoConfig": "x.Y"}}
    assert found(machine=machine, model=custom) == [], "it brings its own class"


def test_an_architecture_that_vllm_does_not_know(vllm: Path) -> None:
    assert architectures(vllm / "model_executor" / "models" / "registry.py") == {"LlamaForCausalLM", "OPTForCausalLM"}
    machine = Packages(folders={"vllm": vllm})
    assert found(machine=machine) == []
    (diagnostic,) = found(machine=machine, model=LLAMA_3_8B | {"architectures": ["Llama9ForCausalLM"]})
    assert (diagnostic.code, diagnostic.severity) == ("RKD104", "warning")
    assert "vLLM 0.24.0 has no Llama9ForCausalLM among its 2 architectures" in diagnostic.message


def test_pins_of_the_installed_verl() -> None:
    pytest.importorskip("verl", reason="verl is not installed")
    pins = released_with("vllm")
    assert {"vllm", "torch", "transformers"} <= set(pins)
    assert set(released_with("flash-attn")) == {"flash-attn"}
    assert released_with("no-such-extra") == {}


def test_a_version_other_than_verls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        versions, "released_with", lambda extra: {"vllm": "0.24.0", "torch": "2.11.0"} if extra == "vllm" else {}
    )
    installed = {"vllm": "0.25.1", "torch": "2.11.0+cu130", "verl": "0.9.1"}
    (diagnostic,) = found(machine=Packages(installed))
    assert (diagnostic.code, diagnostic.severity, diagnostic.hint) == ("RKD102", "warning", "pip install vllm==0.24.0")
    assert diagnostic.message == "vllm 0.25.1 is installed; verl 0.9.1 with vllm was released with 0.24.0"


@pytest.mark.parametrize(
    ("setting", "expected"),
    [(None, 3), ("", 0), ("0,2", 2), ("-1", 0), ("0,7,1", 1), ("GPU-4f2a,GPU-99", 2), (" 1 ", 1)],
)
def test_gpus_that_cuda_would_show(setting: str | None, expected: int) -> None:
    gpus: list[Any] = [Gpu(80, str(i)) for i in range(3)]
    assert len(_visible(gpus, setting)) == expected


def test_a_trl_that_verls_workers_fail_on(tmp_path: Path) -> None:
    (tmp_path / "__init__.py").write_text('_import_structure = {"trainer": ["GRPOTrainer"]}')
    machine = Packages({"trl": "1.16.0"}, {"trl": tmp_path})
    (diagnostic,) = found(machine=machine)
    assert (diagnostic.code, diagnostic.severity) == ("RKD111", "error")
    assert "trl 1.16.0 is installed, and lacks AutoModelForCausalLMWithValueHead" in diagnostic.message
    (tmp_path / "experimental" / "ppo").mkdir(parents=True)
    assert found(machine=machine) == []
    (tmp_path / "experimental" / "ppo").rmdir()
    (tmp_path / "__init__.py").write_text('_import_structure = {"models": ["AutoModelForCausalLMWithValueHead"]}')
    assert found(machine=machine) == []


def test_the_trl_of_the_tests_is_none_of_them() -> None:
    pytest.importorskip("trl")
    from trl.experimental.ppo import AutoModelForCausalLMWithValueHead

    assert AutoModelForCausalLMWithValueHead
