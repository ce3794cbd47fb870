"""The warning before a run that the machine has no memory for."""

import numpy as np
import pytest

from trainer_glue.verl.launch import memory

save_file = pytest.importorskip("safetensors.numpy", reason="needs safetensors").save_file


@pytest.fixture
def machine(monkeypatch):
    def has(free: float, total: float = 100.0):
        monkeypatch.setattr(memory, "memory", lambda: (int(total * memory.GIB), int(free * memory.GIB)))

    return has


def test_parameters_count_as_float32_whatever_they_are_stored_as(tmp_path):
    save_file({"a": np.zeros((3, 5), np.float16), "b": np.zeros((), np.float32)}, tmp_path / "model-1.safetensors")
    save_file({"c": np.zeros(7, np.int8)}, tmp_path / "model-2.safetensors")
    assert memory.float32_bytes(tmp_path) == 4 * (15 + 1 + 7)
    assert memory.float32_bytes(tmp_path / "hub" / "name") == 0


def test_enough_is_silent_and_too_little_says_both_figures(machine, tmp_path):
    machine(free=20)
    assert memory.shortage(tmp_path, 1) is None
    machine(free=7)
    assert memory.shortage(tmp_path, 1) == (
        "about 3.5 GiB of memory are needed and 2.0 GiB are usable: Ray kills workers when the machine is nearly full"
    )


def test_ranks_and_parameters_add_to_it(machine, tmp_path):
    machine(free=9)
    assert memory.shortage(tmp_path, 1) is None
    assert "4.2 GiB" in memory.shortage(tmp_path, 2)
    save_file({"a": np.zeros(2**26, np.int8)}, tmp_path / "model.safetensors")
    assert "5.0 GiB" in memory.shortage(tmp_path, 1)


def test_this_machine_has_some():
    total, free = memory.memory()
    assert 0 < free < total
