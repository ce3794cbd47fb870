"""What came of one test, and what all kinds of tests have in common."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Final, Protocol

from rewardkit.batch import Status
from rewardkit.programs.limits import Limits
from rewardkit.programs.outcome import Ending, Outcome
from rewardkit.programs.sandbox import Sandbox
from rewardkit.unit_tests.compare import TOLERANCE, TextRule


class BadTests(Exception):
    """A ground truth that holds no tests that can be read; the text says why."""


@dataclass(frozen=True, slots=True)
class Rules:
    """How what a program gives is compared."""

    text: TextRule = "tokens"
    tolerance: float = TOLERANCE


@dataclass(frozen=True, slots=True)
class Result:
    """What came of one test.

    Attributes:
        passed: whether the program passed it.
        status: SCORED; TIMEOUT or LIMIT where the program ran into a limit; ERROR where the sandbox failed; BAD_GOLD
            where the test did.
        reason: why it was not passed.
    """

    passed: bool
    status: Status = Status.SCORED
    reason: str = ""


PASSED: Final = Result(True)
_STATUS: Final = {
    Ending.CPU: Status.TIMEOUT,
    Ending.WALL: Status.TIMEOUT,
    Ending.MEMORY: Status.LIMIT,
    Ending.OUTPUT: Status.LIMIT,
    Ending.PROCESSES: Status.LIMIT,
    Ending.BROKEN: Status.ERROR,
}


def stopped(outcome: Outcome) -> Result:
    """The result of a test whose program gave nothing to compare. What it raised, and how it left, is its own fault."""
    status = _STATUS.get(outcome.ending, Status.SCORED)
    return Result(False, status, outcome.reason[:500] or f"the program ended: {outcome.ending.value}")


class Tests(Protocol):
    """The tests of one row, whatever their form."""

    @property
    def calls(self) -> str:
        """The function that they call; empty where they run the program, or call several."""

    def __len__(self) -> int:
        """How many there are."""

    def run(self, code: str, sandbox: Sandbox, limits: Limits, rules: Rules) -> Generator[Result]:
        """Run them in order on a response's program, each when its result is wanted."""
