"""Canaries: each workaround is still called for by the installed vLLM, and still works.

One that fails here after an update is either superfluous (delete it) or no longer fits (read vLLM again).
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from trainer_glue.verl.cpu.vllm.workarounds import WORKAROUNDS
from trainer_glue.verl.cpu.workarounds import Workaround

pytestmark = pytest.mark.vllm

# What vLLM does with a linear layer after it has loaded the weights, and what verl then does to load the next ones.
RELOAD = """
import torch
from vllm.config import VllmConfig, set_current_vllm_config
from vllm.model_executor.layers.linear import UnquantizedLinearMethod
from vllm.model_executor.utils import set_weight_attrs
with set_current_vllm_config(VllmConfig()):
    method = UnquantizedLinearMethod()
layer = torch.nn.Module()
layer.weight = torch.nn.Parameter(torch.empty(64, 64), requires_grad=False)
set_weight_attrs(layer.weight, {"weight_loader": lambda parameter, weight: parameter.data.copy_(weight)})

def load(weight):
    layer.weight.weight_loader(layer.weight, weight)
    method.process_weights_after_loading(layer)

def scene():
    for seed in (1, 2):
        torch.manual_seed(seed)
        weight, x = torch.randn(64, 64), torch.randn(3, 64)
        load(weight)
        assert torch.allclose(layer.cpu_linear(x, layer.weight, None), x @ weight.T, atol=1e-4), f"weights of {seed}"
"""
SCENES = {"keep the weights": (RELOAD, "'Parameter' object has no attribute 'weight_loader'")}

TRIAL = """
original = layer.weight
try:
    scene()
except Exception as error:
    assert {message!r} in str(error), repr(error)
else:
    raise SystemExit("works without the workaround")
from trainer_glue.verl.cpu.vllm.workarounds import WORKAROUNDS
next(w for w in WORKAROUNDS if w.name == {name!r}).apply()
layer.weight = original
scene()
"""


@pytest.mark.parametrize("workaround", WORKAROUNDS, ids=lambda w: w.name)
def test_the_line_that_calls_for_it_is_where_it_was(workaround: Workaround) -> None:
    assert vllm_line(workaround.file, workaround.line) == workaround.quote


def test_vllm_still_asks_for_its_name() -> None:
    assert vllm_line("triton_utils/importing.py", 38) == 'if "cpu" in version("vllm"):'


def test_each_workaround_has_a_scene() -> None:
    assert {workaround.name for workaround in WORKAROUNDS} == set(SCENES)


@pytest.mark.parametrize("name", SCENES)
def test_it_fails_without_and_works_with(name: str) -> None:
    scene, message = SCENES[name]
    code = scene + TRIAL.format(name=name, message=message)
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]


def vllm_line(file: str, number: int) -> str:
    """A line of the installed vLLM, which is not imported for it."""
    spec = importlib.util.find_spec("vllm")
    assert spec is not None and spec.submodule_search_locations
    return (Path(spec.submodule_search_locations[0]) / file).read_text().splitlines()[number - 1].strip()
