"""A search for better-paid texts, from the best that the families found, by hypothesis' `target`.

A text is put together from pieces: sentences, marks, markers with wrong answers, the formula's own literal texts and
patterns, and the best texts found so far. No piece says the ground truth, so that whatever comes out is not right. Each
part of the formula is a target of its own, beside the total: what pays for several things is climbed in several
directions.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from rewardkit.algebra.expression import Expression
from rewardkit.audit.attacks.own_texts import again
from rewardkit.audit.attempt import Attempt, Claim
from rewardkit.audit.filler import filler
from rewardkit.audit.forms import Forms
from rewardkit.audit.problems import Problem
from rewardkit.audit.subject import Subject
from rewardkit.audit.trials import Trial

ROUND: Final = 200
"""Texts between two looks at the clock."""
MOST_ROUNDS: Final = 10
LONGEST: Final = 20_000
"""Characters of a text that is tried."""

_MARKS: Final = (
    ".", "!", "?", "<think>", "</think>", "<answer>", "</answer>", "\\boxed{", "}", "####", "First,", "- ", "1. ", "so",
    "\n",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Searched:
    """What a search did.

    Attributes:
        best: the best-paid text that was found; None where none was tried.
        tried: how many texts were.
        skipped: why there was no search; None where there was one.
    """

    best: Trial | None
    tried: int
    skipped: str | None = None


def search(
    subject: Subject,
    problems: Sequence[Problem],
    row: int,
    forms: Forms,
    seeds: Sequence[str],
    *,
    seconds: float,
) -> Searched:
    """The best-paid text without the right answer that can be found in a time.

    Args:
        subject: what pays.
        problems: the rows.
        row: the one to search on.
        forms: the forms that the reward reads.
        seeds: texts to start from; none may hold the ground truth.
        seconds: when to stop; less where everything is tried.
    """
    if seconds <= 0:
        return Searched(None, 0, "no time was left for it")
    try:
        from hypothesis import HealthCheck, Phase, given, settings, target
        from hypothesis import seed as fixed_seed
    except ImportError:
        return Searched(None, 0, "it needs hypothesis: pip install 'rewardkit-rl[testing]'")
    problem = problems[row]
    strategy = _texts(problem, forms, [s for s in seeds if not problem.truth.stands_in(s)], subject)
    end = time.monotonic() + seconds
    best: tuple[float, str] | None = None
    tried = 0

    def one(text: str) -> None:
        nonlocal best, tried
        if time.monotonic() > end or len(text) > LONGEST or problem.truth.stands_in(text):
            return
        tried += 1
        sample = problem.sample(text)
        total = float(subject.pay([sample]).total[0])
        if np.isnan(total):
            return
        if best is None or (total, -len(text)) > (best[0], -len(best[1])):
            best = (total, text)
        target(total, label="total")
        for label, paid in subject.parts([sample]).items():
            target(float(paid[0]), label=label)

    for number in range(MOST_ROUNDS):
        if time.monotonic() > end:
            break

        @fixed_seed(number)
        @settings(
            max_examples=ROUND,
            deadline=None,
            database=None,
            print_blob=False,
            phases=(Phase.generate, Phase.target),
            suppress_health_check=list(HealthCheck),
        )
        @given(strategy)
        def climb(text: Any) -> None:
            one(text)

        climb()
    if best is None:
        return Searched(None, tried)
    return Searched(Trial(row, Attempt("search", "found by search", Claim.NONE, best[1]), best[0]), tried)


def _texts(problem: Problem, forms: Forms, seeds: Sequence[str], subject: Subject) -> Any:
    from hypothesis import strategies as st

    own = list(subject.literals.texts)
    wrong = list(problem.truth.wrong)
    marked = [f(answer, "") for f in (forms.best, *forms.read[:3]) for answer in wrong[:2]]
    literal = st.sampled_from([*marked, *seeds, *own, *_MARKS])
    words = st.builds(filler, st.sampled_from([1, 3, 10, 40, 200]), st.integers(0, 30))
    repeated = st.builds(
        lambda text, times: again(text, min(times, LONGEST // (2 * len(text)))),
        st.sampled_from(["so", "ha", "First,", *own]),
        st.sampled_from([2, 5, 20, 100, 1000]),
    )
    pieces: list[Any] = [literal, words, repeated, *_patterns(subject.formula)]
    gaps = st.sampled_from([" ", "\n", "", ". "])
    return st.builds(lambda parts, gap: gap.join(parts), st.lists(st.one_of(pieces), min_size=1, max_size=8), gaps)


def _patterns(root: Expression | None) -> list[Any]:
    """Texts that match the formula's patterns, where `re` knows them too."""
    from hypothesis import strategies as st
    from hypothesis.errors import HypothesisException

    drawn = []
    for node in root.walk() if root is not None else ():
        if node.term is None or node.term.name not in ("matches", "match_count"):
            continue
        try:
            strategy = st.from_regex(re.compile(node.param("pattern")), alphabet=st.characters(codec="ascii"))
            strategy.validate()
        except (re.error, HypothesisException):  # a pattern of the package `regex` only: nothing to draw from
            continue
        drawn.append(strategy)
    return drawn
