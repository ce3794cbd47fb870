"""Two short texts that settle whether a wrong answer can outscore a right one.

Bounds say that it may; a pair of texts, scored by the formula itself, says that it does. A few fixed texts are tried,
on one ground truth: a wrong one can be padded, a right one can be terse. It does not search.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from rewardkit.algebra.expression import Expression
from rewardkit.algebra.operation import Case, compares_rows
from rewardkit.algebra.term import Cost
from rewardkit.algebra.values import NOT_RUN
from rewardkit.batch import Batch
from rewardkit.engine.program import Program

GROUND_TRUTH: Final = "42"
_WRONG: Final = "41"
_FORMS: Final = (
    "#### {}",
    "#### {}.",
    "\\boxed{{{}}}",
    "The answer is {}.",
    "<think>\nSix sevens.\n</think>\n<answer>{}</answer>",
    "<think>\nSix sevens.\n</think>\n<answer>\\boxed{{{}}}</answer>",
)
_PADDING: Final = (0, 10, 40, 200)
"""Words in front of the answer."""
_GIVEN: Final = frozenset({"response", "ground_truth", "data_source", "truncated"})


@dataclass(frozen=True, slots=True)
class Counterexample:
    """A wrong text that earns more than a right one."""

    wrong: str
    wrong_total: float
    right: str
    right_total: float


def find_counterexample(program: Program, verdicts: Collection[Expression], case: Case) -> Counterexample | None:
    """The shortest wrong text, among a few, that outscores some right one; None when none does or it can't be run.

    Args:
        program: the formula. Only built-in terms that need no worker and no other machine are run.
        verdicts: the terms that say what is right; a text is right, or wrong, when all of those that look at it agree.
        case: what the formula's routes see.
    """
    for node in program.reward.walk():
        if node.term is not None and not (
            node.term.builtin and node.term.cost in (Cost.CHEAP, Cost.CPU) and node.term.needs(node) <= _GIVEN
        ):
            return None
        if compares_rows(node):
            return None
    texts = [*dict.fromkeys(_texts())]
    n = len(texts)
    extra: dict[str, Any] = {by: value for by, value in case.items() if by != "data_source"}
    batch = Batch(
        texts,
        ground_truths=[GROUND_TRUTH] * n,
        data_sources=[case.get("data_source")] * n,
        extra_infos=[extra] * n,
        truncated=[False] * n,
    )
    leaves = program.leaves(batch)
    totals = program.finish(leaves).total
    looked = np.stack([leaves.columns[v].statuses != NOT_RUN for v in verdicts])
    said = np.stack([leaves.columns[v].values == 1.0 for v in verdicts])
    judged = looked.any(axis=0) & ~np.isnan(totals)
    right = np.flatnonzero(judged & (said | ~looked).all(axis=0))
    wrong = np.flatnonzero(judged & ~(said & looked).any(axis=0))
    if not len(right) or not len(wrong):
        return None
    low = right[np.argmin(totals[right])]
    higher = sorted((len(texts[i]), int(i)) for i in wrong if totals[i] > totals[low] + 1e-9)
    if not higher:
        return None
    first = higher[0][1]
    return Counterexample(texts[first], float(totals[first]), texts[low], float(totals[low]))


def _texts() -> Iterator[str]:
    for words in _PADDING:
        for form in _FORMS:
            for answer in (GROUND_TRUTH, _WRONG):
                text = " ".join([*["word"] * words, form.format(answer)])
                yield text
                yield f"{text}."
