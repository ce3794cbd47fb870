"""What every test shares: how many examples, what the machine may say, and the external test data."""

from __future__ import annotations

import contextlib
import fcntl
import functools
import locale
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests import profiles

ON_REQUEST = ("matrix", "vllm")
"""Markers of tests that run only when -m names them."""

profiles.register()

# The tests and what they start see the same machine everywhere: no colours, widths
# or language of the caller's, no cluster.
for _name in ("NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE", "COLORTERM", "COLUMNS", "LINES", "RAY_ADDRESS"):
    os.environ.pop(_name, None)
os.environ |= {"TERM": "dumb", "LC_ALL": "C.UTF-8"}
with contextlib.suppress(locale.Error):
    locale.setlocale(locale.LC_ALL, "C.UTF-8")
# A shell that starts pytest in the background has some signals ignored, `nohup` another, and children inherit that.
for _number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, signal.default_int_handler if _number == signal.SIGINT else signal.SIG_DFL)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests with a marker of ON_REQUEST unless they are asked for by it."""
    for marker in ON_REQUEST:
        if marker not in config.option.markexpr:
            left_out = [item for item in items if item.get_closest_marker(marker)]
            config.hook.pytest_deselected(items=left_out)
            items[:] = [item for item in items if not item.get_closest_marker(marker)]


@functools.cache
def _no_isolation() -> str | None:
    """Why this machine can't shut programs in; None where it can."""
    from rewardkit.errors import ConfigError
    from rewardkit.programs.sandbox import choose

    try:
        choose("auto")
    except ConfigError as e:
        return e.message
    return None


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what needs an isolation that this machine lacks."""
    if item.get_closest_marker("isolation") and (why := _no_isolation()) is not None:
        pytest.skip(why)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Real material that is kept outside the repository; tests that read it skip without it."""
    named = os.environ.get("REWARDKIT_TEST_DATA")
    folder = Path(named) if named else Path(__file__).resolve().parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("needs the external test data: set REWARDKIT_TEST_DATA to its folder")
    return folder


@pytest.fixture(scope="session")
def once(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, Callable[[Path], None]], Path]:
    """A folder by its name, made by the first process of this session that asks for it; the others wait for it."""
    home = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        home = home.parent

    def get(name: str, make: Callable[[Path], None]) -> Path:
        folder, made = home / name, home / f"{name}.made"
        with (home / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not made.exists():
                folder.mkdir()
                make(folder)
                made.touch()
        return folder

    return get


@pytest.fixture(autouse=True, scope="module")
def signal_handlers() -> Iterator[None]:
    """Put back what a module's tests leave behind: Ray takes over SIGTERM in the process that starts it."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.getsignal(number) for number in numbers}
    yield
    for number, handler in before.items():
        if handler is not None:
            signal.signal(number, handler)
