"""What every test shares: how many examples, what the machine may say, and the external test data."""

from __future__ import annotations

import contextlib
import locale
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import profiles

ON_REQUEST = ("long", "matrix", "vllm")
"""Markers of tests that run only when -m names them."""

profiles.register()

# The tests and what they start see the same machine everywhere: no colours, widths
# or language of the caller's, no cluster.
for _name in ("NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE", "COLORTERM", "COLUMNS", "LINES", "RAY_ADDRESS"):
    os.environ.pop(_name, None)
os.environ |= {"TERM": "dumb", "LC_ALL": "C.UTF-8"}
with contextlib.suppress(locale.Error):
    locale.setlocale(locale.LC_ALL, "C.UTF-8")
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell that starts pytest in the background has it ignored
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests with a marker of ON_REQUEST unless they are asked for by it."""
    for marker in ON_REQUEST:
        if marker not in config.option.markexpr:
            left_out = [item for item in items if item.get_closest_marker(marker)]
            config.hook.pytest_deselected(items=left_out)
            items[:] = [item for item in items if not item.get_closest_marker(marker)]


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Real material that is kept outside the repository; tests that read it skip without it."""
    named = os.environ.get("REWARDKIT_TEST_DATA")
    folder = Path(named) if named else Path(__file__).resolve().parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("needs the external test data: set REWARDKIT_TEST_DATA to its folder")
    return folder


@pytest.fixture(autouse=True, scope="module")
def signal_handlers() -> Iterator[None]:
    """Put back what a module's tests leave behind: Ray takes over SIGTERM in the process that starts it."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.getsignal(number) for number in numbers}
    yield
    for number, handler in before.items():
        if handler is not None:
            signal.signal(number, handler)
