"""Files that the safetensors library reads as its own."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from rewardkit.errors import CheckpointError, ParameterError
from trainer_glue.checkpoint import convert
from trainer_glue.checkpoint.base import open_folder
from trainer_glue.checkpoint.convert import parse_size
from trainer_glue.checkpoint.writer import DTYPES, Output, output_dtype, split, write_file

from .conftest import Made


class InMemory:
    def __init__(self, name: str, tensor: torch.Tensor) -> None:
        self.name, self.tensor, self.shape, self.dtype = name, tensor, tuple(tensor.shape), tensor.dtype

    def fill(self, target: torch.Tensor, start: int) -> None:
        target.copy_(self.tensor[start : start + len(target)] if self.shape else self.tensor)


def tensors() -> dict[str, torch.Tensor]:
    """Every dtype, odd sizes, a scalar, an empty tensor, a name that needs escaping."""
    made = {str(dtype): torch.arange(7).to(dtype) for dtype in DTYPES}
    return {**made, "scalar": torch.tensor(2.5), "empty": torch.zeros(0, 3), 'quote"\n': torch.ones(1, 1, 3)}


def test_every_dtype_reads_back(tmp_path: Path) -> None:
    expected = tensors()
    seen = []
    outputs = [Output(name, InMemory(name, tensor), tensor.dtype) for name, tensor in expected.items()]
    path = write_file(tmp_path / "a.safetensors", outputs, lambda output, block: seen.append(output.name))
    written = load_file(path)
    assert written.keys() == expected.keys()
    for name, tensor in expected.items():
        assert (written[name].dtype, written[name].shape) == (tensor.dtype, tensor.shape)
        assert torch.equal(written[name].reshape(-1).view(torch.uint8), tensor.reshape(-1).view(torch.uint8))
    with safe_open(path, framework="pt") as file:
        assert file.metadata() == {"format": "pt"}
    assert set(seen) == expected.keys() - {"empty"}


def test_same_tensors_as_the_library_writes(tmp_path: Path) -> None:
    """Byte for byte, where the order is the same: one dtype, names in order."""
    expected = {f"t{i}": torch.randn(3, i + 1) for i in range(4)}
    save_file(expected, tmp_path / "theirs.safetensors", metadata={"format": "pt"})
    outputs = [Output(name, InMemory(name, tensor), tensor.dtype) for name, tensor in expected.items()]
    ours = write_file(tmp_path / "ours.safetensors", outputs, lambda output, block: None)
    assert ours.read_bytes() == (tmp_path / "theirs.safetensors").read_bytes()


def test_dtype_that_the_format_lacks(tmp_path: Path) -> None:
    complex_ = torch.zeros(2, dtype=torch.complex64)
    with pytest.raises(CheckpointError, match=r"z is torch\.complex64"):
        write_file(tmp_path / "a", [Output("z", InMemory("z", complex_), complex_.dtype)], lambda output, block: None)


def test_only_floats_are_cast() -> None:
    assert output_dtype(torch.float32, torch.bfloat16) is torch.bfloat16
    assert output_dtype(torch.int64, torch.bfloat16) is torch.int64
    assert output_dtype(torch.float8_e4m3fn, torch.bfloat16) is torch.float8_e4m3fn
    assert output_dtype(torch.float32, None) is torch.float32


def test_files_stay_below_the_limit() -> None:
    outputs = [Output(str(i), InMemory(str(i), torch.zeros(n)), torch.float32) for i, n in enumerate([2, 2, 9, 1, 3])]
    assert [[output.name for output in file] for file in split(outputs, 16)] == [["0", "1"], ["2"], ["3", "4"]]


def test_shards_and_index(made: Callable[[str], Made], tmp_path: Path) -> None:
    run = made("fsdp2:untied:fp32:2").run
    report = convert(run, tmp_path / "out", max_shard_size="30KB", verify_result=True)
    files = sorted(path.name for path in (tmp_path / "out").glob("*.safetensors"))
    assert report.files == files
    assert len(files) > 3
    assert files[0] == f"model-00001-of-{len(files):05d}.safetensors"
    index = json.loads((tmp_path / "out" / "model.safetensors.index.json").read_text())
    assert set(index["weight_map"].values()) == set(files)
    assert index["metadata"]["total_size"] == report.bytes_written
    full = Made(run).full()
    assert open_folder(tmp_path / "out").keys() == full.keys()
    for name, file in index["weight_map"].items():
        assert torch.equal(load_file(tmp_path / "out" / file)[name], full[name])


@pytest.mark.parametrize(("text", "size"), [("5GB", 5 * 10**9), ("1.5 mb", 1_500_000), (7, 7), ("12", 12)])
def test_sizes(text: str | int, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "GB", "-1GB", "5XB", 0, "0"])
def test_sizes_that_are_none(text: str | int) -> None:
    with pytest.raises(ParameterError, match="expected bytes or a text"):
        parse_size(text)
