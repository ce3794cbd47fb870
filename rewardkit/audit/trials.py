"""Try texts on a subject: what each row's right answers are paid, and what everything else is."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from rewardkit.audit.attacks import FAMILIES
from rewardkit.audit.attacks.own_texts import own_texts
from rewardkit.audit.attempt import Attempt, Claim
from rewardkit.audit.filler import filler
from rewardkit.audit.forms import WORK, Forms
from rewardkit.audit.literals import Literals
from rewardkit.audit.problems import Problem
from rewardkit.audit.programs.attacks import program_attacks
from rewardkit.audit.programs.truth import ProgramTruth
from rewardkit.audit.subject import Subject


@dataclass(frozen=True, slots=True)
class Baseline:
    """What honest texts are paid on one row.

    Attributes:
        right: the right answer that is paid least, among those in a form that the reward reads.
        right_pay: what it is paid.
        usual: the right answer in the best form.
        usual_pay: what it is paid.
        wrong_pay: what the plain wrong answer in the best form is paid.
        floor: what the empty text or the plain wrong answer is paid, whichever is less.
    """

    right: str
    right_pay: float
    usual: str
    usual_pay: float
    wrong_pay: float
    floor: float

    @property
    def worth(self) -> float:
        """What being right in the best form earns, over doing nothing."""
        return self.usual_pay - self.floor


@dataclass(frozen=True, slots=True)
class Trial:
    """One text on one row.

    Attributes:
        row: the row's place among the problems.
        attempt: the text.
        pay: what it was paid; NaN where the reward failed.
        reason: why it failed.
    """

    row: int
    attempt: Attempt
    pay: float
    reason: str | None = None


def baselines(subject: Subject, problems: Sequence[Problem], forms: Forms) -> tuple[list[Baseline | None], str | None]:
    """A baseline for each row; None where no right answer could be scored. And the first reason for such a row."""
    read = forms.read or (forms.best,)
    lines: list[Baseline | None] = []
    failure: str | None = None
    for problem in problems:
        usual = forms.best(problem.truth.text)
        right = list(dict.fromkeys([usual, *(f(problem.truth.text, work) for f in read for work in (WORK, ""))]))
        if problem.solution is not None:
            work = problem.solution.rpartition("####")[0].strip() or WORK
            right.append(forms.best(problem.truth.text, work))
        if not forms.read:  # no form is read, so that nothing says which of these an honest answer would be
            right = [usual]
        texts = [*right, forms.best(problem.truth.wrong[0]), ""]
        paid = subject.pay([problem.sample(t) for t in texts])
        pays, wrong, empty = paid.total[: len(right)], float(paid.total[-2]), float(paid.total[-1])
        if math.isnan(pays[0]):
            failure = failure or next(iter(paid.reasons.values()), "the reward does not apply")
            lines.append(None)
            continue
        low = int(np.nanargmin(pays))
        floor = min((x for x in (wrong, empty) if not math.isnan(x)), default=float(pays[low]))
        lines.append(Baseline(right[low], float(pays[low]), usual, float(pays[0]), wrong, floor))
    return lines, failure


def attempts_on(problem: Problem, forms: Forms, literals: Literals = Literals()) -> list[Attempt]:  # noqa: B008
    """Every family's texts for a row, and of the reward's own; none that happens to say the ground truth after all."""
    attempts: dict[tuple[str, bool], Attempt] = {}
    if isinstance(problem.truth, ProgramTruth):
        return list({a.text: a for a in program_attacks(problem.truth, forms.best, literals, problem.prompt)}.values())
    made = (attempt for family in FAMILIES.values() for attempt in family(problem, forms.best))
    for attempt in chain(made, own_texts(problem, forms.best, literals)):
        if says_what_it_claims(attempt, problem):
            attempts.setdefault((attempt.text, attempt.truncated), attempt)
    return list(attempts.values())


def says_what_it_claims(attempt: Attempt, problem: Problem) -> bool:
    """False where a text that should not say the ground truth happens to."""
    if attempt.claim in (Claim.RIGHT, Claim.SEVERAL) or attempt.fixed:
        return True
    return not problem.truth.stands_in(attempt.text)


def try_all(subject: Subject, problems: Sequence[Problem], attempts: Iterable[tuple[int, Attempt]]) -> list[Trial]:
    """Score attempts, each on its row."""
    chosen = list(attempts)
    paid = subject.pay([problems[row].sample(a.text, a.truncated) for row, a in chosen])
    return [
        Trial(row, a, float(pay), paid.reasons.get(i))
        for i, ((row, a), pay) in enumerate(zip(chosen, paid.total, strict=True))
    ]


def padded_right(baseline: Baseline, words: int, start: int = 0) -> str:
    """The right answer with words before it."""
    return f"{filler(words, start)}.\n{baseline.right}"
