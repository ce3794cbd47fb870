"""Numbers that stand in a sentence beside the one that it asserts.

In brackets, in a clause that says when or why, or after a result, to say of what it is one: a reader who takes the last
number of ``9 + 6 = 15 liters out of the 24`` reads 24. GSM8K's own solutions, their markers cut off, end in such a
sentence once in fifty times.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

CLAUSES: Final = (" after ", " because ", " since ", " when ", " if ", " once ")
"""What opens such a clause, for a cheap look; a sentence without any has none."""
_CLAUSE: Final = re.compile(r"\b(?:after|because|since|when|if|once)\b", re.IGNORECASE)
_ASSERTS: Final = re.compile(
    r"[=,;:]|\b(?:so|then|leaving|left|totals?|is|are|was|were|has|have|had|will|would|equals?|remain\w*|results?|there"
    r"|(?<!\bto\s)(?:makes?|gives?|gets?|leaves?|becomes?|needs?))\b",
    re.IGNORECASE,
)
_RESULT: Final = re.compile(r"=[\s$*]*\Z")
_REGARDS: Final = re.compile(
    r"\b(?:of|in|for|to|from|per|over|with|on|at|by|within|during|among(?:st)?|between|across|before|until|that|who|which)\b",
    re.IGNORECASE,
)
_ADDS: Final = re.compile(r"\b(?:and|or|but|than|plus|minus|times)\b", re.IGNORECASE)
_RESUMES: Final = re.compile(
    r"\d[^,;]*\b(?:he|she|it|they|we|you|i)\s+(?:(?:can|could|should|may|might|must|only|now)\s+)?[a-z']+\s+[$\s*_]*\Z",
    re.IGNORECASE,
)
"""A subject and its verb after a number, right before the next: ``if he runs 10 miles a day he runs 30``."""


def is_beside(text: str, before: Sequence[re.Match[str]], match: re.Match[str]) -> bool:
    """Whether a number is not what its sentence asserts, for one of the reasons above.

    Args:
        text: the sentence.
        before: the sentence's numbers before this one, in order; one at least.
        match: the number.
    """
    return (
        _is_aside(text, before[-1], match)
        or _is_circumstance(text, before[0], match)
        or _is_of_result(text, before, match)
    )


def _is_aside(text: str, previous: re.Match[str], match: re.Match[str]) -> bool:
    """True for a number in brackets after a number outside: ``18 dollars (9 * 2)``."""
    opening = text.rfind("(", previous.end() - 1, match.start() + 1)
    if opening < 0 or text.find(")", opening, match.start()) >= 0:
        opening = text.rfind("(", 0, match.start() + 1)
        if opening < 0 or text.find(")", opening, match.start()) >= 0:
            return False
        return "=" not in text[opening : match.start()] and any(c.isdigit() for c in text[:opening])
    return "=" not in text[opening : match.start()]


def _is_circumstance(text: str, first: re.Match[str], match: re.Match[str]) -> bool:
    """True for a number that only says when or why, after the one that is asserted: ``12 left after giving away 5``."""
    ends = [opening.end() for opening in _CLAUSE.finditer(text, first.end(), match.start())]
    if not ends or _ASSERTS.search(text, ends[-1], match.start()) is not None:
        return False
    clause = text[ends[-1] : match.start()]
    return _RESUMES.search(clause) is None or _ADDS.search(clause) is not None


def _is_of_result(text: str, before: Sequence[re.Match[str]], match: re.Match[str]) -> bool:
    """True for a number that only says of what the last result is one: ``9 + 6 = 15 liters out of the 24``."""
    at = text.rfind("=", 0, match.start())
    result = next((m for m in before if m.start() > at), None) if at >= 0 else None
    if result is None or _RESULT.search(text, at, result.start()) is None:
        return False
    gap = text[result.end() : match.start()]
    return bool(_REGARDS.search(gap)) and not (_ASSERTS.search(gap) or _ADDS.search(gap) or _RESUMES.search(gap))
