"""Weight files that are whole, cut short, or something else."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.trainer_glue.verl.preflight.runs import codes
from trainer_glue.verl.preflight.weights import broken


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    save_file = pytest.importorskip("safetensors.numpy").save_file
    numpy = pytest.importorskip("numpy")
    path = tmp_path / "model.safetensors"
    save_file({"a": numpy.zeros((3, 5), dtype="float32"), "b": numpy.ones(7)}, path, metadata={"format": "pt"})
    return path


def test_a_whole_file(whole: Path) -> None:
    assert list(broken(whole.parent)) == []
    assert list(broken(whole.parent / "none")) == []


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda data: data[:-1], "bytes; its header says"),
        (lambda data: data + b"x", "bytes; its header says"),
        (lambda data: data[:40], "without a header"),
        (lambda data: b"", "0 bytes, without a header"),
        (lambda data: data[:8] + b"[" + data[9:], "its header can't be read"),
        (lambda data: b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n", "pointer of Git LFS"),
    ],
)
def test_a_broken_file(whole: Path, change: object, why: str) -> None:
    whole.write_bytes(change(whole.read_bytes()))  # type: ignore[operator]
    ((path, says),) = broken(whole.parent)
    assert path == whole and why in says
    key = "actor_rollout_ref.model.path"
    assert codes(actor_rollout_ref__model__path=str(whole.parent)) == [("RKD903", key, "error")]
    assert codes(actor_rollout_ref__model__path=str(whole.parent), on_gpus=False) == [("RKD903", key, "error")]
