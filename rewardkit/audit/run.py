"""One audit, from the rows to the report."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Final

from rewardkit.analysis.checks import findings as static_findings
from rewardkit.audit.board import board
from rewardkit.audit.combining import combined
from rewardkit.audit.controls import controls
from rewardkit.audit.evidence import evidence
from rewardkit.audit.finding import AuditFinding, Severity
from rewardkit.audit.fixes import Fix, candidates
from rewardkit.audit.forms import Forms, detect
from rewardkit.audit.problems import Problem
from rewardkit.audit.relations import relations
from rewardkit.audit.report import AuditReport
from rewardkit.audit.resources import resources
from rewardkit.audit.rules import by_severity, holes
from rewardkit.audit.search import Searched, search
from rewardkit.audit.subject import FormulaSubject, Subject
from rewardkit.audit.trials import Baseline, Trial, attempts_on, baselines, try_all
from rewardkit.engine.program import compile
from rewardkit.errors import DataError

ROWS: Final = 6
"""Rows that are audited. A hole is one of the reward, seldom of a row."""
FAMILIES_S: Final = 8.0
"""Seconds, about, that the families' texts may take."""
TEXTS_A_ROW: Final = 300
_BY_DESIGN: Final = frozenset({"last-counts", "part-paid"})
"""What a formula may do on purpose: take the last answer, pay a step on the way."""
_MENDED: Final = {("padding-pays", Severity.MEDIUM)}
"""Findings below high for which a formula is looked for all the same."""
BUDGET_S: Final = 5.0
"""Seconds for the search; the families take their own time, which is a few seconds at most for a formula."""


def audit(
    subject: Subject, problems: Sequence[Problem], *, budget: float = BUDGET_S, data: str = "", fix: bool = True
) -> AuditReport:
    """Attack a reward on real rows.

    Args:
        subject: what pays.
        problems: the rows; :func:`rewardkit.audit.problems.read_problems` chooses some of a file.
        budget: seconds that the search may take.
        data: the name of the file, for the report.
        fix: look for a formula without the holes.

    Raises:
        DataError: no row's right answer could be scored.
    """
    began = time.monotonic()
    problems = _affordable(subject, problems)
    forms, known, trials = _attacked(subject, problems)
    found = [
        *holes(subject, problems, known, trials, blind=not forms.read),
        *_failures(subject, problems, known, trials),
    ]
    found += relations(subject, problems, known, forms)
    row = next(i for i, b in enumerate(known) if b is not None)
    base = known[row]
    assert base is not None
    slow, bombs = resources(subject, problems[row], forms, base.right)
    found += slow
    searched = _searched(subject, problems, row, known, forms, trials, found, budget)
    if searched.best is not None and _is_news(searched.best, known, trials):
        found += [f for f in holes(subject, problems, known, [searched.best]) if f.severity is not Severity.LOW]
    findings = by_severity(found)
    static = static_findings(subject.program) if isinstance(subject, FormulaSubject) else ()
    repaired = _fix(subject, problems, findings) if fix else None
    return AuditReport(
        reward=subject.name,
        by_part=subject.formula is not None,
        data=data,
        rows=sum(b is not None for b in known),
        forms=forms,
        findings=findings,
        static=tuple(static),
        board=board(subject, problems, forms),
        controls=controls(problems),
        fix=repaired,
        tried=len(trials) + bombs + searched.tried,
        searched=searched.tried,
        search_skipped=searched.skipped,
        seconds=time.monotonic() - began,
    )


def _affordable(subject: Subject, problems: Sequence[Problem]) -> Sequence[Problem]:
    """Fewer rows for a reward that takes milliseconds a text: the families are tried in full on one row at least."""
    texts = [p.sample(f"{i}\n#### {p.gold.text}") for p in problems[:4] for i in range(4)]
    subject.pay(texts[:1])  # what it does once, such as starting a worker, is not what a text costs
    began = time.perf_counter()
    subject.pay(texts)
    each = (time.perf_counter() - began) / len(texts)
    return problems[: max(1, int(FAMILIES_S / (TEXTS_A_ROW * each)))]


def _attacked(subject: Subject, problems: Sequence[Problem]) -> tuple[Forms, list[Baseline | None], list[Trial]]:
    """What the reward reads, what honest texts are paid, and what every family's texts are, alone and combined."""
    forms = detect(subject, problems)
    known, failure = baselines(subject, problems, forms)
    if all(b is None for b in known):
        raise DataError(
            f"{subject.name} scores no right answer to any of {len(problems)} rows: {failure}",
            hint="the rows lack what it reads, or it fails on every text",
        )
    rows = [(i, a) for i, p in enumerate(problems) if known[i] is not None for a in attempts_on(p, forms)]
    trials = try_all(subject, problems, rows)
    trials += combined(subject, problems, known, trials)
    return forms, known, trials


def _failures(
    subject: Subject, problems: Sequence[Problem], known: Sequence[Baseline | None], trials: Sequence[Trial]
) -> list[AuditFinding]:
    """A text on which the reward itself fails."""
    failed = [t for t in trials if t.reason is not None]
    if not failed:
        return []
    worst = min(failed, key=lambda t: len(t.attempt.text))
    base = known[worst.row]
    assert base is not None
    shown = evidence(subject, problems[worst.row], base, worst, None)
    message = f"it fails on {len(failed)} of {len(trials)} texts: {worst.reason}"
    fix = "make it say NO_ANSWER, or 0, where a response can't be read"
    return [
        AuditFinding("fails", Severity.MEDIUM, worst.attempt.family, message, shown, len({t.row for t in failed}), fix)
    ]


def _searched(
    subject: Subject,
    problems: Sequence[Problem],
    row: int,
    known: Sequence[Baseline | None],
    forms: Forms,
    trials: Sequence[Trial],
    found: Sequence[AuditFinding],
    budget: float,
) -> Searched:
    if any(f.code in ("outscores-right", "no-signal") for f in found):
        return Searched(None, 0, "the families had found what it is for")
    base = known[row]
    assert base is not None
    ranked = sorted((t for t in trials if t.row == row and not math.isnan(t.pay)), key=lambda t: -t.pay)
    seeds = list(dict.fromkeys(t.attempt.text for t in ranked[:40] if len(t.attempt.text) < 500))
    return search(subject, problems, row, forms, seeds[:10], seconds=budget)


def _is_news(best: Trial, known: Sequence[Baseline | None], trials: Sequence[Trial]) -> bool:
    """Whether the search got clearly more than the families did on its row."""
    base = known[best.row]
    assert base is not None
    before = max((t.pay for t in trials if t.row == best.row and not math.isnan(t.pay)), default=-math.inf)
    return best.pay > before + 0.05 * max(abs(base.worth), 1e-6)


def _fix(subject: Subject, problems: Sequence[Problem], found: Sequence[AuditFinding]) -> Fix | None:
    """The first candidate that the same attacks find nothing high in, one without medium findings before others."""
    mended = _MENDED if subject.formula is not None else set()
    if not any(f.severity is Severity.HIGH or (f.code, f.severity) in mended for f in found):
        return None
    best: tuple[int, Fix] | None = None
    for candidate in candidates(subject.formula, problems[0].gold.kind):
        repaired = FormulaSubject(compile(candidate))
        forms, known, trials = _attacked(repaired, problems[:3])
        its = [*holes(repaired, problems, known, trials), *relations(repaired, problems[:3], known, forms)]
        left = [f for f in its if f.severity.reaches(Severity.MEDIUM) and f.code not in _BY_DESIGN]
        if any(f.severity is Severity.HIGH for f in left):
            continue
        fix = Fix(repr(candidate), tuple(dict.fromkeys(f.code for f in left)), len(trials))
        if best is None or len(left) < best[0]:
            best = (len(left), fix)
        if not left:
            break
    return None if best is None else best[1]
