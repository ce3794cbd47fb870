"""In what a response is measured: words, characters, tokens. Shared by the terms that look at length or repetition.

Long texts go through numpy: a hostile megabyte costs milliseconds, as a short text costs microseconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from rewardkit.algebra.term import Need
from rewardkit.batch import Batch, Floats, Mask

Unit = Literal["words", "characters", "tokens"]


def counts(batch: Batch, unit: Unit) -> Floats:
    """The length of each response. Words are what blanks separate, characters are Unicode code points.

    Counted once for all terms over a batch; the array is theirs to read.
    """
    if unit not in batch._counts:
        counted = _counted(batch, unit)
        counted.setflags(write=False)
        batch._counts[unit] = counted
    return batch._counts[unit]


def _counted(batch: Batch, unit: Unit) -> Floats:
    if unit == "words":
        return word_counts(batch.responses)
    if unit == "characters":
        sizes = [len(text) for text in batch.responses]
    else:
        assert batch.tokens is not None  # declared as a need
        sizes = [len(ids) for ids in batch.tokens]
    return np.asarray(sizes, dtype=np.float64)


def lengths_of(given: float | str) -> Floats:
    """What a parameter of type `PerRow` is called with: a length for all rows, or the array of one for each."""
    return np.asarray(given, dtype=np.float64)


def needs_of_unit(p: Mapping[str, Any]) -> tuple[Need, ...]:
    """Tokens are the trainer's own, so a term that counts them needs them."""
    return ("response", "tokens") if p["unit"] == "tokens" else ("response",)


LONG: Final = 1 << 14
"""Characters from which numpy is faster than a string's own methods."""
_PART: Final = 1 << 16
"""Bytes of text that are looked at together: they stay in a core's cache."""


def word_counts(texts: Sequence[str]) -> Floats:
    """``len(text.split())`` of each text, several times faster: shape (texts,).

    The texts' UTF-8 is read as bytes, many texts at once: a word starts where a byte is no blank and the one before is.
    """
    words = np.empty(len(texts))
    part: list[bytes] = []
    first = size = 0
    for i, text in enumerate(texts):
        part.append(text.encode("utf-8", "surrogatepass"))
        size += len(part[-1])
        if size >= _PART or i == len(texts) - 1:
            _count_part(part, words[first : i + 1])
            part, first, size = [], i + 1, 0
    return words


def _count_part(part: list[bytes], words: Floats) -> None:
    joined = np.frombuffer(b"\n".join([*part, b""]), dtype=np.uint8)
    blank = (joined == 0x20) | (joined - 0x09 < 5) | (joined - 0x1C < 4)  # unsigned: what is smaller wraps around
    if not all(map(bytes.isascii, part)):
        _mark_wide_blanks(joined, blank)
    starts = np.empty(len(blank), dtype=np.bool_)
    starts[:1] = ~blank[:1]
    np.greater(blank[:-1], blank[1:], out=starts[1:])
    end = 0
    for i, text in enumerate(part):
        begin, end = end, end + len(text) + 1
        words[i] = np.count_nonzero(starts[begin:end])


def _mark_wide_blanks(joined: npt.NDArray[np.uint8], blank: Mask) -> None:
    """Mark every byte of the blanks that take two or three: U+0085, U+00A0, and others up to U+3000."""
    places = np.flatnonzero((joined == 0xC2) | ((joined >= 0xE1) & (joined <= 0xE3)))
    lead, second, third = (joined[np.minimum(places + i, len(joined) - 1)].astype(np.int64) for i in range(3))
    is_pair = lead == 0xC2
    code = np.where(is_pair, second, (lead & 0x0F) << 12 | (second & 0x3F) << 6 | third & 0x3F)
    is_blank = _blanks()[np.minimum(code, len(_blanks()) - 1)]
    places, is_pair = places[is_blank], is_pair[is_blank]
    blank[places] = blank[places + 1] = True
    blank[places[~is_pair] + 2] = True


def code_points(text: str) -> npt.NDArray[np.uint32]:
    """The text's Unicode code points."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)


@lru_cache(maxsize=1)
def _blanks() -> Mask:
    """Which code points ``str.split`` splits at; the last of them is U+3000."""
    return np.fromiter((chr(code).isspace() for code in range(0x3002)), np.bool_, 0x3002)
