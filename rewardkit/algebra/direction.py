"""Which way one number moves when another one rises."""

from __future__ import annotations

from enum import Enum


class Direction(Enum):
    """The ways in which a value may move when another one rises."""

    NONE = 0
    RISES = 1
    FALLS = 2
    MIXED = 3

    def then(self, outer: Direction) -> Direction:
        """Which way the outer value moves, when this one is inside and ``outer`` is how that moves with it."""
        if outer is Direction.RISES or self is Direction.NONE or self is Direction.MIXED:
            return self if outer is not Direction.NONE else outer
        if outer is not Direction.FALLS:
            return outer
        return Direction.FALLS if self is Direction.RISES else Direction.RISES

    def joined(self, other: Direction) -> Direction:
        """Both ways together, for a value that stands in two places."""
        if self is other or other is Direction.NONE:
            return self
        return other if self is Direction.NONE else Direction.MIXED
