"""Where the time of scoring a file went: reading, each term, the arithmetic, writing."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from rewardkit.program import Program, Spent
from rewardkit.scores import Scores

T = TypeVar("T")


class Profile:
    """Adds up the seconds of each stage, and of each term with the rows that it ran on."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self.stages = dict.fromkeys(("reading", "terms", "arithmetic", "writing"), 0.0)
        self.terms = {name: Spent() for name in program.terms}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time what is done inside as a part of this stage."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.stages[name] += time.perf_counter() - start

    def reads(self, items: Iterable[T]) -> Iterator[T]:
        """The items, the time between them counted as reading."""
        iterator = iter(items)
        while True:
            with self.stage("reading"):
                try:
                    item = next(iterator)
                except StopIteration:
                    return
            yield item

    def score(self, batch: Any) -> Scores:
        """What the program makes of a batch."""
        with self.stage("terms"):
            leaves = self._program.leaves(batch)
        for name, node in self._program.terms.items():
            self.terms[name].add(leaves.spent[node])
        with self.stage("arithmetic"):
            return self._program.finish(leaves, step=batch.step, groups=batch.groups)

    def as_dict(self) -> dict[str, Any]:
        """Plain data: seconds by stage, and by term the seconds and rows."""
        terms = {n: {"seconds": s.seconds, "asked": s.asked, "ran": s.ran} for n, s in self.terms.items()}
        return {"stages": dict(self.stages), "terms": terms}
