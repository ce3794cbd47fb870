"""In what a response is measured: words, characters, tokens. Shared by the terms that look at length or repetition.

Long texts go through numpy: a hostile megabyte costs milliseconds, as a short text costs microseconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from rewardkit.batch import Batch, Floats, Mask
from rewardkit.declaration import Need

Unit = Literal["words", "characters", "tokens"]


def counts(batch: Batch, unit: Unit) -> Floats:
    """The length of each response. Words are what blanks separate, characters are Unicode code points.

    Counted once for all terms over a batch; the array is theirs to read.
    """
    if unit not in batch._counts:
        found = _counted(batch, unit)
        found.setflags(write=False)
        batch._counts[unit] = found
    return batch._counts[unit]


def _counted(batch: Batch, unit: Unit) -> Floats:
    if unit == "words":
        found = [count_words(text) for text in batch.responses]
    elif unit == "characters":
        found = [len(text) for text in batch.responses]
    else:
        assert batch.tokens is not None  # declared as a need
        found = [len(ids) for ids in batch.tokens]
    return np.asarray(found, dtype=np.float64)


def needs_of_unit(p: Mapping[str, Any]) -> tuple[Need, ...]:
    """Tokens are the trainer's own, so a term that counts them needs them."""
    return ("response", "tokens") if p["unit"] == "tokens" else ("response",)


LONG: Final = 1 << 14
"""Characters from which numpy is faster than ``str.split``."""


def count_words(text: str) -> int:
    """``len(text.split())``, in a few milliseconds for a megabyte."""
    if len(text) < LONG:
        return len(text.split())
    blank = _blanks()[np.minimum(code_points(text), len(_blanks()) - 1)]
    return int(not blank[0]) + int(np.count_nonzero(blank[:-1] & ~blank[1:]))


def code_points(text: str) -> npt.NDArray[np.uint32]:
    """The text's Unicode code points."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)


@lru_cache(maxsize=1)
def _blanks() -> Mask:
    """Which code points ``str.split`` splits at; the last of them is U+3000."""
    return np.fromiter((chr(code).isspace() for code in range(0x3002)), np.bool_, 0x3002)
