"""The tests' machine says nothing about the run."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

pytest.importorskip("yaml")


@pytest.fixture(autouse=True)
def enough_memory_and_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=2**50))
    monkeypatch.setattr("trainer_glue.verl.preflight.memory_checks.memory", lambda: (2**42, 2**41))
