"""The audit, audited: two rewards of which it is known what may be found.

A reference grader of the rows' kind of answer should be caught by nothing; what catches it all the same is either a
hole of the grader or a false alarm, and the diagnostics of that family are to be read with care. A reward that pays
nothing must be found to teach nothing, and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rewardkit.audit.fixes import reference
from rewardkit.audit.forms import detect
from rewardkit.audit.ground_truths import Kind
from rewardkit.audit.problems import Problem
from rewardkit.audit.rules import holes
from rewardkit.audit.subject import FormulaSubject, Subject
from rewardkit.audit.trials import attempts_on, baselines, try_all
from rewardkit.diagnostics import Severity
from rewardkit.engine.program import compile
from rewardkit.terms import code_tests

ROWS = 2


@dataclass(frozen=True, slots=True)
class Control:
    """What was found in a reward of which it is known.

    Attributes:
        name: the reward.
        expected: the codes that have to be found.
        found: the codes that were, with the family, but for low ones.
        tried: how many texts were tried.
    """

    name: str
    expected: tuple[str, ...]
    found: tuple[str, ...]
    tried: int

    @property
    def as_expected(self) -> bool:
        """No false alarm, and none missing."""
        return {f.partition("/")[0] for f in self.found} == set(self.expected)


def controls(problems: Sequence[Problem]) -> tuple[Control, ...]:
    """The reference grader and the reward that pays nothing."""
    rows = problems[: 1 if problems[0].truth.kind is Kind.PROGRAM else ROWS]
    kind = rows[0].truth.kind
    grader = FormulaSubject(compile(code_tests(cpu_seconds=1) if kind is Kind.PROGRAM else reference(kind)))
    return (
        _control("a reference grader, " + grader.name, grader, rows, ()),
        _control("a reward that pays nothing", FormulaSubject(compile(0)), rows, ("no-signal",)),
    )


def _control(name: str, subject: Subject, rows: Sequence[Problem], expected: tuple[str, ...]) -> Control:
    forms = detect(subject, rows)
    known, _ = baselines(subject, rows, forms)
    trials = try_all(subject, rows, [(i, a) for i, p in enumerate(rows) for a in attempts_on(p, forms)])
    serious = [f for f in holes(subject, rows, known, trials) if f.severity.reaches(Severity.WARNING)]
    return Control(name, expected, tuple(f"{f.code}/{f.family}" for f in serious), len(trials))
