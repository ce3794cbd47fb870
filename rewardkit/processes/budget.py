"""How long one batch may keep a training loop waiting for workers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

TRAINING_SECONDS: Final = 120.0
"""Wall time that the adapters of trainers give a batch: a step waits for its slowest batch, and GPUs wait with it."""

_seconds: ContextVar[float | None] = ContextVar("rewardkit_budget", default=None)


@contextmanager
def batch_budget(seconds: float = TRAINING_SECONDS) -> Iterator[None]:
    """In this block and thread, work that no worker has begun so long after its batch came is left undone."""
    token = _seconds.set(seconds)
    try:
        yield
    finally:
        _seconds.reset(token)


def current_budget() -> float | None:
    """The budget of this block in seconds; None, the default, where a batch may take as long as it takes."""
    return _seconds.get()
