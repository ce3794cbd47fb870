"""Tests that give a program its input and look at what it prints."""

from __future__ import annotations

import json
import re
from collections.abc import Generator
from dataclasses import dataclass
from typing import Final

from rewardkit.batch import Status
from rewardkit.programs.limits import Limits
from rewardkit.programs.outcome import Ending
from rewardkit.programs.sandbox import Sandbox
from rewardkit.unit_tests.cases import PASSED, Result, Rules, stopped
from rewardkit.unit_tests.compare import TextRule, same_text
from rewardkit.unit_tests.response import completed


@dataclass(frozen=True, slots=True)
class Printed:
    """One input, and the output that is expected for it."""

    stdin: str
    expected: str


@dataclass(frozen=True, slots=True)
class PrintedTests:
    """Inputs and outputs of a whole program.

    Attributes:
        cases: at least one.
        rule: how outputs are compared, where the data set says so.
        checker: the source of a program that judges an output; empty where outputs are compared.
    """

    cases: tuple[Printed, ...]
    rule: TextRule | None = None
    checker: str = ""
    calls: str = ""

    def __len__(self) -> int:
        return len(self.cases)

    def run(self, code: str, sandbox: Sandbox, limits: Limits, rules: Rules) -> Generator[Result]:
        """Run the program on each input."""
        program = completed(code, "", "")
        for number, case in enumerate(self.cases, 1):
            outcome = sandbox.run(program, case.stdin, limits)
            if outcome.ending is not Ending.VALUE:
                yield stopped(outcome)
            elif self.checker:
                yield _checked(self.checker, case, outcome.output, sandbox, limits)
            elif same_text(outcome.output, case.expected, rule=self.rule or rules.text, tolerance=rules.tolerance):
                yield PASSED
            else:
                yield Result(False, reason=f"test {number}: it printed {_short(outcome.output)}")


def _short(text: str) -> str:
    return repr(text if len(text) <= 80 else text[:77] + "...")


_CHECKER: Final = """\
import json, sys
with open(0) as stdin:
    _files = json.load(stdin)
for _name, _text in _files.items():
    with open(_name, "w") as _file:
        _file.write(_text)
sys.argv = ["checker.py", *_files]
exec(compile({source!r}, "checker.py", "exec"), {{"__name__": "__main__"}})
"""
_VERDICT: Final = re.compile(r"\s*(\d+(?:\.\d+)?)\s*")


def _checked(checker: str, case: Printed, output: str, sandbox: Sandbox, limits: Limits) -> Result:
    """Ask a data set's checker, in a process of its own, which gets the output as a file.

    A checker that fails on an output refuses it, unless it refuses the expected output too: then it is of no use.
    """
    verdict = _accepts(checker, case, output, sandbox, limits)
    if isinstance(verdict, Result):
        return verdict
    if verdict:
        return PASSED
    own = _accepts(checker, case, case.expected, sandbox, limits)
    if isinstance(own, Result):
        return own
    if not own:
        return Result(False, Status.BAD_GOLD, "the checker refuses the expected output too")
    return Result(False, reason=f"the checker refuses {_short(output)}")


def _accepts(checker: str, case: Printed, output: str, sandbox: Sandbox, limits: Limits) -> bool | Result:
    files = {"input.txt": case.stdin, "correct_output.txt": case.expected, "solution_output.txt": output}
    outcome = sandbox.run(_CHECKER.format(source=checker), json.dumps(files), limits)
    if outcome.ending is Ending.BROKEN:
        return stopped(outcome)
    said = _VERDICT.fullmatch(outcome.output)
    return outcome.ending is Ending.VALUE and said is not None and float(said[1]) >= 1
