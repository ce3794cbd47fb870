"""What stands in a response: a beginning, a text, a pattern."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import lru_cache
from typing import Annotated, Any, Final

import numpy as np
import regex
from pydantic import AfterValidator, Field

from rewardkit.batch import Batch, Mask, Score, Status
from rewardkit.declaration import term

BATCH_SECONDS: Final = 10.0
"""What rows that use up their deadline may take of one batch; from then on a row has a tenth of its deadline."""

Text = Annotated[str, Field(min_length=1)]


def _checked_pattern(pattern: str) -> str:
    try:
        _compiled(pattern)
    except (regex.error, RecursionError, OverflowError) as e:
        raise ValueError(f"expected a regular expression: {e}") from None
    return pattern


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> Any:
    return regex.compile(pattern)


@term(verdict=True, batched=True, builtin=True)
def starts_with(batch: Batch, beginning: Text) -> Mask:
    """1 where the response, leading blanks aside, begins with this text; else 0.

    Unlike :func:`ends_with`, which takes a set of characters, it takes one text: ``starts_with('<think>')``.

    Args:
        batch: the responses.
        beginning: the text, not empty; case counts.
    """
    return np.fromiter((text.lstrip().startswith(beginning) for text in batch.responses), np.bool_, len(batch))


@term(verdict=True, batched=True, builtin=True)
def contains(batch: Batch, text: Text) -> Mask:
    """1 where the text stands in the response; else 0.

    Args:
        batch: the responses.
        text: what is looked for, not empty; case counts. Without case: ``matches('(?i)therefore')``.
    """
    return np.fromiter((text in response for response in batch.responses), np.bool_, len(batch))


@term(verdict=True, batched=True, cost="cpu", builtin=True)
def matches(
    batch: Batch,
    pattern: Annotated[str, AfterValidator(_checked_pattern)],
    *,
    deadline: Annotated[float, Field(gt=0, le=10)] = 0.1,
) -> Sequence[bool | Score]:
    r"""1 where the regular expression matches somewhere in the response; else 0.

    Patterns are those of the ``regex`` package (Python's ``re`` and more: ``\p{Script=Han}``, possessive ``++``). Anchor
    with ``\A`` and ``\Z`` to match the whole response; ``(?s)`` lets ``.`` match line ends. A pattern that doesn't
    compile is refused when the formula is built. Format rewards of peers are patterns, and many of them
    (``^<think>.*?</think>\s*<answer>.*?</answer>$``) let ``.*?`` run over a second tag: see :func:`think_answer`.

    A response on which the search uses up its deadline is TIMEOUT; nested repeats (``(a+)+$``) do that. When such
    rows have cost a batch 10 seconds, the rest of it has a tenth of the deadline each.

    Args:
        batch: the responses.
        pattern: the regular expression.
        deadline: seconds of CPU time for one response, at most 10.
    """
    search = _compiled(pattern).search
    answers: list[bool | Score] = []
    lost = 0.0
    for text in batch.responses:
        limit = deadline if lost < BATCH_SECONDS else deadline / 10
        began = time.perf_counter()
        try:
            answers.append(search(text, timeout=limit) is not None)
        except TimeoutError:
            lost += time.perf_counter() - began
            answers.append(Score(status=Status.TIMEOUT, reason=f"the pattern used up {limit:g} s"))
    return answers
