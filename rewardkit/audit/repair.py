"""The formula that is offered instead: a candidate that stands what the original did not, and a search of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from rewardkit.audit.attacking import attacked, searched
from rewardkit.audit.diagnostics import AuditDiagnostic
from rewardkit.audit.fixes import Fix, candidates
from rewardkit.audit.ground_truths import Kind
from rewardkit.audit.problems import Problem
from rewardkit.audit.relations import relations
from rewardkit.audit.rules import holes
from rewardkit.audit.subject import FormulaSubject, Subject
from rewardkit.audit.tools import trajectories
from rewardkit.audit.trials import Trial, try_all
from rewardkit.diagnostics import Severity
from rewardkit.engine.program import compile
from rewardkit.turns import last_said

ROWS: Final = 3
REPLAYED: Final = 150
"""Texts of the original's audit that are tried on a candidate, the best paid first."""
SEARCH_S: Final = 2.0
_CHUNK: Final = 20
"""Texts that are compared at a time: most candidates differ from the original on the first of them."""
_BY_DESIGN: Final = frozenset({"last-counts", "part-paid"})
"""What a formula may do on purpose: take the last answer, pay a step on the way."""
_MENDED: Final = {("padding-pays", Severity.WARNING)}
"""Diagnostics below an error for which a formula is looked for all the same."""


def repair(
    subject: Subject,
    problems: Sequence[Problem],
    found: Sequence[AuditDiagnostic],
    trials: Sequence[Trial],
    budget: float,
) -> tuple[Fix | None, str | None]:
    """A formula without the holes, or why none is offered; neither where none is needed.

    Args:
        subject: what was audited.
        problems: the rows.
        found: what was found in it.
        trials: the texts that were tried on it, those of the search among them.
        budget: seconds that the audit's search may take; a candidate's takes two of them at most.
    """
    mended = _MENDED if subject.formula is not None else set()
    if not any(f.severity is Severity.ERROR or (f.code, f.severity) in mended for f in found):
        return None, None
    few = problems[:ROWS]
    texts = sorted((t for t in trials if t.row < len(few) and not np.isnan(t.pay)), key=lambda t: -t.pay)[:REPLAYED]
    best: tuple[int, Fix] | None = None
    count = equal = 0
    for candidate in candidates(subject.formula, problems[0].truth.kind):
        repaired = FormulaSubject(compile(candidate))
        count += 1
        if _pays_the_same(subject, repaired, few, texts):
            equal += 1
            continue
        its, tried = _findings(repaired, few, texts, min(budget, SEARCH_S))
        left = [f for f in its if f.severity.reaches(Severity.WARNING) and f.code not in _BY_DESIGN]
        if any(f.severity is Severity.ERROR for f in left):
            continue
        fix = Fix(repr(candidate), tuple(dict.fromkeys(f.code for f in left)), tried)
        if best is None or len(left) < best[0]:
            best = (len(left), fix)
        if not left:
            break
    if best is not None:
        return best[1], None
    same = f", {equal} of them because they pay every text what this reward pays it" if equal else ""
    return None, f"no repair found; {count} formulas were tried, and none is without an error{same}"


def _findings(
    subject: Subject, problems: Sequence[Problem], texts: Sequence[Trial], seconds: float
) -> tuple[list[AuditDiagnostic], int]:
    """What is found in a candidate, by its own attacks, by the texts that the original paid, and by a search."""
    forms, known, trials = attacked(subject, problems)
    trials += try_all(subject, problems, ((t.row, t.attempt) for t in texts if known[t.row] is not None))
    its = [*holes(subject, problems, known, trials, blind=not forms.read)]
    if problems[0].truth.kind is not Kind.PROGRAM:
        its += relations(subject, problems, known, forms)
    if any(f.severity is Severity.ERROR for f in its):
        return its, len(trials)
    search = searched(subject, problems, known, forms, trials, its, seconds)
    if search.best is not None:
        its += holes(subject, problems, known, [search.best])
    return its, len(trials) + search.tried


def _pays_the_same(subject: Subject, other: Subject, problems: Sequence[Problem], texts: Sequence[Trial]) -> bool:
    """Whether a candidate pays every text that was tried, and right answers, what the original does."""
    samples = [problems[t.row].sample(t.attempt.text, t.attempt.truncated) for t in texts]
    samples += [p.sample(f"{work}#### {p.truth.text}") for p in problems for work in ("", "so. " * 40)]
    if subject.reads_turns:
        samples += [
            p.sample(last_said(right), turns=right)
            for p in problems
            for _, right, _ in trajectories(p, "#### {}".format)
        ]
    chunks = (samples[i : i + _CHUNK] for i in range(0, len(samples), _CHUNK))
    return all(np.allclose(subject.pay(c).total, other.pay(c).total, atol=1e-9, equal_nan=True) for c in chunks)
