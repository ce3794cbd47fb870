"""What came of running a program: how it ended, and what it gave back."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Ending(StrEnum):
    """How a run ended. All but BROKEN are the program's doing."""

    VALUE = "value"
    """A call returned, or a whole program ran to its end with exit code 0."""
    RAISED = "raised"
    """An exception left the program, or what it returned is not plain data."""
    EXITED = "exited"
    """The process ended before a call returned, or a whole program ended with another exit code than 0."""
    MEMORY = "memory"
    CPU = "cpu"
    WALL = "wall"
    OUTPUT = "output"
    """It printed or returned more than it may, or its files grew over the limit."""
    PROCESSES = "processes"
    """It started more threads or processes than it may."""
    CRASHED = "crashed"
    """A signal ended it, or it wrote on the channel to its caller what is no answer."""
    BROKEN = "broken"
    """The sandbox itself failed. The program is not to blame: such a run has no score."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one run or one call.

    Args:
        ending: how it ended.
        value: what a call returned: None, bool, int, float, complex, str, bytes, list, tuple, dict, set and frozenset,
            never a subclass of one; None unless ``ending`` is VALUE.
        output: what was printed to standard output.
        reason: why, in words, where ``ending`` is not VALUE. Part of it may be the program's own text.
    """

    ending: Ending
    value: Any = None
    output: str = ""
    reason: str = ""
