"""What is said twice: n-grams that repeat within a response, or that its prompt had already.

An n-gram is a run of n units. To compare them fast and exactly, a text becomes a string with one character a unit, and
an n-gram a slice of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Literal

import regex
from pydantic import Field

from rewardkit.batch import Batch, Score, Status
from rewardkit.declaration import Need, term
from rewardkit.terms.units import Unit, needs_of_unit

MAX_CHARS: Final = 1 << 20
"""Longest response that is cut into units; as for answers, longer text is a fault."""
MAX_UNITS: Final = 1 << 17
"""Most units that are compared: 131,072 is the longest context in use. More is LIMIT."""
LONGEST_WORD: Final = 64
"""A longer run without a blank is no word of any language, and is read character by character: ``hahaha...``."""

_SPACELESS: Final = regex.compile(
    r"[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}"
    r"\p{Script=Myanmar}]"
)
_PIECE: Final = regex.compile(rf"{_SPACELESS.pattern}|[^\s{_SPACELESS.pattern[1:-1]}]+")
_TOO_LONG: Final = Score(status=Status.LIMIT, reason=f"more than {MAX_CHARS} characters or {MAX_UNITS} units")
_NO_PROMPT: Final = Score(status=Status.ERROR, reason="copy_share needs the prompt's text, which this row lacks")


class _TooLong(Exception):
    """More units than are compared."""


def words_of(text: str) -> Sequence[str]:
    """The words of a text, lower-cased: what blanks separate; a character each in scripts that write no blanks and in
    runs that are too long to be a word.
    """  # noqa: D205
    lowered = text.lower()
    words: Sequence[str] = lowered.split()
    if not lowered.isascii() and _SPACELESS.search(lowered) is not None:
        words = _PIECE.findall(lowered)
    if len(words) <= MAX_UNITS and max(map(len, words), default=0) > LONGEST_WORD:
        words = [piece for word in words for piece in ((word,) if len(word) <= LONGEST_WORD else word)]
    return words


def _encoded(units: Sequence[Any], codes: dict[Any, int]) -> str:
    """One character a unit; ``codes`` grows by the units that are new."""
    if len(units) > MAX_UNITS:
        raise _TooLong
    return "".join([chr(codes.setdefault(unit, len(codes))) for unit in units])


def _grams(encoded: str, n: int) -> list[str]:
    return [encoded[i : i + n] for i in range(len(encoded) - n + 1)]


@term(bounds=(0, 1), needs=needs_of_unit, batched=True, cost="cpu", builtin=True)
def repetition(
    batch: Batch, n: Annotated[int, Field(ge=1, le=64)] = 4, *, unit: Unit = "words"
) -> Sequence[float | Score]:
    """``1 - distinct n-grams / n-grams``: the share of the response's n-grams that it has said before. A penalty.

    0 for a response of fewer than n units. Write ``-0.2 * repetition(n=4)``. Words are lower-cased and separated by
    blanks, as in open-r1; what blanks don't separate is cut into characters (Chinese, Japanese, Thai, Lao, Khmer and
    Burmese script, and any run of more than 64 characters), so that ``hahaha...`` is as repetitive as ``ha ha ha``.
    TRL counts token ids: ``unit='tokens'``. For loops of varying spelling use characters and a long n:
    ``repetition(n=20, unit='characters')``.

    Source: Yeo et al. 2025, arXiv 2502.03373, appendix. open-r1 and TRL multiply it by a ``max_penalty`` of their own;
    here that is the weight. More than 131,072 units, or 1,048,576 characters, are LIMIT, which costs the whole penalty.

    Args:
        batch: the responses.
        n: the units in a run, from 1 to 64.
        unit: ``words``, ``characters`` or ``tokens``.
    """
    answers: list[float | Score] = []
    for i, text in enumerate(batch.responses):
        try:
            encoded = _encoded(_units(batch, i, text, unit), {})
        except _TooLong:
            answers.append(_TOO_LONG)
            continue
        total = len(encoded) - n + 1
        answers.append(1.0 - len(set(_grams(encoded, n))) / total if total > 0 else 0.0)
    return answers


def _units(batch: Batch, row: int, text: str, unit: Unit) -> Sequence[Any]:
    if unit == "tokens":
        assert batch.tokens is not None  # declared as a need
        return batch.tokens[row]
    if len(text) > MAX_CHARS:
        raise _TooLong
    return words_of(text) if unit == "words" else text


def _copy_needs(p: Mapping[str, Any]) -> tuple[Need, ...]:
    return ("response", "prompt")


@term(bounds=(0, 1), needs=_copy_needs, batched=True, cost="cpu", builtin=True)
def copy_share(
    batch: Batch, n: Annotated[int, Field(ge=1, le=64)] = 8, *, unit: Literal["words", "characters"] = "words"
) -> Sequence[float | Score]:
    """The share of the response's n-grams that stand in its prompt. A penalty: ``-copy_share(n=8)``.

    0 for a response of fewer than n units. Words are those of :func:`repetition`. A row without a prompt is ERROR.
    At n = 8 a quoted name or number costs nothing, a quoted sentence does. No peer's suite has this one; the measure is
    the n-gram overlap of Brown et al. 2020 (arXiv 2005.14165, appendix C), there for contamination.

    Args:
        batch: the responses and their prompts, as the tokenizer's text or the last user message.
        n: the units in a run, from 1 to 64.
        unit: ``words`` or ``characters``.
    """
    assert batch.prompts is not None  # declared as a need
    known: dict[str, tuple[dict[Any, int], frozenset[str]]] = {}
    answers: list[float | Score] = []
    for i, (text, prompt) in enumerate(zip(batch.responses, batch.prompts, strict=True)):
        if prompt is None:
            answers.append(_NO_PROMPT)
            continue
        if prompt not in known:
            codes: dict[Any, int] = {}
            asked = (words_of(prompt) if unit == "words" else prompt)[:MAX_UNITS]
            known[prompt] = codes, frozenset(_grams(_encoded(asked, codes), n))
        codes, stands_there = known[prompt]
        try:
            grams = _grams(_encoded(_units(batch, i, text, unit), dict(codes)), n)
        except _TooLong:
            answers.append(_TOO_LONG)
            continue
        answers.append(sum(map(stands_there.__contains__, grams)) / len(grams) if grams else 0.0)
    return answers
