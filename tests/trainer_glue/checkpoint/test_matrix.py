"""Every layout that a run can leave, against the state dict that it was made from: bit for bit."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from trainer_glue.checkpoint import convert

from .conftest import DEFAULT, Made, make_checkpoints
from .fsdp import ALPHA, RANK

MODES = ("fsdp1", "fsdp2", "hsdp1", "hsdp2")
KINDS = ("tied", "untied", "value", "lora")
SOME = [f"{case}:{ranks}" for ranks, cases in DEFAULT.items() for case in cases]


def assert_same_bits(written: dict[str, torch.Tensor], expected: dict[str, torch.Tensor]) -> None:
    assert written.keys() == expected.keys()
    for name, tensor in expected.items():
        assert written[name].dtype == tensor.dtype, name
        assert written[name].shape == tensor.shape, name
        assert torch.equal(written[name].view(torch.uint8), tensor.contiguous().view(torch.uint8)), name


def check(made: Made, kind: str, out: Path) -> None:
    full = made.full()
    report = convert(made.run, out, critic=kind == "value")
    weights = load_file(out / "model.safetensors")
    if kind == "tied":
        assert report.tied == ["lm_head.weight"]
        assert torch.equal(full.pop("lm_head.weight"), full["model.embed_tokens.weight"])
    if kind == "lora":
        expected = {
            name.removeprefix("base_model.model.").replace(".base_layer.", "."): tensor
            for name, tensor in full.items()
            if ".lora_" not in name
        }
        assert_same_bits(weights, expected)
        adapter = load_file(out / "adapter_model.safetensors")
        factors = {name.replace(".default.", "."): t for name, t in full.items() if ".lora_" in name}
        assert_same_bits(adapter, factors)
        assert report.lora == {"r": RANK, "lora_alpha": ALPHA, "merged": False}
    else:
        assert_same_bits(weights, full)
    assert report.step == 7
    assert report.eos_token_ids == ([] if kind == "value" else [2, 3])


@pytest.mark.parametrize("case", SOME)
def test_equals_the_unsharded_model(case: str, made: Callable[[str], Made], tmp_path: Path) -> None:
    check(made(case), case.split(":")[1], tmp_path / "out")


@pytest.mark.matrix
@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 8])
def test_whole_matrix(ranks: int, tmp_path: Path) -> None:
    cases = [":".join(case) for case in itertools.product(MODES, KINDS, ("fp32", "bf16"))]
    if ranks % 2 == 0:
        cases.append("tp2:untied:fp32")
    make_checkpoints(tmp_path, ranks, cases)
    for case in cases:
        mode, kind, dtype = case.split(":")
        name = f"{mode}-{kind}-{dtype}-{ranks}"
        check(Made(tmp_path / name), kind, tmp_path / f"out-{name}")


def test_a_run_on_one_rank_of_fsdp1_has_plain_tensors(made: Callable[[str], Made], tmp_path: Path) -> None:
    report = convert(made("fsdp1:untied:bf16:1").run, tmp_path / "out")
    assert report.mesh == "none"


def test_reads_without_torch_distributed(made: Callable[[str], Made], tmp_path: Path) -> None:
    code = (
        "import sys; from trainer_glue.checkpoint import convert; convert(sys.argv[1], sys.argv[2]); "
        "assert 'torch.distributed.tensor' not in sys.modules and 'transformers' not in sys.modules"
    )
    command = [sys.executable, "-c", code, str(made("hsdp1:untied:fp32:4").run), str(tmp_path / "out")]
    subprocess.run(command, check=True, cwd=Path(__file__).parents[3])


def test_columns_that_tensor_parallel_cut(made: Callable[[str], Made], tmp_path: Path) -> None:
    """FSDP2 over tensor parallel: strided shards of rows, and shards of columns."""
    report = convert(made("tp2:untied:fp32:4").run, tmp_path / "out", verify_result=True)
    assert report.mesh == "fsdp=2 x tp=2"
    assert report.verification is not None
    assert report.verification.forward
