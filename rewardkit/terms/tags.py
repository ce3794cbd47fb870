"""Reasoning and answer in tags."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import numpy as np
from pydantic import Field

from rewardkit.algebra.define import term
from rewardkit.batch import Batch, Floats, Mask

TagName = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_.\-]{0,31}$")]
Tag = Annotated[str, Field(min_length=1, max_length=64)]


@term(verdict=True, batched=True)
def think_answer(
    batch: Batch, *, think: TagName = "think", answer: TagName | None = "answer", prefilled: bool = False
) -> Mask:
    r"""1 where the response is reasoning in one tag and then its answer in another, and nothing else; else 0.

    That is: ``<think>``, text, ``</think>``, ``<answer>``, text, ``</answer>``, with blanks only before, between and
    after; each of the four tags exactly once; and neither text blank. Case counts.

    Peers use patterns. open-r1's (``<think>\n.*?\n</think>\n<answer>\n.*?\n</answer>``) wants line ends around every
    tag, and is content with a second ``<answer>`` inside the first; TRL's wants no answer tag and is content with
    nothing after ``</think>``. What these pay for and this doesn't is a response that two parsers read differently.
    Source of the format: DeepSeek-R1, arXiv 2501.12948, table 1.

    Args:
        batch: the responses.
        think: the name of the reasoning's tag.
        answer: the name of the answer's tag; None: the answer is all that follows the reasoning, without a tag.
        prefilled: the chat template has written the opening reasoning tag into the prompt (DeepSeek-R1, QwQ), so the
            response may begin without it.
    """
    return np.fromiter((_is_formed(t, think, answer, prefilled) for t in batch.responses), np.bool_, len(batch))


def _is_formed(text: str, think: str, answer: str | None, prefilled: bool) -> bool:
    opening, closing = f"<{think}>", f"</{think}>"
    body = text.strip()
    if body.startswith(opening):
        body = body[len(opening) :]
    elif not prefilled:
        return False
    reasoning, closed, rest = body.partition(closing)
    if not closed or not reasoning.strip() or opening in body or closing in rest:
        return False
    if answer is None:
        return bool(rest.strip())
    opening, closing = f"<{answer}>", f"</{answer}>"
    rest = rest.strip()
    if not rest.startswith(opening) or not rest.endswith(closing) or len(rest) < len(opening) + len(closing):
        return False
    said = rest[len(opening) : -len(closing)]
    return bool(said.strip()) and not any(tag in part for tag in (opening, closing) for part in (said, reasoning))


@term(bounds=(0, 1), batched=True)
def tag_count(
    batch: Batch,
    tags: Annotated[Sequence[Tag], Field(min_length=1, max_length=32)] = (
        "<think>",
        "</think>",
        "<answer>",
        "</answer>",
    ),
) -> Floats:
    r"""The share of these tags that stand in the response exactly once.

    A soft step towards :func:`think_answer`: order and what is around them don't count. open-r1's ``tag_count_reward``
    counts line ends as part of the tags: ``tag_count(['<think>\n', '\n</think>\n', '\n<answer>\n', '\n</answer>'])``.

    Args:
        batch: the responses.
        tags: the texts to look for, 32 at most.
    """
    return np.fromiter(
        (sum(text.count(tag) == 1 for tag in tags) / len(tags) for text in batch.responses), np.float64, len(batch)
    )
