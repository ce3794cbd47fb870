r"""From a response to exactly one asserted answer, or the reason why there is none.

The last marker is the claim: ``#### 72``, ``\boxed{72}``, ``<answer>72</answer>``, ``The answer is 72``. Two markers
that disagree with nothing between them, or three distinct values, are AMBIGUOUS: an enumeration isn't an answer.
What is denied before it or taken back after it claims nothing; "Wait, no, it's 18" claims 18.
Reasoning up to the last ``</think>`` is not looked at. Text is searched with C-speed finds and read only near
markers, so the work is linear in the text for any text; no text raises. What a claim is worth against a ground truth is
the business of ``compare``.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import Final, Literal

from rewardkit.answers.claim import DENIED, NOTHING, Claim, direct, sentence
from rewardkit.answers.fallback import last_statement
from rewardkit.answers.limits import MAX_CHARS, MAX_MARKERS
from rewardkit.answers.marks import Mark, TooManyMarkers, find_marks, visible_part
from rewardkit.answers.number import Number, fold
from rewardkit.answers.retraction import AFTERWORD, LEAST_WORDS, correction, is_denied, is_taken_back
from rewardkit.answers.words import right_edge
from rewardkit.batch import Status

Mode = Literal["strict", "flexible"]


@dataclass(frozen=True, slots=True)
class Answer:
    """The one answer that a response asserts."""

    text: str
    """The answer as it is written in the response."""
    span: tuple[int, int]
    """Where in the response: ``response[span[0]:span[1]] == text``."""
    marker: str
    """What marks it as the answer: ``####``, ``boxed``, ``answer-tag``, ``label``, or ``last-number``."""
    value: Number | None = None
    """Its exact value, or None where the answer is not a number."""


_Read = tuple[Mark, Claim]

_WORDS: Final = Claim(Status.SCORED)
"""A claim of something that isn't a number."""


def extract(response: str, *, mode: Mode = "flexible", prompt: str | None = None) -> Answer | Status:
    r"""The number that a response asserts as its answer.

    Args:
        response: what the model wrote.
        mode: ``strict`` takes the number after the last ``####`` and nothing else; ``flexible`` takes the last marker
            of any kind (``####``, ``\boxed{}``, ``<answer>``, "the answer is") and, where there is none, the last
            number of the last sentence that asserts one.
        prompt: the question, where it is at hand; a sentence copied from it asserts nothing.

    Returns:
        The answer, or NO_ANSWER, AMBIGUOUS or LIMIT.

    >>> extract("9 * 2 = 18\n#### 18").text
    '18'
    >>> extract("The answer could be 71 or 72.")
    <Status.AMBIGUOUS: 3>
    """
    if len(response) > MAX_CHARS:
        return Status.LIMIT
    if "####" in response and (plain := _by_hashes(response)) is not None:
        return plain
    part = visible_part(response)
    if part is None:
        return Status.NO_ANSWER
    start, stop = part
    try:
        marks = find_marks(response, start, stop, hashes_only=mode == "strict")
    except TooManyMarkers:
        return Status.LIMIT
    if marks:
        read = _claims(response, marks, start, stop)
        if read:
            return _last_claim(response, read, stop)
    if mode == "strict":
        return Status.NO_ANSWER
    claim, offset = last_statement(response, start, stop, prompt)
    if claim.status is not Status.SCORED:
        return claim.status
    first, end = offset + claim.start, offset + claim.end
    return Answer(response[first:end], (first, end), "last-number", claim.value)


def _by_hashes(text: str) -> Answer | Status | None:
    """The answer of the common response: one number behind each ``####``, and the last ends the text.

    None: it is of another kind, and is looked at in the general way, which reads this kind alike.
    """
    if "\\" in text or "nswer" in text or "NSWER" in text or not text.isascii() or ("<" in text and _TAG.search(text)):
        return None
    parts = text.split("####", MAX_MARKERS)
    tail = parts.pop()
    last = _number(tail.partition("\n")[0])
    if last is None or len(tail) - last.end >= LEAST_WORDS:
        return None
    value = last.value
    others = set()
    for part in parts[1:]:
        other = _number(part.partition("\n")[0])
        if other is None:
            return None
        if other.value != value:
            others.add(other.value)
    if others:
        return Status.AMBIGUOUS if len(others) > 1 else None
    offset = len(text) - len(tail)
    start, end = offset + last.start, offset + last.end
    return Answer(text[start:end], (start, end), "####", value)


def _number(content: str) -> Claim | None:
    """The number behind a marker, where there is exactly one and the text is short."""
    if len(content) > _SHORT or content.startswith("#"):
        return None
    claim = _directly(content)
    return claim if claim is not None and claim.status is Status.SCORED else None


_SHORT: Final = 64
_TAG: Final = re.compile(r"<[|/tea]")


@functools.lru_cache(maxsize=16_384)
def _directly(content: str) -> Claim | None:
    return direct(fold(content))


def _claims(text: str, marks: list[Mark], start: int, stop: int) -> list[_Read]:
    read: list[_Read] = []
    for i, mark in enumerate(marks):
        if mark.kind in _OUTER and i + 1 < len(marks) and marks[i + 1].begin < mark.end:
            continue  # "The answer is \\boxed{18}": the inner marker says it
        claim = _read(text, mark, stop)
        if (
            claim is _WORDS
            and mark.kind == "####"
            and i + 1 < len(marks)
            and marks[i + 1].begin < mark.end
            and _read(text, marks[i + 1], stop) is not None
        ):
            continue  # "#### The answer is 18": the label says it
        if claim is not None:
            if mark.kind in ("label", "boxed") and is_denied(text, mark.kind, mark.begin, start):
                claim = DENIED
            read.append((mark, claim))
    return read


_OUTER: Final = ("label", "answer-tag")


def _read(text: str, mark: Mark, stop: int) -> Claim | None:
    """What a mark claims; None when it turns out to be none (a heading, "the answer is that ...")."""
    content = text[mark.start : mark.end]
    if len(content) <= _SHORT:
        claim = _directly(content)
        if claim is not None or mark.kind == "label":
            return claim
    content = fold(content)
    claim = direct(content)
    if claim is not None or mark.kind == "label":
        return claim
    if not _HAS_CONTENT.search(content):
        return NOTHING if mark.kind != "####" or not text[mark.end : stop].strip() else None
    if mark.kind == "####":
        return None if text[mark.end : stop].strip() else _WORDS
    if mark.kind == "answer-tag":
        inner = sentence(content)
        return inner if inner is not NOTHING else _WORDS
    return _WORDS


_HAS_CONTENT: Final = re.compile(r"[^\W_]|[^\s\x00-\x7f]")
_NO_TEXT: Final = re.compile(
    r"(?:\}?\$?\s?(?:[a-z]{2,}\s+){1,2}(?:and|&)\s|\}?\$?\s?(?:[a-z]{2,}\s?){1,2},(?:\s+and)?\s)?"
    r"(?:[\W_]|\b(?:and|or|the|a|an|my|final|correct|so|thus|hence|therefore|maybe|perhaps|then|also|text|quad|qquad|answer|is)\b)*+\Z",
    re.IGNORECASE,
)
_HEDGED: Final = re.compile(
    r"(?:\b(?:could|might|may)\s+(?:also\s+|possibly\s+|well\s+)?be|\bor\s+(?:maybe|perhaps|possibly|even))\s+[^\w\n]{0,6}\d",
    re.IGNORECASE,
)


def _last_claim(text: str, read: list[_Read], stop: int) -> Answer | Status:
    claimed = read if len(read) == 1 else [r for r in read if not r[1].denied]
    if not claimed:
        return Status.NO_ANSWER
    mark, claim = claimed[-1]
    if claim.status is not Status.SCORED:
        return claim.status
    if len(claimed) > 1:
        values = {_value(text, r) for r in claimed if r[1].status is Status.SCORED}
        if len(values) >= 3:
            return Status.AMBIGUOUS
        before = claimed[-2]
        disagree = len(values) == 2 and _value(text, before) != _value(text, claimed[-1])
        if disagree and _NO_TEXT.match(text, before[0].end, max(before[0].end, mark.begin)):
            return Status.AMBIGUOUS
    said = mark.start + claim.end
    if stop - said >= LEAST_WORDS:
        limit = min(stop, mark.end + AFTERWORD)
        if (place := correction(text, said, limit)) is not None:
            corrected = direct(
                fold(text[place : right_edge(text, min(stop, place + AFTERWORD), place)].partition("\n")[0])
            )
            if corrected is None or corrected.status is not Status.SCORED:
                return Status.NO_ANSWER if corrected is None else corrected.status
            start, end = place + corrected.start, place + corrected.end
            return Answer(text[start:end], (start, end), mark.kind, corrected.value)
        afterword = text[said:limit]
        if is_taken_back(text, said, limit):
            return Status.NO_ANSWER
        if (" be " in afterword or " or " in afterword) and _HEDGED.search(afterword):
            return Status.AMBIGUOUS
    if claim is _WORDS:
        return Answer(text[mark.start : mark.end].strip(), _trimmed(text, mark), mark.kind)
    start, end = mark.start + claim.start, mark.start + claim.end
    return Answer(text[start:end], (start, end), mark.kind, claim.value)


def _value(text: str, read: _Read) -> Number | str:
    mark, claim = read
    return text[mark.start : mark.end].strip() if claim.value is None else claim.value


def _trimmed(text: str, mark: Mark) -> tuple[int, int]:
    content = text[mark.start : mark.end]
    start = mark.start + len(content) - len(content.lstrip())
    return start, start + len(content.strip())
