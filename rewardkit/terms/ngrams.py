"""What is said twice: n-grams that repeat within a response, or that its prompt had already.

An n-gram is a run of n units. To compare them fast and exactly, a text becomes a string with one character a unit, and
an n-gram a slice of it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import count
from typing import Annotated, Any, Final, Literal

import numpy as np
from pydantic import Field

from rewardkit.algebra.define import term
from rewardkit.batch import Batch, Mask, Score, Status
from rewardkit.terms.units import Unit, code_points, needs_of_unit, word_counts

MAX_CHARS: Final = 1 << 20
"""Longest response that is cut into units; as for answers, longer text is a fault."""
MAX_UNITS: Final = 1 << 16
"""Most words or characters that are compared: 65,536 words outlast any rollout in use. More is LIMIT."""
LONGEST_WORD: Final = 64
"""A longer run without a blank is no word of any language, and is read character by character: ``hahaha...``."""

_SPACELESS: Final = (
    (0x0E01, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x2E80, 0x2FDF), (0x3005, 0x3007), (0x3021, 0x3029),
    (0x3038, 0x303B), (0x3041, 0x30FF), (0x31F0, 0x31FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF),
    (0xFF66, 0xFF9F), (0x20000, 0x323AF),
)  # fmt: skip
"""Thai and Lao, Burmese, Khmer, then Han with Hiragana and Katakana: first and last code points."""
_TOO_LONG: Final = Score(status=Status.LIMIT, reason=f"more than {MAX_CHARS} characters or {MAX_UNITS} units")
_NO_PROMPT: Final = Score(status=Status.ERROR, reason="copy_share needs the prompt's text, which this row lacks")


class _TooLong(Exception):
    """More units than are compared."""


def words_of(text: str) -> Sequence[str]:
    """The words of a text, lower-cased: what blanks separate.

    A character each in scripts that write no blanks, and in runs that are too long to be a word.

    Raises:
        _TooLong: more than ``MAX_UNITS``.
    """
    text = text.lower() if text.isascii() else _with_blanks(text.lower())
    if len(text) > MAX_UNITS and word_counts([text])[0] > MAX_UNITS:
        raise _TooLong
    words = text.split()
    if max(map(len, words), default=0) > LONGEST_WORD:
        if sum(len(word) for word in words if len(word) > LONGEST_WORD) > MAX_UNITS:
            raise _TooLong
        words = [piece for word in words for piece in ((word,) if len(word) <= LONGEST_WORD else word)]
    return words


def _with_blanks(text: str) -> str:
    """The text with blanks around every character of the spaceless scripts."""
    codes = code_points(text)
    alone = _spaceless()[np.minimum(codes, len(_spaceless()) - 1)]
    units = int(np.count_nonzero(alone))
    if not units:
        return text
    if units > MAX_UNITS:
        raise _TooLong
    spread = np.repeat(codes, np.where(alone, 3, 1))
    places = np.flatnonzero(alone) + 2 * np.arange(units)
    spread[places] = spread[places + 2] = ord(" ")
    return spread.tobytes().decode("utf-32-le", "surrogatepass")


@lru_cache(maxsize=1)
def _spaceless() -> Mask:
    table = np.zeros(_SPACELESS[-1][1] + 2, dtype=np.bool_)
    for first, last in _SPACELESS:
        table[first : last + 1] = True
    return table


def _encoded(units: Sequence[Any], code_of: Callable[[Any], int]) -> str:
    """One character a unit."""
    return "".join(map(chr, map(code_of, units)))


def _numbered() -> defaultdict[Any, int]:
    """Gives every new unit the next number, from 1 on."""
    return defaultdict(count(1).__next__)


@term(bounds=(0, 1), needs=needs_of_unit, batched=True, cost="cpu")
def repetition(
    batch: Batch,
    n: Annotated[int, Field(ge=1, le=64)] = 4,
    *,
    unit: Unit = "words",
    fold_digits: bool = False,
) -> Sequence[float | Score]:
    """``1 - distinct n-grams / n-grams``: the share of the response's n-grams that it has said before. A penalty.

    0 for a response of fewer than n units. Write ``-0.2 * repetition(n=4)``. Words are lower-cased and separated by
    blanks, as in open-r1; what blanks don't separate is cut into characters (Chinese, Japanese, Thai, Lao, Khmer and
    Burmese script, and any run of more than 64 characters), so that ``hahaha...`` is as repetitive as ``ha ha ha``.
    TRL counts token ids: ``unit='tokens'``. A loop that counts (``step 1 ok step 2 ok``) is seen with ``fold_digits``
    only, one that varies its spelling with characters and a long n: ``repetition(n=20, unit='characters')``.

    Source: Yeo et al. 2025, arXiv 2502.03373, appendix. open-r1 and TRL multiply it by a ``max_penalty`` of their own;
    here that is the weight. More than 65,536 words or characters is LIMIT, which costs the whole penalty.

    Args:
        batch: the responses.
        n: the units in a run, from 1 to 64.
        unit: ``words``, ``characters`` or ``tokens``.
        fold_digits: read every number as the same one; without effect on tokens. Off by default: arithmetic repeats
            its words around different numbers.
    """
    answers: list[float | Score] = []
    for i, text in enumerate(batch.responses):
        if fold_digits and len(text) <= MAX_CHARS:
            text = _folded(text)
        try:
            encoded = _encoded(_units(batch, i, text, unit), _numbered().__getitem__)
        except _TooLong:
            answers.append(_TOO_LONG)
            continue
        total = len(encoded) - n + 1
        answers.append(1.0 - len({encoded[i : i + n] for i in range(total)}) / total if total > 0 else 0.0)
    return answers


def _folded(text: str) -> str:
    """Every run of digits as one 0, by replacements that are linear whatever the text."""
    for digit in "123456789":
        text = text.replace(digit, "0")
    while "00" in text:
        text = text.replace("00", "0")
    return text


def _units(batch: Batch, row: int, text: str, unit: Unit) -> Sequence[Any]:
    if unit == "tokens":
        assert batch.tokens is not None  # declared as a need
        return batch.tokens[row]
    if len(text) > (MAX_CHARS if unit == "words" else MAX_UNITS):
        raise _TooLong
    return words_of(text) if unit == "words" else text


@term(bounds=(0, 1), needs=("prompt",), batched=True, cost="cpu")
def copy_share(
    batch: Batch, n: Annotated[int, Field(ge=1, le=64)] = 8, *, unit: Literal["words", "characters"] = "words"
) -> Sequence[float | Score]:
    """The share of the response's n-grams that stand in its prompt. A penalty: ``-copy_share(n=8)``.

    0 for a response of fewer than n units. Words are those of :func:`repetition`. A row without a prompt is ERROR.
    At n = 8 a quoted name or number costs nothing, a quoted sentence does. No peer's suite has this one; the measure is
    the n-gram overlap of Brown et al. 2020 (arXiv 2005.14165, appendix C), there for contamination.

    Args:
        batch: the responses and their prompts; of a prompt the last 65,536 characters count.
        n: the units in a run, from 1 to 64.
        unit: ``words`` or ``characters``.
    """
    assert batch.prompts is not None  # declared as a need
    known: dict[str, tuple[Callable[[Any], int], frozenset[str]]] = {}
    answers: list[float | Score] = []
    for i, (text, prompt) in enumerate(zip(batch.responses, batch.prompts, strict=True)):
        if prompt is None:
            answers.append(_NO_PROMPT)
            continue
        if prompt not in known:
            known[prompt] = _prompt_grams(prompt, n, unit)
        code_of, asked = known[prompt]
        try:
            encoded = _encoded(_units(batch, i, text, unit), code_of)
        except _TooLong:
            answers.append(_TOO_LONG)
            continue
        total = len(encoded) - n + 1
        answers.append(sum(encoded[j : j + n] in asked for j in range(total)) / total if total > 0 else 0.0)
    return answers


def _prompt_grams(prompt: str, n: int, unit: Unit) -> tuple[Callable[[Any], int], frozenset[str]]:
    """The prompt's n-grams, and the code of a unit: 0 where the prompt doesn't have it."""
    asked = prompt[-MAX_UNITS:]
    codes = _numbered()
    encoded = _encoded(words_of(asked) if unit == "words" else asked, codes.__getitem__)
    known = dict(codes)
    return lambda u: known.get(u, 0), frozenset(encoded[i : i + n] for i in range(len(encoded) - n + 1))
