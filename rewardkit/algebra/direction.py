"""Which way one number moves when another one rises."""

from __future__ import annotations

from enum import IntFlag


class Direction(IntFlag):
    """The ways in which a value may move when another one rises."""

    NONE = 0
    RISES = 1
    FALLS = 2
    MIXED = 3

    @property
    def flipped(self) -> Direction:
        """The same below a minus sign."""
        swapped = (Direction.FALLS if self & Direction.RISES else Direction.NONE) | (
            Direction.RISES if self & Direction.FALLS else Direction.NONE
        )
        return Direction(swapped)

    def then(self, other: Direction) -> Direction:
        """The direction of a composition: this one inside, the other around it."""
        if Direction.NONE in (self, other):
            return Direction.NONE
        if Direction.MIXED in (self, other):
            return Direction.MIXED
        return self if other is Direction.RISES else self.flipped
