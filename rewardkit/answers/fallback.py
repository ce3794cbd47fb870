"""Without a marker: the last statement that holds a number.

The sentence (or line) around the last number of the response is read. A question asserts nothing, and a response that
ends by asking the problem again has not answered it. The same words once more with another number ("Maybe 70. Maybe
71.") are an enumeration.
"""

from __future__ import annotations

import re
from typing import Final

from rewardkit.answers.claim import DENIED, NOTHING, SEVERAL, Claim, plain_statement, sentence
from rewardkit.answers.limits import FALLBACK_WINDOW
from rewardkit.answers.number import fold
from rewardkit.answers.words import left_edge, right_edge
from rewardkit.batch import Status

_DIGIT: Final = re.compile(r"[\d¼½¾⅓⅔⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞]")
_ASKS: Final = re.compile(
    r"\b(?:how\s+(?:many|much|long|far|old|fast|tall|often|big|large)|what|which|who|whose|when|where|find|calculate|determine)\b[^?]*\?",
    re.IGNORECASE,
)
_END: Final = re.compile(r"[.!?\n。？！।](?:(?<=[\n。？！।])|(?=[\s*_\"')]|\Z))")
_STRIP: Final = re.compile(r"[\d.,$%*_\s!]+")
_BULLET: Final = re.compile(r"[.)][ \t]+\S")
_MAX_QUESTIONS: Final = 8


def last_statement(text: str, start: int, stop: int, prompt: str | None = None) -> tuple[Claim, int]:
    """The claim of the last statement with a number in ``text[start:stop]``, and the offset of its span."""
    for _ in range(_MAX_QUESTIONS):
        digit = _last_digit(text, start, stop)
        if digit < 0:
            return NOTHING, 0
        low = max(start, digit - FALLBACK_WINDOW)
        left = _sentence_start(text, low, digit)
        end = _END.search(text, digit + 1, min(stop, digit + FALLBACK_WINDOW))
        right = end.start() if end is not None else min(stop, digit + FALLBACK_WINDOW)
        cut = False
        if left == low > start:
            left = left_edge(text, low, digit)
            cut = left == digit
        if end is None and right < stop:
            right = right_edge(text, right, digit)
            cut = cut or right == digit
        if cut:  # a word longer than the window
            stop = low
            continue
        if text.find("?", right, right + FALLBACK_WINDOW) >= 0:
            if _ASKS.search(text, left, min(stop, right + FALLBACK_WINDOW)) is not None:
                return NOTHING, 0
            if text[right : right + 1] == "?":
                stop = left
                continue
        statement = fold(text[left:right])
        if statement.strip(" *").isdigit() and _BULLET.match(text, right):
            stop = left
            continue
        if prompt is not None and len(statement.split()) > 3 and text[left:right].strip() in prompt:
            return NOTHING, 0
        claim = (plain_statement(statement, digit - left) if statement.isascii() else None) or sentence(statement)
        if claim is NOTHING:  # digits in a name ("x2", "3rd"), a bullet
            stop = left
            continue
        if claim.status is Status.SCORED and _has_twin(text, start, left, statement):
            return SEVERAL, 0
        if claim is DENIED:
            return NOTHING, 0
        return claim, left
    return NOTHING, 0


def _last_digit(text: str, start: int, stop: int) -> int:
    """Searches at C speed from the end; digits of other scripts are looked for after what those find."""
    low = max(start, stop - _NEAR)
    last = low + len(text[low:stop].rstrip(_NO_DIGIT)) - 1
    if last < low or text[last] not in "0123456789":
        last = max([text.rfind(d, low, stop) for d in "0123456789"])
    if last < 0:
        last = max([text.rfind(d, start, stop) for d in "0123456789"])
    if text.isascii() or _DIGIT.search(text, max(last + 1, start), stop) is None:
        return last
    low = stop
    while True:
        low = max(start, low - 2048)
        digits = [m.start() for m in _DIGIT.finditer(text, low, min(stop, low + 2048))]
        if digits:
            return digits[-1]


_NEAR: Final = 200
_NO_DIGIT: Final = "".join(c for c in map(chr, range(128)) if not c.isdigit())


def _sentence_start(text: str, low: int, at: int) -> int:
    low = max(low, text.rfind("\n", low, at) + 1)
    start = max(text.rfind(". ", low, at), text.rfind("? ", low, at), text.rfind("! ", low, at))
    if not text.isascii():
        start = max(
            start,
            text.rfind("。", low, at),
            text.rfind("？", low, at),
            text.rfind("！", low, at),
            text.rfind("।", low, at),
        )
    return start + 1 if start >= 0 else low


_CLOSING: Final = " \n\t.!?*_"
_NO_WORDS: Final = "".join(c for c in map(chr, range(128)) if c.isdigit() or c in ".,$%*_! \x7f" or c < " ")
"""What ``_STRIP`` takes out of ASCII text, control characters included, which are folded to blanks."""


def _has_twin(text: str, start: int, left: int, statement: str) -> bool:
    """True when the statement before says the same words with another number."""
    if "=" in statement:
        return False
    low = max(start, left - len(statement) - 32)
    near = text[low:left]
    if near.isascii() and statement.isascii():
        ours, theirs = statement.rstrip(_NO_WORDS)[-4:], near.rstrip(_CLOSING).rstrip(_NO_WORDS)[-4:]
        if ours and (ours[-1] != theirs[-1:] or (ours != theirs and ours.isalpha() and theirs.isalpha())):
            return False  # the last letters differ: the common case, and so the cheapest
    end = left
    while end > low and text[end - 1] in _CLOSING:
        end -= 1
    cut = max(
        text.rfind("\n", low, end), text.rfind(". ", low, end), text.rfind("? ", low, end), text.rfind("! ", low, end)
    )
    if cut < 0 and low > start:
        return False  # the prefix is far longer
    mine = statement.strip(" *_.")
    other = fold(text[max(cut + 1, low) : end]).strip(" *_")
    if other == mine or not any(map(str.isdigit, other)):
        return False
    return _STRIP.sub("", other) == _STRIP.sub("", mine)
