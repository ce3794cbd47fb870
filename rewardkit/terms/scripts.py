"""In which script a response is written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Annotated, Any, Final

import numpy as np
import regex
from pydantic import AfterValidator, Field

from rewardkit.algebra.define import term
from rewardkit.batch import Batch, Score, Status
from rewardkit.terms.units import LONG, code_points

_SHORT: Final = 200
"""Characters below which a plain count is the fastest."""
_LETTER: Final = regex.compile("[A-Za-z]")
_WIDE: Final = 1 << 16
MAX_CHARS: Final = 1 << 20
"""Longest response whose letters are counted; longer ones are LIMIT."""


def _checked_script(name: str) -> str:
    try:
        _of_scripts(name)
    except regex.error:
        raise ValueError("expected a Unicode script such as 'Latin', 'Han', 'Cyrillic' or 'Arabic'") from None
    return name


@lru_cache(maxsize=64)
def _of_scripts(*names: str) -> Any:
    return regex.compile("[" + "".join(rf"\p{{Script={name}}}" for name in names) + "]")


Script = Annotated[str, Field(pattern=r"^[A-Za-z_]{3,40}$"), AfterValidator(_checked_script)]


@term(bounds=(0, 1), batched=True)
def script_share(
    batch: Batch, scripts: Script | Annotated[Sequence[Script], Field(min_length=1)]
) -> Sequence[float | Score]:
    """The share of the response's letters that are of these scripts: 1 where all are, 0 where there is no letter.

    DeepSeek-R1 pays the share of words in the target language, against reasoning that mixes languages
    (arXiv 2501.12948, section 2.3.2). Scripts are exact and need no model; they don't tell English from French.
    Japanese is ``script_share(['Han', 'Hiragana', 'Katakana'])``. Digits, punctuation and combining marks count
    neither way. A text without any letter gets 0, so that silence isn't paid. Over 1,048,576 characters is LIMIT.

    Args:
        batch: the responses.
        scripts: Unicode script names, one or several: ``Latin``, ``Han``, ``Cyrillic``, ``Arabic``, ...
    """
    wanted = (scripts,) if isinstance(scripts, str) else tuple(scripts)
    return [_share(text, wanted) for text in batch.responses]


def _share(text: str, scripts: tuple[str, ...]) -> float | Score:
    if len(text) > MAX_CHARS:
        return Score(status=Status.LIMIT, reason=f"more than {MAX_CHARS} characters")
    if text.isascii():  # all of its letters are of one script
        return float(_of_scripts(*scripts).match("a") is not None and _LETTER.search(text) is not None)
    counts = _counts(text)
    letters = "".join(filter(str.isalpha, counts))
    wanted = sum(counts[character] for character in _of_scripts(*scripts).findall(letters))
    return wanted / sum(map(counts.__getitem__, letters)) if letters else 0.0


def _counts(text: str) -> dict[str, int]:
    if len(text) < _SHORT:
        return Counter(text)
    codes = code_points(text)
    if len(text) < LONG and codes.max() >= _WIDE:  # a table up to an emoji costs more than the text
        return Counter(text)
    counts = np.bincount(codes)
    used = np.flatnonzero(counts)
    return dict(zip(map(chr, used.tolist()), counts[used].tolist(), strict=True))
