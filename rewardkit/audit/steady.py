"""Whether the same text is paid the same: again, after others, and in another order.

Of a reward that draws a number or remembers what it has seen, one text's pay says little. What is reported then is
that, and a hole only where it stands after a text was paid often: the least that it was ever paid counts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from rewardkit.audit.diagnostics import AuditDiagnostic, Evidence
from rewardkit.audit.forms import FORMS, Forms
from rewardkit.audit.function import FunctionSubject
from rewardkit.audit.ground_truths import Kind
from rewardkit.audit.problems import Problem
from rewardkit.audit.subject import Subject
from rewardkit.audit.trials import Baseline, Trial
from rewardkit.batch import Floats

TIMES: Final = 24
"""How often a well-paid text is paid again, of a reward that was seen to change its mind."""
_SLACK: Final = 1e-6


@dataclass(frozen=True, slots=True)
class Change:
    """A text that was paid differently.

    Attributes:
        text: the text.
        pays: what it was paid, the different values only.
        why: when, in words.
        right: whether it is a right answer.
        row: its row.
    """

    text: str
    pays: tuple[float, ...]
    why: str
    right: bool
    row: int


def order_matters(subject: Subject, problems: Sequence[Problem]) -> Change | None:
    """Right and wrong answers, each order to a process that has paid nothing yet."""
    if not isinstance(subject, FunctionSubject):
        return None
    row = problems[0]
    if row.truth.kind is Kind.PROGRAM:
        return None
    cases = [(f(a), a == row.truth.text) for f in FORMS for a in (row.truth.text, row.truth.wrong[0])]
    samples = [row.sample(text) for text, _ in cases]
    paid = [subject.fresh(chosen).total for chosen in (samples, samples, samples[::-1])]
    first, again, turned = paid[0], paid[1], paid[2][::-1]
    for other, why in ((again, "by the same calls again"), (turned, "after other texts were paid")):
        changed = _changed(first, other)
        if changed:
            place = max(changed, key=lambda i: abs(first[i] - other[i]))
            pays = tuple(sorted({float(first[place]), float(other[place])}))
            return Change(cases[place][0], pays, why, cases[place][1], 0)
    return None


def repeated(
    subject: Subject, problems: Sequence[Problem], known: Sequence[Baseline | None], trials: Sequence[Trial]
) -> tuple[Change | None, list[Baseline | None], list[Trial]]:
    """Every text once more; where one is paid differently, the well-paid ones often, and the least that each was paid.

    Formulas of built-in terms are left as they are: the engine's laws are tested elsewhere.
    """
    if subject.trusted or not trials or problems[0].truth.kind is Kind.PROGRAM:
        return None, list(known), list(trials)
    samples = [problems[t.row].sample(t.attempt.text, t.attempt.truncated) for t in trials]
    least = np.array([t.pay for t in trials])
    again = subject.pay(samples).total
    changed = _changed(least, again)
    if not changed:
        change, firm = _right_changes(subject, problems, known)
        return change, (list(known) if change is None else firm), list(trials)
    place = max(changed, key=lambda i: abs(least[i] - again[i]))
    pays = tuple(sorted({float(least[place]), float(again[place])}))
    change = Change(trials[place].attempt.text, pays, "when it was paid again", False, trials[place].row)
    least = np.fmin(least, again)
    for _ in range(TIMES):
        left = [i for i, t in enumerate(trials) if _matters(float(least[i]), known[t.row])]
        if not left:
            break
        least[left] = np.fmin(least[left], subject.pay([samples[i] for i in left]).total)
    _, firm = _right_changes(subject, problems, known)
    return change, firm, [replace(t, pay=float(p)) for t, p in zip(trials, least, strict=True)]


def programs_stay(subject: FunctionSubject, problem: Problem, forms: Forms, trials: Sequence[Trial]) -> Change | None:
    """Whether a program of one response changes what a process pays the next ones."""
    patches = [t.attempt.text for t in trials if t.attempt.family in ("builtins", "callers") and t.reason is None]
    honest = [forms.best(problem.truth.wrong[0]), forms.best(problem.truth.text)]
    paid = subject.pay([problem.sample(text) for text in (*honest, *patches, *honest)]).total
    changed = _changed(paid[:2], paid[-2:])
    if not changed:
        return None
    pays = tuple(sorted({float(paid[changed[0]]), float(paid[changed[0] - 2])}))
    why = "after programs of other responses had run in the same process"
    return Change(honest[changed[0]], pays, why, changed[0] == 1, 0)


def not_deterministic(change: Change, problem: Problem) -> AuditDiagnostic:
    """The diagnostic that a change is."""
    whose = "a right answer" if change.right else "a wrong answer, or none,"
    message = f"{whose} is paid {' or '.join(f'{p:.4g}' for p in change.pays)}: it changed {change.why}"
    shown = Evidence(change.text, change.pays[-1], {}, whose, problem.truth.shown, change.text, change.pays[0], {})
    fix = "pay a text by nothing but itself and its row: no random numbers, no clock, nothing kept between calls"
    return AuditDiagnostic("not-deterministic", message, hint=fix, family="determinism", evidence=shown, rows=1)


def _right_changes(
    subject: Subject, problems: Sequence[Problem], known: Sequence[Baseline | None]
) -> tuple[Change | None, list[Baseline | None]]:
    """Whether right answers are paid differently, and baselines with the most that they are paid."""
    change: Change | None = None
    firm: list[Baseline | None] = []
    for row, (problem, base) in enumerate(zip(problems, known, strict=True)):
        if base is None:
            firm.append(None)
            continue
        texts = [problem.sample(t) for t in (base.right, base.usual)]
        often = np.fmax.reduce([subject.pay(texts).total for _ in range(TIMES)])
        right, usual = (max(float(new), old) for new, old in zip(often, (base.right_pay, base.usual_pay), strict=True))
        if change is None and right > base.right_pay + _SLACK:
            change = Change(base.right, (base.right_pay, right), "when it was paid again", True, row)
        firm.append(replace(base, right_pay=right, usual_pay=max(usual, right)))
    return change, firm


def _matters(pay: float, base: Baseline | None) -> bool:
    return base is not None and not math.isnan(pay) and pay > base.floor + 0.2 * abs(base.worth)


def _changed(one: Floats, other: Floats) -> list[int]:
    return [int(i) for i in np.flatnonzero(np.abs(one - other) > _SLACK)]
