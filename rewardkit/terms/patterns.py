"""What stands in a response: a beginning, a text, a pattern."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Annotated, Final

import numpy as np
from pydantic import AfterValidator, Field

from rewardkit.algebra.define import term
from rewardkit.batch import Batch, Mask, Score, Status
from rewardkit.patterns import compiled

BATCH_SECONDS: Final = 10.0
"""What rows that use up their deadline may take of one batch; from then on a row has a tenth of its deadline."""

Text = Annotated[str, Field(min_length=1)]


def _checked_pattern(pattern: str) -> str:
    try:
        compiled(pattern)
    except ValueError as e:
        raise ValueError(f"expected a regular expression: {e}") from None
    return pattern


Pattern = Annotated[str, AfterValidator(_checked_pattern)]
Deadline = Annotated[float, Field(gt=0, le=10)]


@term(verdict=True, batched=True)
def starts_with(batch: Batch, beginning: Text) -> Mask:
    """1 where the response, leading blanks aside, begins with this text; else 0.

    Unlike :func:`ends_with`, which takes a set of characters, it takes one text: ``starts_with('<think>')``.

    Args:
        batch: the responses.
        beginning: the text, not empty; case counts.
    """
    return np.fromiter((text.lstrip().startswith(beginning) for text in batch.responses), np.bool_, len(batch))


@term(verdict=True, batched=True)
def contains(batch: Batch, text: Text) -> Mask:
    """1 where the text stands in the response; else 0.

    Args:
        batch: the responses.
        text: what is looked for, not empty; case counts. Without case: ``matches('(?i)therefore')``.
    """
    return np.fromiter((text in response for response in batch.responses), np.bool_, len(batch))


@term(verdict=True, batched=True, cost="cpu")
def matches(
    batch: Batch,
    pattern: Pattern,
    *,
    deadline: Deadline = 0.1,
) -> Sequence[float | Score]:
    r"""1 where the regular expression matches somewhere in the response; else 0.

    Patterns are those of the ``regex`` package (Python's ``re`` and more: ``\p{Script=Han}``, possessive ``++``).
    Anchor with ``\A`` and ``\Z`` to match the whole response; ``(?s)`` lets ``.`` match line ends. A pattern that
    doesn't compile is refused when the formula is built. Format rewards of peers are patterns, and many of them
    (``^<think>.*?</think>\s*<answer>.*?</answer>$``) let ``.*?`` run over a second tag: see :func:`think_answer`.

    A response on which the search uses up its deadline is TIMEOUT; nested repeats (``(a+)+$``) do that. When such
    rows have cost a batch 10 seconds, the rest of it has a tenth of the deadline each.

    Args:
        batch: the responses.
        pattern: the regular expression.
        deadline: seconds of CPU time for one response, at most 10.
    """
    search = compiled(pattern).search
    return _each(batch, deadline, lambda text, limit: search(text, timeout=limit) is not None)


@term(bounds=lambda p: (0, p["cap"]), batched=True, cost="cpu")
def match_count(
    batch: Batch,
    pattern: Pattern,
    *,
    cap: Annotated[int, Field(ge=1, le=1000)],
    deadline: Deadline = 0.1,
) -> Sequence[float | Score]:
    r"""``min(matches, cap)``: how often the regular expression matches in the response, without overlaps.

    open-r1's reward for reasoning in steps is ``match_count(pattern, cap=3) / 3`` with the pattern
    ``(?m)Step \d+:|^\d+\.|\n-|\n\*|First,|Second,|Next,|Finally,``. Whoever pays for such words gets such words.

    Args:
        batch: the responses.
        pattern: the regular expression, as in :func:`matches`.
        cap: the most that counts, at most 1,000.
        deadline: seconds of CPU time for one response, as in :func:`matches`.
    """
    matches = compiled(pattern).finditer
    return _each(batch, deadline, lambda text, limit: sum(1.0 for _ in islice(matches(text, timeout=limit), cap)))


def _each(batch: Batch, deadline: float, look: Callable[[str, float], float]) -> list[float | Score]:
    """What ``look`` finds in each response within the deadline, or TIMEOUT."""
    answers: list[float | Score] = []
    lost = 0.0
    for text in batch.responses:
        limit = deadline if lost < BATCH_SECONDS else deadline / 10
        began = time.perf_counter()
        try:
            answers.append(look(text, limit))
        except TimeoutError:
            lost += time.perf_counter() - began
            answers.append(Score(status=Status.TIMEOUT, reason=f"the pattern used up {limit:g} s"))
    return answers
