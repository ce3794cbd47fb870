"""What calls of other machines cost: counted for whoever waits for them, in the thread that waits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields


@dataclass(slots=True)
class Usage:
    """Requests and what they cost."""

    requests: int = 0
    """That were sent, retries included."""
    tokens: int = 0
    """Read and written, as the servers say."""
    usd: float = 0.0
    """By the prices that are configured."""

    def add(self, other: Usage) -> None:
        """Take in what something else cost."""
        for field in fields(self):
            setattr(self, field.name, getattr(self, field.name) + getattr(other, field.name))


_CURRENT: ContextVar[Usage | None] = ContextVar("usage", default=None)


@contextmanager
def metered() -> Iterator[Usage]:
    """Count what is charged in this thread while the block runs."""
    usage = Usage()
    token = _CURRENT.set(usage)
    try:
        yield usage
    finally:
        _CURRENT.reset(token)
        if (outer := _CURRENT.get()) is not None:
            outer.add(usage)


def charge(usage: Usage) -> None:
    """Put something on the bill of whoever is waiting in this thread."""
    if (current := _CURRENT.get()) is not None:
        current.add(usage)
