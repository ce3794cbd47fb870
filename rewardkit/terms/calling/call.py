"""What a tool call is, and when two values are the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

MAX_CALLS: Final = 64
"""Most tool calls in one response; a loop that calls more is LIMIT."""


class Malformed(ValueError):
    """The text means to be calls, and is not."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a tool."""

    name: str
    arguments: dict[str, Any]


def same(one: Any, other: Any) -> bool:
    """Whether two values are equal as JSON: ``1`` is ``1.0``, and neither ``true`` nor ``"1"``."""
    if isinstance(one, dict):
        return (
            isinstance(other, dict)
            and one.keys() == other.keys()
            and all(same(value, other[key]) for key, value in one.items())
        )
    if isinstance(one, list):
        return isinstance(other, list) and len(one) == len(other) and all(map(same, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)
