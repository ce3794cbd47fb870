r"""What is said around a marked answer that takes it away: denied before, taken back or corrected after.

``I don't think the answer is 72`` and ``It can't be \boxed{72}`` claim nothing; ``72. Wait, no, it's 71.`` claims 71.
Only places are found here; what a corrected claim says is read by the caller. All patterns look at a bounded stretch.
"""

from __future__ import annotations

import re
from typing import Final

from rewardkit.answers.claim import NEGATED_BEFORE, may_deny

AFTERWORD: Final = 200
"""How far behind an answer it may be taken back (characters)."""
_BEFORE: Final = 80
_LEAST_DENIAL: Final = 10
"""Characters; "doubt the " is the shortest text that denies the label after it."""
LEAST_WORDS: Final = 8
"""Characters; "or even 9" is the shortest text that takes a claim back."""

_DENIED_STATEMENT: Final = re.compile(
    r"""(?: (?:n['’]t|\bnot|\bcannot|\bnever)\s+(?:really\s+)?(?:think|believe|say|conclude|claim|mean|agree|see\s+how)
          | (?:n['’]t|\bnot)\s+(?:true|correct|right|the\s+case|sure|certain|likely|possible|clear)
          | (?<!\bnot\s)(?<!n['’]t\s)\b(?:wrong|false|incorrect|untrue|impossible|unlikely|doubtful)
          | (?<!\bno\s)(?<!without\s)(?<!\ba\s)\bdoubt
        )\s+(?:(?:to\s+(?:say|think|claim)|if|whether|how|that)\s+){0,2}(?:the\s+|my\s+)?(?:(?:final|correct|right)\s+)?\Z""",
    re.VERBOSE | re.IGNORECASE,
)
_TAKEN_BACK: Final = re.compile(
    r"\b(?:that|this|it|which)(?:'s|’s|\s+is|\s+was)\s+(?:wrong|incorrect|false|not\s+(?:right|correct|true|the\s+(?:right\s+|correct\s+|final\s+)?answer))\b"
    r"|\b(?:that|this|it)\s+(?:isn't|isn’t|wasn't|can't\s+be|cannot\s+be)\s+(?:right|correct|true|the\s+(?:right\s+|correct\s+|final\s+)?answer)\b",
    re.IGNORECASE,
)
_CORRECTED: Final = re.compile(
    r"\b(?:wait|no|oops|sorry|correction|scratch\s+that|actually|i\s+meant?)\b[^\n\d]{0,60}?"
    r"\b(?:it['’]s|it\s+is|it\s+was|(?:it|that|this|which)\s+(?:should|must|would)\s+be|should\s+be|i\s+meant?|make\s+that)"
    r"\s+(?:actually\s+|really\s+|just\s+)?(?=[^\w\n]{0,6}(?:\d|\\))",
    re.IGNORECASE,
)

_CORRECTING: Final = ("wait", "no,", "no ", "oops", "sorry", "correction", "scratch", "actually", "meant")


def is_denied(text: str, kind: str, begin: int, start: int) -> bool:
    """True when the prefix of a mark denies it: the mark is of this kind, begins there, in ``text[start:]``."""
    if kind != "label":
        before = text[max(start, begin - _BEFORE // 2) : begin]
        return may_deny(before) and NEGATED_BEFORE.search(before) is not None
    low = max(start, begin - _BEFORE)
    low = max(low, text.rfind("\n", low, begin) + 1, text.rfind(". ", low, begin) + 1)
    if begin - low < _LEAST_DENIAL:  # "The answer": a sentence that begins with its label, as most do
        return False
    return _DENIED_STATEMENT.search(text, low, begin) is not None


def is_taken_back(text: str, start: int, stop: int) -> bool:
    """True when ``text[start:stop]``, which follows an answer, says that it is wrong."""
    after = text[start : min(stop, start + AFTERWORD)]
    return len(after) >= LEAST_WORDS and may_deny(after) and _TAKEN_BACK.search(after) is not None


def correction(text: str, start: int, stop: int) -> int | None:
    """Where the corrected answer stands, when what follows an answer says "wait, no, it's ..."; else None."""
    after = text[start : min(stop, start + AFTERWORD)]
    if len(after) < LEAST_WORDS or not any(map(after.lower().__contains__, _CORRECTING)):
        return None
    match = _CORRECTED.search(after)
    return None if match is None else start + match.end()
