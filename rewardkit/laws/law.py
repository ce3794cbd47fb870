"""A law: something that must hold for every batch, and the error that shows the smallest batch for which it doesn't."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from rewardkit.batch import Batch, Sample, Status
from rewardkit.engine.program import Program


class LawBroken(AssertionError):
    """A law does not hold for a reward.

    Attributes:
        law: the law's name.
        counterexample: the rows that break it, as hypothesis shrank them.
    """

    def __init__(self, law: str, message: str, counterexample: Sequence[Sample]) -> None:
        super().__init__(message)
        self.law = law
        self.counterexample = tuple(counterexample)


@dataclass(frozen=True, slots=True)
class Law:
    """One law.

    Attributes:
        name: a few words, for reports.
        states: the law in one sentence.
        check: raises :class:`LawBroken` when a batch breaks it.
    """

    name: str
    states: str
    check: Callable[[Program, Batch], None]

    def __repr__(self) -> str:
        return f"<law {self.name}>"


def broken(law: str, program: Program, batch: Batch, rows: Sequence[int], why: str) -> NoReturn:
    """Raise with the rows, what each was paid and for what, in a form that can be pasted into Python."""
    scores = program(batch)
    lines = [f"{program.reward!r} breaks the law {law!r}: {why}"]
    for row in rows:
        terms = ", ".join(
            f"{name}={values[row]:g}" + ("" if (s := Status(int(scores.statuses[name][row]))) == 0 else f" ({s.name})")
            for name, values in scores.values.items()
        )
        lines.append(f"  {shown(batch[row])}\n    total {scores.total[row]:g}: {terms}")
    raise LawBroken(law, "\n".join(lines), [batch[row] for row in rows])


def shown(sample: Sample) -> str:
    """A sample as Python, without what is empty or was made up."""
    parts = [repr(sample.response)]
    if sample.ground_truth is not None:
        parts.append(f"ground_truth={sample.ground_truth!r}")
    return f"Sample({', '.join(parts)})"


def close(a: float, b: float) -> bool:
    """Equal but for rounding; two missing totals are equal."""
    return bool(np.isclose(a, b, rtol=1e-9, atol=1e-9, equal_nan=True))
