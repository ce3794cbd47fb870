"""The audit of a formula that asks a model: each text costs a request, so that only those are tried that speak to it.

Instructions in the response, verdicts that it forges, turns that it makes up, flattery: on as many rows as the budget
of requests allows. Everything else of an audit (forms, searches, texts that cost time) asks about hundreds of texts a
row and says little of a judge.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import islice
from typing import Final

from rewardkit.algebra.term import Cost
from rewardkit.analysis.checks import check
from rewardkit.audit.attacks.blanks import empties
from rewardkit.audit.attacks.judges import injections
from rewardkit.audit.attempt import Attempt
from rewardkit.audit.forms import FORMS, Form, Forms
from rewardkit.audit.problems import Problem
from rewardkit.audit.report import AuditReport
from rewardkit.audit.rules import by_severity, holes
from rewardkit.audit.subject import FormulaSubject, Subject
from rewardkit.audit.trials import baselines, says_what_it_claims, try_all
from rewardkit.errors import ConfigError, DataError

REQUESTS: Final = 300
"""Requests that an audit may take."""
_FORM: Final = FORMS[0]
_HONEST: Final = 6
"""Texts of a row that are asked about for its baseline, at most."""
_TWICE: Final = 2
"""A reply that can't be read is asked for once more."""


def asking(subject: Subject) -> int:
    """How many of a formula's terms ask other machines about a text; 0 for a function, whose code nobody sees."""
    if subject.formula is None:
        return 0
    return len(
        {n for n in subject.formula.walk() if n.term is not None and n.term.builtin and n.term.cost is Cost.REMOTE}
    )


def audit_judges(subject: Subject, problems: Sequence[Problem], requests: int, data: str) -> AuditReport:
    """Attack the judges of a formula.

    Args:
        subject: what pays; it asks at least one server.
        problems: the rows.
        requests: how many requests it may take; only what a failing server is asked again comes on top.
        data: the name of the file, for the report.

    Raises:
        ConfigError: the budget is too small for one row.
        DataError: no row's right answer could be scored.
    """
    began = time.monotonic()
    a_text = _TWICE * asking(subject)
    texts = requests // a_text - _HONEST
    if texts < 1:
        raise ConfigError(
            f"an audit of {requests} requests says nothing of {subject.name}, which takes up to {a_text} a text",
            hint=f"--requests {a_text * (_HONEST + len(_attempts(problems[0], _FORM)))} is enough for one row",
        )
    rows = list(_rows(problems, requests // a_text))
    forms = Forms(_FORM, (_FORM,), ())
    known, failure = baselines(subject, rows, forms)
    if all(b is None for b in known):
        raise DataError(f"{subject.name} scores no right answer to any of {len(rows)} rows: {failure}")
    chosen = [(i, a) for i, p in enumerate(rows) if known[i] is not None for a in _attempts(p, _FORM)]
    trials = try_all(subject, rows, islice(chosen, requests // a_text - _HONEST * len(rows)))
    static = check(subject.program) if isinstance(subject, FormulaSubject) else ()
    return AuditReport(
        reward=subject.name,
        by_part=True,
        data=data,
        rows=sum(b is not None for b in known),
        forms=forms,
        diagnostics=by_severity(holes(subject, rows, known, trials)),
        static=tuple(static),
        board=(),
        controls=(),
        fix=None,
        no_fix=None,
        tried=len(trials),
        searched=0,
        search_skipped=f"it asks a model: only texts that speak to one were tried, within {requests:,} requests",
        seconds=time.monotonic() - began,
    )


def _rows(problems: Sequence[Problem], texts: int) -> Sequence[Problem]:
    each = _HONEST + len(_attempts(problems[0], _FORM))
    return problems[: max(1, texts // each)]


def _attempts(problem: Problem, form: Form) -> list[Attempt]:
    made = [*injections(problem, form), *empties(problem, form)]
    return [attempt for attempt in made if says_what_it_claims(attempt, problem)]
