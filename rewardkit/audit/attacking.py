"""One reward under attack: what it reads, what every text is paid, and the search from there."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rewardkit.audit.combining import combined
from rewardkit.audit.diagnostics import AuditDiagnostic
from rewardkit.audit.forms import Forms, detect
from rewardkit.audit.ground_truths import Kind
from rewardkit.audit.problems import Problem
from rewardkit.audit.search import Searched, search
from rewardkit.audit.subject import Subject
from rewardkit.audit.trials import Baseline, Trial, attempts_on, baselines, try_all
from rewardkit.errors import DataError


def attacked(subject: Subject, problems: Sequence[Problem]) -> tuple[Forms, list[Baseline | None], list[Trial]]:
    """What the reward reads, what honest texts are paid, and what every family's texts are, alone and combined."""
    forms = detect(subject, problems)
    known, failure = baselines(subject, problems, forms)
    if all(b is None for b in known):
        raise DataError(
            f"{subject.name} scores no right answer to any of {len(problems)} rows: {failure}",
            hint="the rows lack what it reads, or it fails on every text",
        )
    rows = [
        (i, a) for i, p in enumerate(problems) if known[i] is not None for a in attempts_on(p, forms, subject.literals)
    ]
    trials = try_all(subject, problems, rows)
    if problems[0].truth.kind is not Kind.PROGRAM:
        trials += combined(subject, problems, known, trials)
    return forms, known, trials


def searched(
    subject: Subject,
    problems: Sequence[Problem],
    known: Sequence[Baseline | None],
    forms: Forms,
    trials: Sequence[Trial],
    found: Sequence[AuditDiagnostic],
    budget: float,
) -> Searched:
    """A search on the first row, from the texts that are paid best; none where there is nothing left to find."""
    if problems[0].truth.kind is Kind.PROGRAM:
        return Searched(None, 0, "programs are not put together from pieces of text")
    if any(f.code == "not-deterministic" for f in found):
        return Searched(None, 0, "the reward pays one text differently each time")
    if any(f.code in ("outscores-right", "no-signal") for f in found):
        return Searched(None, 0, "the families had found what it is for")
    row = next(i for i, b in enumerate(known) if b is not None)
    ranked = sorted((t for t in trials if t.row == row and not math.isnan(t.pay)), key=lambda t: -t.pay)
    seeds = list(dict.fromkeys(t.attempt.text for t in ranked[:40] if len(t.attempt.text) < 500))
    return search(subject, problems, row, forms, seeds[:10], seconds=budget)
