"""From a trial to the evidence that a person reads: shrunk, and taken apart by the parts of the formula."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from rewardkit.audit.diagnostics import Evidence
from rewardkit.audit.problems import Problem
from rewardkit.audit.shrinking import shrink, still_claims
from rewardkit.audit.subject import Subject
from rewardkit.audit.tools import transcript
from rewardkit.audit.trials import Baseline, Trial


def evidence(
    subject: Subject,
    problem: Problem,
    base: Baseline,
    trial: Trial,
    shows: Callable[[float], bool] | None,
    *,
    honest: str | None = None,
) -> Evidence:
    """The evidence of a trial.

    Args:
        subject: what pays.
        problem: the trial's row.
        base: that row's baseline.
        trial: what was found.
        shows: whether a pay still shows the diagnostic, for shrinking; None leaves the text as it is.
        honest: what to compare with; None: the right answer of the baseline.
    """
    attempt = trial.attempt
    text = attempt.text
    if shows is not None and not attempt.fixed:
        says_the_same = still_claims(attempt, problem)

        def holds(texts: Sequence[str]) -> list[bool]:
            pays = subject.pay([problem.sample(t, attempt.truncated) for t in texts]).total
            return [
                bool(not np.isnan(p) and shows(float(p)) and says_the_same(t)) for t, p in zip(texts, pays, strict=True)
            ]

        text = shrink(text, holds)
    right = base.right if honest is None else honest
    samples = [problem.sample(text, attempt.truncated, attempt.turns), problem.sample(right)]
    pays = subject.pay(samples).total
    by_part = subject.parts(samples)
    return Evidence(
        text=transcript(attempt.turns) if attempt.turns else text,
        pay=float(pays[0]),
        parts={k: float(v[0]) for k, v in by_part.items() if v[0] or v[1]},
        says=attempt.says,
        truth=problem.truth.shown,
        honest=right,
        honest_pay=float(pays[1]),
        honest_parts={k: float(v[1]) for k, v in by_part.items() if v[0] or v[1]},
        truncated=attempt.truncated,
    )
