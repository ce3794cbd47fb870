"""Tests that call a function with arguments out of JSON and look at what it returns."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, Final

from rewardkit.programs.limits import Limits
from rewardkit.programs.outcome import Ending
from rewardkit.programs.sandbox import Sandbox
from rewardkit.unit_tests.cases import PASSED, Result, Rules, stopped
from rewardkit.unit_tests.compare import same_data
from rewardkit.unit_tests.response import completed
from rewardkit.unit_tests.splitting import PREFIX


@dataclass(frozen=True, slots=True)
class Returned:
    """Arguments, and what is expected for them."""

    args: tuple[Any, ...]
    expected: tuple[Any, ...]
    """Of several any is right."""


@dataclass(frozen=True, slots=True)
class ReturnedTests:
    """Calls of one function, or of a method of ``Solution`` that has its name.

    Attributes:
        calls: the function's name.
        cases: at least one.
        prompt: the code that responses go on with; empty where there is none.
    """

    calls: str
    cases: tuple[Returned, ...]
    prompt: str = ""

    def __len__(self) -> int:
        return len(self.cases)

    def run(self, code: str, sandbox: Sandbox, limits: Limits, rules: Rules) -> Generator[Result]:
        """Call the function for each test, in a program that is loaded anew."""
        prompt = f"{IMPORTS}\n{self.prompt}" if self.prompt else ""
        program = completed(code, prompt, IMPORTS) + _ENTRY.format(name=self.calls)
        with sandbox.open(program, limits) as session:
            for number, case in enumerate(self.cases, 1):
                outcome = session.call(f"{PREFIX}entry", case.args)
                if outcome.ending is not Ending.VALUE:
                    yield stopped(outcome)
                elif any(same_data(outcome.value, e, tolerance=rules.tolerance) for e in case.expected):
                    yield PASSED
                else:
                    yield Result(False, reason=f"test {number}: it returned {outcome.value!r:.80}")


IMPORTS: Final = """\
import bisect, collections, copy, functools, heapq, itertools, math, operator, random, re, string, sys
from bisect import bisect_left, bisect_right, insort
from collections import Counter, OrderedDict, defaultdict, deque
from functools import cache, cmp_to_key, lru_cache, reduce
from heapq import heapify, heappop, heappush, heappushpop, nlargest, nsmallest
from itertools import accumulate, chain, combinations, groupby, pairwise, permutations, product
from math import ceil, comb, floor, gcd, inf, sqrt
from typing import *
"""
"""What the sites that such tasks come from import for a program."""

_ENTRY: Final = f"""

def {PREFIX}entry(*args):
    Solution = globals().get("Solution")
    method = getattr(Solution, "{{name}}", None)
    return globals()["{{name}}"](*args) if method is None else getattr(Solution(), "{{name}}")(*args)
"""
