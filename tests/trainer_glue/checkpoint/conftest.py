"""Checkpoints made once a session by real FSDP, and the state dicts they were made from."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

SCRIPT = Path(__file__).with_name("fsdp.py")


@dataclass(frozen=True)
class Made:
    """A run with one step, and what its model was before it was sharded."""

    run: Path

    @property
    def actor(self) -> Path:
        (folder,) = (path for path in (self.run / "global_step_7").iterdir())
        return folder

    def full(self) -> dict[str, torch.Tensor]:
        return torch.load(self.run / "full.pt", weights_only=True)

    def rank(self, rank: int) -> Path:
        (path,) = self.actor.glob(f"model_world_size_*_rank_{rank}.pt")
        return path


def make_checkpoints(folder: Path, ranks: int, cases: list[str]) -> None:
    command = [sys.executable, "-W", "ignore", str(SCRIPT), str(folder), str(ranks), *cases]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-3000:]


# What the default tests need, made by one script run for each number of ranks.
DEFAULT = {
    1: ["fsdp1:untied:bf16", "fsdp2:lora:fp32"],
    2: ["fsdp2:untied:fp32", "fsdp2:lora:fp32", "fsdp2:value:fp32", "fsdp1:tied:fp32"],
    3: ["fsdp1:lora:bf16", "fsdp2:tied:bf16"],
    4: ["hsdp1:untied:fp32", "hsdp2:value:bf16", "tp2:untied:fp32"],
}


@pytest.fixture(scope="session")
def made(once: Callable[[str, Callable[[Path], None]], Path]) -> Callable[[str], Made]:
    """A run by its case, `MODE:KIND:DTYPE:RANKS`. Shared: don't write into it."""

    def get(case: str) -> Made:
        mode, kind, dtype, ranks = case.split(":")
        home = once(f"fsdp-{ranks}", lambda folder: make_checkpoints(folder, int(ranks), DEFAULT[int(ranks)]))
        return Made(home / f"{mode}-{kind}-{dtype}-{ranks}")

    return get


@pytest.fixture
def copy(made: Callable[[str], Made], tmp_path: Path) -> Callable[[str], Made]:
    """A run of one's own, to damage."""

    def get(case: str) -> Made:
        return Made(Path(shutil.copytree(made(case).run, tmp_path / "run")))

    return get
