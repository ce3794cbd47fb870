"""Texts that cost time, each under a deadline: a reward that hangs on one sample stops the training of all.

A formula of built-in terms comes back from any text. A user's code may not, and is stopped (:mod:`.apart`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

from rewardkit.audit.apart import OVERDUE, SLOW_S
from rewardkit.audit.attacks import BOMBS
from rewardkit.audit.attempt import Attempt
from rewardkit.audit.diagnostics import AuditDiagnostic, Evidence
from rewardkit.audit.forms import Forms
from rewardkit.audit.problems import Problem
from rewardkit.audit.subject import Subject

Measured = tuple[float, str | None, Attempt]


def resources(
    subject: Subject, problem: Problem, forms: Forms, honest: str, stopped: Sequence[Attempt] = ()
) -> tuple[list[AuditDiagnostic], int]:
    """The slowest text as a diagnostic, and how many were tried.

    Args:
        subject: what pays.
        problem: the row.
        forms: how it reads answers.
        honest: the right answer beside which the diagnostic is shown.
        stopped: texts that have been found already to take too long.
    """
    attempts = list(BOMBS(problem, forms.best))
    measured: list[Measured] = [(math.inf, None, a) for a in sorted(stopped, key=lambda a: len(a.text))]
    measured += _measured(subject, problem, attempts) if not measured else []
    seconds, reason, attempt = max(measured, key=lambda m: m[0])
    if seconds < SLOW_S:
        return [], len(attempts)
    took = "too long, and was stopped" if math.isinf(seconds) else f"{seconds:.1f} s"
    many = sum(s >= SLOW_S for s, _, _ in measured)
    others = f"; so do {many - 1} more" if many > 1 else ""
    shown = Evidence(attempt.text, math.nan, {}, attempt.says, problem.truth.shown, honest, math.nan, {})
    message = f"{attempt.name} of {len(attempt.text):,} characters took {took}{others}" + (
        f" ({reason})" if reason else ""
    )
    fix = "set limits before parsing, and grade in a process that can be killed: math_equal() and matches() do"
    return [AuditDiagnostic("slow", message, hint=fix, family="bomb", evidence=shown, rows=1)], len(attempts)


def _measured(subject: Subject, problem: Problem, attempts: Sequence[Attempt]) -> list[Measured]:
    found: list[Measured] = []
    for attempt in attempts:
        began = time.perf_counter()
        reason = subject.pay([problem.sample(attempt.text)]).reasons.get(0)
        fatal = reason is not None and (reason.startswith(OVERDUE) or reason == "its process died")
        found.append((math.inf if fatal else time.perf_counter() - began, reason if fatal else None, attempt))
    return found
