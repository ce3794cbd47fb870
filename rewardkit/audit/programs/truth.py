"""A ground truth of tests, as the audit sees it: a right program, and wrong ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rewardkit.audit.ground_truths import GroundTruth, Kind
from rewardkit.audit.programs.interface import Interface, interface_of
from rewardkit.audit.programs.writing import right, wrong


@dataclass(frozen=True, slots=True)
class ProgramTruth(GroundTruth):
    """Tests of a program; ``text`` is a program that passes them.

    Attributes:
        interface: how the tests call a program.
    """

    interface: Interface

    @property
    def shown(self) -> str:
        """What is tested, for a report."""
        return "tests of its output" if self.interface.entry is None else f"tests of {self.interface.entry}"

    @property
    def wrong(self) -> tuple[str, ...]:
        """Programs that don't solve the task."""
        return wrong(self.interface)

    def stands_in(self, text: str) -> bool:
        """Whether the right program is written in a text."""
        return self.text.strip() in text


def program_truth(ground_truth: Any, solution: str | None = None) -> ProgramTruth | None:
    """The truth of a row whose ground truth is tests; None where it is none, or no right program can be written.

    Args:
        ground_truth: as the reward gets it.
        solution: a reference solution, where the row has one.
    """
    interface = interface_of(ground_truth)
    program = None if interface is None else solution or right(interface)
    if interface is None or program is None:
        return None
    return ProgramTruth(program, Kind.PROGRAM, interface)
