"""One audit, from the rows to the report."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Final

from rewardkit.analysis.checks import check
from rewardkit.audit.apart import OVERDUE
from rewardkit.audit.attacking import attacked, searched
from rewardkit.audit.board import board
from rewardkit.audit.controls import controls
from rewardkit.audit.diagnostics import AuditDiagnostic
from rewardkit.audit.evidence import evidence
from rewardkit.audit.forms import PROGRAM_FORMS
from rewardkit.audit.function import FunctionSubject
from rewardkit.audit.ground_truths import Kind
from rewardkit.audit.judged import REQUESTS, asking, audit_judges
from rewardkit.audit.problems import Problem
from rewardkit.audit.relations import relations
from rewardkit.audit.repair import repair
from rewardkit.audit.report import AuditReport
from rewardkit.audit.resources import resources
from rewardkit.audit.rules import by_severity, holes
from rewardkit.audit.steady import not_deterministic, order_matters, programs_stay, repeated
from rewardkit.audit.subject import FormulaSubject, Subject
from rewardkit.audit.trials import Baseline, Trial
from rewardkit.diagnostics import Severity

ROWS: Final = 6
"""Rows that are audited. A hole is one of the reward, seldom of a row."""
FAMILIES_S: Final = 8.0
"""Seconds, about, that the families' texts may take."""
TEXTS_A_ROW: Final = 300
PROGRAM_ROWS: Final = 2
PROGRAMS_S: Final = 30.0
PROGRAMS_A_ROW: Final = 80
"""The same three where answers are programs, each of which has to be run."""
BUDGET_S: Final = 5.0
"""Seconds for the search; the families take their own time, which is a few seconds at most for a formula."""


def audit(
    subject: Subject,
    problems: Sequence[Problem],
    *,
    budget: float = BUDGET_S,
    data: str = "",
    fix: bool = True,
    requests: int = REQUESTS,
) -> AuditReport:
    """Attack a reward on real rows.

    Args:
        subject: what pays.
        problems: the rows; :func:`rewardkit.audit.problems.read_problems` chooses some of a file.
        budget: seconds that the search may take.
        data: the name of the file, for the report.
        fix: look for a formula without the holes.
        requests: how many requests it may take where the formula asks judges or reward models; then only texts that
            speak to these are tried.

    Raises:
        ConfigError: so few requests that nothing could be said.
        DataError: no row's right answer could be scored.
    """
    if asking(subject):
        return audit_judges(subject, problems, requests, data)
    try:
        return _audited(subject, problems, budget, data, fix)
    finally:
        subject.close()


def _audited(subject: Subject, problems: Sequence[Problem], budget: float, data: str, fix: bool) -> AuditReport:
    began = time.monotonic()
    programs = problems[0].truth.kind is Kind.PROGRAM
    problems = [p for p in problems if (p.truth.kind is Kind.PROGRAM) is programs]
    plain = subject
    if programs and isinstance(subject, FunctionSubject):
        subject = subject.for_programs()
    problems = _affordable(subject, problems)
    remembers = order_matters(subject, problems)
    forms, known, trials = attacked(subject, problems)
    changes, known, trials = repeated(subject, problems, known, trials)
    change = remembers or changes
    if programs and isinstance(plain, FunctionSubject):
        change = programs_stay(plain, problems[0], forms, [t for t in trials if t.row == 0])
    found = [
        *holes(subject, problems, known, trials, blind=not forms.read),
        *_failures(subject, problems, known, trials),
    ]
    if programs:
        found += [] if change is None else [not_deterministic(change, problems[change.row])]
    elif change is None:
        found += relations(subject, problems, known, forms)
    else:  # what compares two texts says nothing here, nor do small differences
        found = [f for f in found if f.severity.reaches(Severity.WARNING) and f.code != "no-signal"]
        found.append(not_deterministic(change, problems[change.row]))
    row = next(i for i, b in enumerate(known) if b is not None)
    base = known[row]
    assert base is not None
    stopped = [t.attempt for t in trials if t.row == row and t.reason is not None and t.reason.startswith(OVERDUE)]
    slow, bombs = resources(subject, problems[row], forms, base.right, stopped) if stopped or not programs else ([], 0)
    found += slow
    search = searched(subject, problems, known, forms, trials, found, budget)
    if search.best is not None and _is_news(search.best, known, trials):
        found += [f for f in holes(subject, problems, known, [search.best]) if f.severity is not Severity.NOTE]
    diagnostics = by_severity(found)
    static = check(subject.program) if isinstance(subject, FormulaSubject) else ()
    tried = [*trials, *([search.best] if search.best is not None else [])]
    repaired, no_fix = repair(subject, problems, diagnostics, tried, budget) if fix else (None, None)
    return AuditReport(
        reward=subject.name,
        by_part=subject.formula is not None,
        data=data,
        rows=sum(b is not None for b in known),
        forms=forms,
        diagnostics=diagnostics,
        static=tuple(static),
        board=board(subject, problems, forms),
        controls=controls(problems),
        fix=repaired,
        no_fix=no_fix,
        tried=len(trials) + bombs + search.tried,
        searched=search.tried,
        search_skipped=search.skipped,
        seconds=time.monotonic() - began,
    )


def _affordable(subject: Subject, problems: Sequence[Problem]) -> Sequence[Problem]:
    """Fewer rows for a reward that takes milliseconds a text: the families are tried in full on one row at least."""
    if problems[0].truth.kind is Kind.PROGRAM:
        began = time.perf_counter()
        subject.pay(
            [problems[0].sample(PROGRAM_FORMS[0](a)) for a in (problems[0].truth.text, problems[0].truth.wrong[0])]
        )
        each = (time.perf_counter() - began) / 2
        return problems[: max(1, min(PROGRAM_ROWS, int(PROGRAMS_S / (PROGRAMS_A_ROW * each))))]
    texts = [p.sample(f"{i}\n#### {p.truth.text}") for p in problems[:4] for i in range(4)]
    subject.pay(texts[:1])  # what it does once, such as starting a worker, is not what a text costs
    began = time.perf_counter()
    subject.pay(texts)
    each = (time.perf_counter() - began) / len(texts)
    return problems[: max(1, int(FAMILIES_S / (TEXTS_A_ROW * each)))]


def _failures(
    subject: Subject, problems: Sequence[Problem], known: Sequence[Baseline | None], trials: Sequence[Trial]
) -> list[AuditDiagnostic]:
    """A text on which the reward itself fails."""
    failed = [t for t in trials if t.reason is not None and not t.reason.startswith(OVERDUE)]
    if not failed:
        return []
    worst = min(failed, key=lambda t: len(t.attempt.text))
    base = known[worst.row]
    assert base is not None
    shown = evidence(subject, problems[worst.row], base, worst, None)
    message = f"it fails on {len(failed)} of {len(trials)} texts: {worst.reason}"
    fix = "make it say NO_ANSWER, or 0, where a response can't be read"
    return [
        AuditDiagnostic(
            "fails", message, hint=fix, family=worst.attempt.family, evidence=shown, rows=len({t.row for t in failed})
        )
    ]


def _is_news(best: Trial, known: Sequence[Baseline | None], trials: Sequence[Trial]) -> bool:
    """Whether the search got clearly more than the families did on its row."""
    base = known[best.row]
    assert base is not None
    before = max((t.pay for t in trials if t.row == best.row and not math.isnan(t.pay)), default=-math.inf)
    return best.pay > before + 0.05 * max(abs(base.worth), 1e-6)
