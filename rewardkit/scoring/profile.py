"""Where the time of scoring a file went: reading, each term, the arithmetic, writing."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any, TypeVar

from rewardkit.batch import Batch
from rewardkit.engine.program import Program
from rewardkit.engine.scheduler import TermCost
from rewardkit.engine.scores import Scores

T = TypeVar("T")


class Profile:
    """Adds up the seconds of each stage, and of each term with the rows that it ran on."""

    def __init__(self, program: Program) -> None:
        self.stages: dict[str, float] = dict.fromkeys(("reading", "terms", "arithmetic", "writing"), 0.0)
        self.terms = {name: TermCost() for name in program.terms}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time what is done inside as a part of this stage."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.stages[name] += time.perf_counter() - start

    def score(self, program: Program, batch: Batch) -> Scores:
        """What the program makes of a batch."""
        with self.stage("terms"):
            leaves = program.leaves(batch)
        for name, node in program.terms.items():
            self.terms[name].add(leaves.costs[node])
        with self.stage("arithmetic"):
            return program.finish(leaves, step=batch.step, groups=batch.groups)

    def merge(self, other: Profile) -> None:
        """Take in what was spent on other rows."""
        for name, seconds in other.stages.items():
            self.stages[name] += seconds
        for name, cost in other.terms.items():
            self.terms[name].add(cost)

    def as_dict(self) -> dict[str, Any]:
        """Plain data: seconds by stage, by term the seconds and rows, and what it asked of other machines."""
        terms: dict[str, dict[str, Any]] = {}
        for name, cost in self.terms.items():
            terms[name] = {"seconds": cost.seconds, "asked": cost.asked, "ran": cost.ran}
            if cost.usage.requests:
                terms[name] |= asdict(cost.usage)
        return {"stages": dict(self.stages), "terms": terms}


def timed(items: Iterable[T]) -> Iterator[tuple[T, float]]:
    """The items, each with the seconds that it took to come."""
    iterator = iter(items)
    while True:
        start = time.perf_counter()
        try:
            item = next(iterator)
        except StopIteration:
            return
        yield item, time.perf_counter() - start
