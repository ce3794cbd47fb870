"""How a response ends."""

from __future__ import annotations

from typing import Annotated, Final

import numpy as np
from pydantic import Field

from rewardkit.algebra.define import term
from rewardkit.batch import Batch, Mask

_INVISIBLE: Final = "".join(map(chr, filter(lambda code: chr(code).isspace(), range(0x3001)))) + (
    "\u200b\u200c\u200d\u2060\ufeff"
)
"""What a reader doesn't see at the end: blanks, and characters of no width."""


@term(verdict=True, batched=True)
def ends_with(
    batch: Batch, endings: Annotated[str, Field(min_length=1)], *, min_words: Annotated[int, Field(ge=0)] = 1
) -> Mask:
    """1 where the response's last visible character is one of ``endings``; else 0.

    The punctuation bonus of the Llama-3 GRPO recipe is ``ends_with('.?!', min_words=0)``.

    Args:
        batch: the responses.
        endings: characters, each of them an ending: ``'.?!'``.
        min_words: a response with fewer words is not paid. A word holds a letter or a digit in any script, so at the
            default of 1 a lone ``.`` earns nothing. 0 asks for no word at all.
    """
    suffixes = tuple(endings)
    return np.fromiter(
        (
            (stripped := text.rstrip(_INVISIBLE)).endswith(suffixes)
            and (min_words == 0 or _has_words(stripped, min_words))
            for text in batch.responses
        ),
        dtype=np.bool_,
        count=len(batch),
    )


def _has_words(text: str, least: int) -> bool:
    """Whether at least so many blank-separated pieces hold a letter or digit; stops at the last one needed."""
    words = 0
    for piece in text.split(None, least):
        if any(map(str.isalnum, piece)):
            words += 1
            if words >= least:
                return True
    return sum(any(map(str.isalnum, piece)) for piece in text.split()) >= least
