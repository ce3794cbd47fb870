"""Words that say nothing: no number, no marker, no answer."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_SENTENCE: Final = (
    "we look at each part of it with care and then write down what follows from that before going on to the next one "
    "because every part hangs on the part before it and nothing may be left out of the whole"
)
_WORDS: Final = tuple(_SENTENCE.split())


def filler(words: int, start: int = 0) -> str:
    """So many words: one sentence, and then its words in an order that hardly repeats itself.

    A text that said the same again would be caught by a penalty on repetition, and padding is not about that.
    """
    return " ".join(islice(_words(start), words))


def _words(start: int) -> Iterator[str]:
    n = len(_WORDS)
    yield from (_WORDS[(start + i) % n] for i in range(n))
    state, last = start + 1, ""
    while True:
        state = (1_103_515_245 * state + 12_345) % 2**31
        word = _WORDS[(state >> 16) % n]
        if word != last:
            yield word
        last = word
