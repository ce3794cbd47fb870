"""What the tests with vLLM need, and what they put in order afterwards."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator

import pytest

from tests.vllm import shared_memory


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip them where vLLM is not installed; `make test-vllm` makes an environment that has it."""
    if importlib.util.find_spec("vllm") is not None:
        return
    for item in items:
        if item.get_closest_marker("vllm"):
            item.add_marker(pytest.mark.skip(reason="needs vLLM's CPU build: make test-vllm"))


@pytest.fixture
def nothing_left_in_shared_memory() -> Iterator[None]:
    """Remove what vLLM's killed processes leave in shared memory; fail when something can't be removed."""
    before = shared_memory.segments()
    yield
    removed = shared_memory.remove_new(before)
    print(f"shared memory: removed {len(removed)} segments, {sum(removed.values()) >> 20} MB: {', '.join(removed)}")
    assert not shared_memory.segments() - before
