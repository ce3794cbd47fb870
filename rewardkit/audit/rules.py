"""What is paid without being right: the rules that make diagnostics of trials.

What a text earns is measured against what being right earns on the same row: the least that a right answer is paid, in
a form that the reward reads, less what the empty text or the plain wrong answer is paid.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from rewardkit.audit.attempt import Claim
from rewardkit.audit.diagnostics import AuditDiagnostic, Evidence
from rewardkit.audit.evidence import evidence
from rewardkit.audit.problems import Problem
from rewardkit.audit.subject import Subject
from rewardkit.audit.trials import Baseline, Trial
from rewardkit.diagnostics import Severity

AS_RIGHT: Final = 0.9
"""The share of what being right earns from which a text is paid as if it were right."""
CONSIDERABLE: Final = 0.25
"""The share from which it is worth a policy's while."""
LEAST: Final = 0.01
_EPSILON: Final = 1e-6

Known = Sequence[Baseline | None]


@dataclass(frozen=True, slots=True)
class _Verdict:
    """What a trial amounts to."""

    code: str
    severity: Severity
    share: float
    """Of what being right earns."""

    def is_like(self, other: _Verdict) -> bool:
        return (self.code, self.severity) == (other.code, other.severity)


_ORDER: Final = (
    ("outscores-right", Severity.ERROR),
    ("paid-as-right", Severity.ERROR),
    ("paid-as-right", Severity.WARNING),
    ("last-counts", Severity.WARNING),
    ("part-paid", Severity.WARNING),
    ("part-paid", Severity.NOTE),
)


def holes(
    subject: Subject, problems: Sequence[Problem], known: Known, trials: Sequence[Trial], *, blind: bool = False
) -> list[AuditDiagnostic]:
    """The worst that each family of attacks does; of families that one shaping part pays, one diagnostic.

    Args:
        subject: what pays.
        problems: the rows.
        known: their baselines.
        trials: texts and their pay.
        blind: whether the reward looks at no ground truth, so that all of it is shaping.
    """
    if not trials:
        return []
    silent = all(b is None or abs(b.usual_pay - b.floor) <= _EPSILON for b in known)
    by_family: dict[str, list[Trial]] = {}
    for trial in trials:
        if known[trial.row] is not None and not math.isnan(trial.pay):
            by_family.setdefault(trial.attempt.family, []).append(trial)
    worst = [f for family, its in by_family.items() for f in _worst(subject, problems, known, family, its)]
    if silent:  # only what is paid above a right answer can be told
        nothing = _no_signal(subject, problems, known, trials)
        worst = [nothing, *(f for f in worst if f.code == "outscores-right")]
    return _merged(subject, by_severity(worst), blind)


def _worst(
    subject: Subject, problems: Sequence[Problem], known: Known, family: str, trials: Sequence[Trial]
) -> list[AuditDiagnostic]:
    judged = [(t, v) for t in trials if (v := _verdict(t, known)) is not None]
    lucky = _lucky(trials, judged)
    judged = [(t, _Verdict("last-counts", Severity.WARNING, v.share) if t in lucky else v) for t, v in judged]
    for code, severity in _ORDER:
        its = [(t, v) for t, v in judged if (v.code, v.severity) == (code, severity)]
        if its:
            # what outscores a right answer is clearest in the shortest text; of the others, what earns most
            greed = 0.0 if code == "outscores-right" else -1.0
            trial, verdict = min(its, key=lambda item: (greed * round(item[1].share, 6), *_size(item[0])))
            return [_finding(subject, problems, known, family, trial, verdict, len({t.row for t, _ in its}))]
    return []


def _size(trial: Trial) -> tuple[bool, int]:
    return (" + " in trial.attempt.name, len(trial.attempt.text))


def _verdict(trial: Trial, known: Known) -> _Verdict | None:
    base = known[trial.row]
    assert base is not None
    verdict = _judge(trial.pay, base)
    if verdict is not None and trial.attempt.spelled and verdict.severity is Severity.ERROR:
        return _Verdict("paid-as-right", Severity.WARNING, verdict.share)
    return verdict


def _judge(pay: float, base: Baseline) -> _Verdict | None:
    slack = _EPSILON * max(1.0, abs(base.right_pay))
    share = (pay - base.floor) / base.worth if base.worth > slack else math.inf if pay > base.floor + slack else 0.0
    if pay > base.right_pay + slack:
        return _Verdict("outscores-right", Severity.ERROR, share)
    if share >= AS_RIGHT:
        return _Verdict("paid-as-right", Severity.ERROR, share)
    if share >= CONSIDERABLE:
        return _Verdict("part-paid", Severity.WARNING, share)
    return _Verdict("part-paid", Severity.NOTE, share) if share > LEAST else None


def _lucky(trials: Sequence[Trial], judged: Sequence[tuple[Trial, _Verdict]]) -> set[Trial]:
    """Lists that are paid with the ground truth in one place and not in another: the reward takes one answer of them.

    A policy that doesn't know the ground truth gains nothing by such a list; it can still hedge without a cost.
    """
    high = {(t.row, t.attempt.layout, t.attempt.name) for t, v in judged if v.severity is Severity.ERROR}
    plain = [t for t in trials if t.attempt.layout and " + " not in t.attempt.name]
    always: dict[tuple[int, str], bool] = {}
    for t in plain:
        key = (t.row, t.attempt.layout)
        always[key] = always.get(key, True) and (t.row, t.attempt.layout, t.attempt.name) in high
    return {
        t
        for t, v in judged
        if t.attempt.layout and v.severity is Severity.ERROR and not always.get((t.row, t.attempt.layout), True)
    }


def _finding(
    subject: Subject,
    problems: Sequence[Problem],
    known: Known,
    family: str,
    trial: Trial,
    verdict: _Verdict,
    rows: int,
) -> AuditDiagnostic:
    base, problem = known[trial.row], problems[trial.row]
    assert base is not None

    def shows(pay: float) -> bool:
        now = _judge(pay, base)
        if now is None or not now.is_like(verdict):
            return False
        return verdict.code == "outscores-right" or now.share >= verdict.share - 1e-9

    honest = base.right if verdict.code == "outscores-right" else base.usual
    shown = evidence(subject, problem, base, trial, shows, honest=honest)
    message = _message(verdict, shown)
    culprit = shown.culprit
    if culprit is not None:
        message += f"; {shown.parts[culprit]:.4g} of it for {culprit}"
    return AuditDiagnostic(
        verdict.code, message, culprit or "", severity=verdict.severity, family=family, evidence=shown, rows=rows
    )


def _message(verdict: _Verdict, shown: Evidence) -> str:
    if verdict.code == "outscores-right":
        return f"{shown.says} is paid {shown.pay:.4g}, a right one {shown.honest_pay:.4g}"
    if verdict.code == "paid-as-right":
        return f"{shown.says} is paid {shown.pay:.4g}, as a right one is ({shown.honest_pay:.4g})"
    if verdict.code == "last-counts":
        return f"of several answers one counts by its place ({shown.pay:.4g}; right {shown.honest_pay:.4g})"
    share = f"{verdict.share:.0%} of what being right does"
    return f"{shown.says} earns {share} ({shown.pay:.4g}; right {shown.honest_pay:.4g})"


def _merged(subject: Subject, diagnostics: Sequence[AuditDiagnostic], blind: bool) -> list[AuditDiagnostic]:
    """Families that one shaping part pays are one diagnostic: it is the part that has to be mended, not the family.

    A part that reads the ground truth is fooled by each family in its own way. Of a function no part is seen, so only
    its lesser diagnostics are put together.
    """
    kept: dict[tuple[str, ...], AuditDiagnostic] = {}
    for f in diagnostics:
        culprit = f.evidence.culprit if f.evidence is not None else None
        key: tuple[str, ...] = (f.code, f.severity, f.family)
        if blind or culprit in subject.shaping or (culprit is None and f.severity is not Severity.ERROR):
            key = (f.code, f.severity, "part", culprit or "")
        first = kept.get(key)
        kept[key] = f if first is None else replace(first, also=(*first.also, f.family), rows=max(first.rows, f.rows))
    return list(kept.values())


def _no_signal(subject: Subject, problems: Sequence[Problem], known: Known, trials: Sequence[Trial]) -> AuditDiagnostic:
    row = next(i for i, b in enumerate(known) if b is not None)
    base = known[row]
    assert base is not None
    empty = next((t for t in trials if t.row == row and not t.attempt.text), trials[0])
    shown = evidence(subject, problems[row], base, empty, None)
    message = f"a right answer is paid {base.right_pay:.4g}, and so is an empty text: there is nothing to learn"
    return AuditDiagnostic(
        "no-signal", message, family="constant", evidence=shown, rows=sum(b is not None for b in known)
    )


def by_severity(diagnostics: Sequence[AuditDiagnostic]) -> tuple[AuditDiagnostic, ...]:
    """The worst first; of equals, a plain wrong answer before a text without one, and the shorter before the longer."""
    order: Mapping[str, int] = {"outscores-right": 0, "paid-as-right": 1, "no-signal": 2}

    def key(f: AuditDiagnostic) -> tuple[int, int, bool, int]:
        size = (f.evidence.says != Claim.WRONG.says, len(f.evidence.text)) if f.evidence else (True, 0)
        return f.severity.rank, order.get(f.code, 3), *size

    return tuple(sorted(diagnostics, key=key))
