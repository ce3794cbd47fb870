"""Sandboxes of this machine, one of each kind that works here; tests skip with the reason where none does."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rewardkit.errors import ConfigError
from rewardkit.programs.limits import Limits
from rewardkit.programs.local import LocalSandbox
from rewardkit.programs.sandbox import choose


def _chosen(kind: str) -> LocalSandbox:
    try:
        return choose(kind)
    except ConfigError as e:
        pytest.skip(e.message)


@pytest.fixture(params=["landlock", "bubblewrap"])
def sandbox(request: pytest.FixtureRequest) -> LocalSandbox:
    """Each kind of isolation."""
    return _chosen(request.param)


@pytest.fixture(scope="session")
def any_sandbox() -> LocalSandbox:
    """The kind that `auto` takes."""
    return _chosen("auto")


@pytest.fixture
def own_sandbox(any_sandbox: LocalSandbox) -> Iterator[LocalSandbox]:
    """One whose processes a test may kill."""
    sandbox = LocalSandbox(any_sandbox.name, size=2)  # type: ignore[arg-type]
    yield sandbox
    sandbox.close()


@pytest.fixture
def limits() -> Limits:
    return Limits(cpu_seconds=5, wall_seconds=20, memory_mb=512, file_mb=4, output_chars=20_000)
