"""What is removed from shared memory after a run with vLLM, and what isn't; in a folder of the test's own."""

from __future__ import annotations

import mmap
import sys
from pathlib import Path

import pytest

from tests.vllm import shared_memory

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc and /dev/shm are Linux's")


def test_only_new_segments_that_no_process_maps_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_memory, "FOLDER", tmp_path)
    (tmp_path / "psm_old").write_bytes(bytes(10))
    before = shared_memory.segments()
    for name in ("psm_left", "psm_in_use", "verl_weights_left", "another"):
        (tmp_path / name).write_bytes(bytes(20))
    with (tmp_path / "psm_in_use").open("r+b") as file, mmap.mmap(file.fileno(), 0):
        assert shared_memory.remove_new(before, seconds=0) == {"psm_left": 20, "verl_weights_left": 20}
        assert sorted(p.name for p in tmp_path.iterdir()) == ["another", "psm_in_use", "psm_old"]
    assert shared_memory.remove_new(before, seconds=0) == {"psm_in_use": 20}
