"""Faults planted in a finished result are found."""

from __future__ import annotations

import json
import re
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from rewardkit.errors import CheckpointError
from trainer_glue.checkpoint import convert, tensors

from .conftest import Made

Make = Callable[[str], Made]
CASE = "fsdp2:untied:fp32:2"


def test_checksums_are_those_of_the_tensors(made: Make, tmp_path: Path) -> None:
    import hashlib

    report = convert(made(CASE).run, tmp_path / "out", verify_result=True)
    proof = report.verification
    assert proof is not None
    assert (proof.model_class, proof.forward, proof.skipped) == ("LlamaForCausalLM", True, [])
    for name, tensor in load_file(tmp_path / "out" / "model.safetensors").items():
        assert proof.checksums[name] == hashlib.sha256(tensor.numpy().tobytes()).hexdigest()


def test_a_bit_that_flips_on_the_disk(made: Make, tmp_path: Path) -> None:
    out = tmp_path / "out"

    def flip(done: int, total: int) -> None:
        """After the last byte is written, before it is read back."""
        if done * 2 == total:
            (path,) = tmp_path.glob(".out.partial-*/model.safetensors")
            with path.open("r+b") as file:
                file.seek(-1, 2)
                last = file.read(1)[0]
                file.seek(-1, 2)
                file.write(bytes([last ^ 1]))

    with pytest.raises(CheckpointError, match="what is on the disk is not what the shards hold"):
        convert(made(CASE).run, out, verify_result=True, progress=flip)
    assert not out.exists()


@pytest.mark.parametrize("of", [1, 0.5, -1])
def test_a_bit_that_flipped_in_a_shard(of: float, copy: Make, tmp_path: Path) -> None:
    made = copy(CASE)
    path = made.rank(1)
    with zipfile.ZipFile(path) as archive:
        tensors_alone = [record for record in archive.infolist() if "/data/" in record.filename]
        record = max(tensors_alone, key=lambda record: record.file_size)
    damaged = bytearray(path.read_bytes())
    name, extra = struct.unpack_from("<HH", damaged, record.header_offset + 26)
    at = int(record.file_size * of) if isinstance(of, float) else of % record.file_size
    damaged[record.header_offset + 30 + name + extra + at] ^= 0x10
    path.write_bytes(damaged)
    with pytest.raises(CheckpointError, match=rf"rank_1\.pt: its record {re.escape(record.filename)} is not what was"):
        convert(made.run, tmp_path / "out", verify_result=True)
    assert not (tmp_path / "out").exists()


def test_shards_saved_without_checksums_are_said_to_be(copy: Make, tmp_path: Path) -> None:
    made = copy(CASE)
    state = torch.load(made.rank(1), weights_only=False)
    torch.serialization.set_crc32_options(False)
    try:
        torch.save(state, made.rank(1))
    finally:
        torch.serialization.set_crc32_options(True)
    proof = convert(made.run, tmp_path / "out", verify_result=True).verification
    assert proof is not None
    assert proof.skipped == [f"shards: {made.rank(1).name} was saved without checksums"]


def test_8_bit_floats_are_verified_and_not_run(copy: Make, tmp_path: Path) -> None:
    made = copy("fsdp1:untied:bf16:1")
    state = torch.load(made.rank(0), weights_only=False)
    del state["steps_seen"]  # a buffer that no class of transformers knows
    torch.save({k: v.to(torch.float8_e4m3fn) if v.dim() == 2 else v for k, v in state.items()}, made.rank(0))
    proof = convert(made.run, tmp_path / "out", verify_result=True).verification
    assert proof is not None
    assert (proof.model_class, proof.forward) == ("LlamaForCausalLM", False)
    assert proof.skipped == ["forward pass: the weights are 8-bit floats, which no model class computes in"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"num_hidden_layers": 3}, r"missing \(9\): model\.layers\.2\."),
        ({"num_hidden_layers": 1}, r"unexpected \(9\): model\.layers\.1\."),
        (
            {"vocab_size": 104},
            r"other shape \(2\): model\.embed_tokens\.weight: \(103, 36\), the model wants \(104, 36\)",
        ),
        ({"model_type": "nonsense"}, "transformers can't build the model"),
    ],
)
def test_config_of_another_model(copy: Make, tmp_path: Path, change: dict, message: str) -> None:
    made = copy(CASE)
    path = made.actor / "huggingface" / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(CheckpointError, match=message):
        convert(made.run, tmp_path / "out", verify_result=True)
    assert not (tmp_path / "out").exists()


def test_code_that_travels_is_not_run(copy: Make, tmp_path: Path) -> None:
    made = copy(CASE)
    path = made.actor / "huggingface" / "config.json"
    auto_map = {"AutoConfig": "own.OwnConfig", "AutoModelForCausalLM": "own.OwnModel"}
    path.write_text(json.dumps({**json.loads(path.read_text()), "auto_map": auto_map}))
    marker = tmp_path / "was-run"
    (path.parent / "own.py").write_text(f"open({str(marker)!r}, 'w')")
    report = convert(made.run, tmp_path / "out", verify_result=True)
    assert report.verification is not None
    assert report.verification.skipped == ["model: it is defined by code of its own, which is not run here"]
    assert (tmp_path / "out" / "own.py").is_file()
    assert not marker.exists()


def test_a_model_that_does_not_fit_is_not_run(made: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from trainer_glue.checkpoint import verify

    monkeypatch.setattr(verify, "_available_memory", lambda: 1e9)
    report = convert(made(CASE).run, tmp_path / "out", verify_result=True)
    assert report.verification is not None
    assert not report.verification.forward
    assert report.verification.skipped == ["forward pass: the model is 0.0 GB and 1.0 GB of memory are free"]


def test_wrong_assembly_is_found(made: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second pass over the shards is not a copy of the first one's result."""
    original = tensors.ShardedTensor.fill
    calls = {"n": 0}

    def faulty(self: tensors.ShardedTensor, target: torch.Tensor, start: int) -> None:
        original(self, target, start)
        calls["n"] += 1
        if calls["n"] == 5:
            target.zero_()

    monkeypatch.setattr(tensors.ShardedTensor, "fill", faulty)
    with pytest.raises(CheckpointError, match="not what the shards hold"):
        convert(made(CASE).run, tmp_path / "out", verify_result=True)
