"""Whether a response commits itself to one answer, right or wrong."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

from rewardkit.algebra.define import term
from rewardkit.answers import Answer, Mode, extract, extract_math
from rewardkit.answers.claim import direct
from rewardkit.answers.compare import truth_number
from rewardkit.answers.latex.form import text_key
from rewardkit.answers.limits import MAX_CHARS
from rewardkit.answers.marks import Mark, TooManyMarkers, find_marks, visible_part
from rewardkit.answers.number import fold
from rewardkit.answers.words import ATTACHED_OR, OR_WORDS
from rewardkit.batch import Batch, Score, Status

_ALTERNATIVE = re.compile(rf"\b(?:or|o)\b|(?<![^\W_])(?:{OR_WORDS})(?![^\W_])|{ATTACHED_OR}", re.IGNORECASE)
_READ_CHARS = 200
_LIMIT = Score(status=Status.LIMIT, reason="too long, or too many answer markers")


@term(bounds=(0, 1), batched=True, cost="cpu", version="2")
def answer_key(batch: Batch, *, mode: Mode = "flexible") -> Sequence[Score]:
    """A number in [0, 1) that stands for the response's answer: equal for equal answers. A hash, not a grade.

    It is there to be compared within a group: ``group_share(answer_key())`` is the share of the rollouts of one prompt
    that give the same answer. Numbers are equal by value (``0.5`` and ``1/2``), other answers by their text without
    LaTeX's spelling variants; ``x + 1`` and ``1 + x`` are two answers. Answers are found as in :func:`math_equal`; none
    is NO_ANSWER, several AMBIGUOUS.

    Args:
        batch: the responses.
        mode: ``flexible`` or ``strict``, as in :func:`math_equal`.
    """
    return [_hashed(extract_math(text, mode=mode)) for text in batch.responses]


def _hashed(answer: Answer | Status) -> Score:
    if not isinstance(answer, Answer):
        return Score(status=answer)
    digest = hashlib.blake2b(_key(answer.text).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return Score((int.from_bytes(digest, "big") >> 11) / 2.0**53)


@term(verdict=True, batched=True, version="2")
def exactly_one_answer(batch: Batch) -> Sequence[bool | Score]:
    r"""1 where the response marks one final answer and no other; else 0.

    Markers are ``\boxed{}``, ``<answer>``, ``####`` and "the answer is". The same answer marked twice is one answer;
    two that differ are not, though :func:`math_equal` takes the last of them. A list, a tuple or an interval in a box
    is one answer, "3 or 4" is none. A response without a marker gets 0, and so does one whose answer is empty or taken
    back.

    Args:
        batch: the responses.
    """
    return [_one(text) for text in batch.responses]


def _one(text: str) -> bool | Score:
    if len(text) > MAX_CHARS:
        return _LIMIT
    part = visible_part(text)
    if part is None:
        return False
    start, stop = part
    try:
        marks = find_marks(text, start, stop)
    except TooManyMarkers:
        return _LIMIT
    inner = [m for i, m in enumerate(marks) if not _holds(m.end, marks[i + 1 :])]
    if not inner:
        return False
    said = {_said(m.kind, content) for m in inner if (content := text[m.start : m.end].strip()) or m.kind != "label"}
    said.discard(None)
    if len(said) > 1 or "" in said:
        return False
    answer = extract(text)
    if answer is Status.LIMIT:
        return _LIMIT
    if answer is Status.AMBIGUOUS:
        last = inner[-1]
        return last.kind == "boxed" and _ALTERNATIVE.search(text, last.start, last.end) is None
    return isinstance(answer, Answer) and answer.marker != "last-number"


def _said(kind: str, content: str) -> str | None:
    """What a marker says, equal for equal answers; None for a phrase such as "the answer is that ..."."""
    if kind != "label":
        return _key(content)
    claim = direct(fold(content[:_READ_CHARS]))
    return f"#{claim.value}" if claim is not None and claim.value is not None else None


def _key(content: str) -> str:
    """The number that an answer is, or its text. Long ones are told apart as written: reading them costs too much."""
    if len(content) > _READ_CHARS:
        return content
    value = truth_number(content) if content else None
    return text_key(content) if value is None else f"#{value}"


def _holds(end: int, later: Sequence[Mark]) -> bool:
    """Whether another marker lies inside: a box in an answer tag marks once."""
    return bool(later) and later[0].begin < end
