"""Fixtures that every room shares."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests of the full matrix unless they are asked for by name."""
    if "matrix" in config.option.markexpr:
        return
    left_out = [item for item in items if item.get_closest_marker("matrix")]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if not item.get_closest_marker("matrix")]


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Real material that is kept outside the repository; tests that read it skip without it."""
    named = os.environ.get("REWARDKIT_TEST_DATA")
    folder = Path(named) if named else Path(__file__).resolve().parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("needs the external test data: set REWARDKIT_TEST_DATA to its folder")
    return folder
