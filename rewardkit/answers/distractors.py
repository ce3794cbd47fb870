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


def is_distractor(text: str, before: Sequence[re.Match[str]], match: re.Match[str]) -> bool:
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
    clause_starts = [opening.end() for opening in _CLAUSE.finditer(text, first.end(), match.start())]
    if not clause_starts or _ASSERTS.search(text, clause_starts[-1], match.start()) is not None:
        return False
    clause = text[clause_starts[-1] : match.start()]
    return _RESUMES.search(clause) is None or _ADDS.search(clause) is not None


def _is_of_result(text: str, before: Sequence[re.Match[str]], match: re.Match[str]) -> bool:
    """True for a number that only says of what the last result is one: ``9 + 6 = 15 liters out of the 24``."""
    at = text.rfind("=", 0, match.start())
    result = next((m for m in before if m.start() > at), None) if at >= 0 else None
    if result is None or _RESULT.search(text, at, result.start()) is None:
        return False
    gap = text[result.end() : match.start()]
    return bool(_REGARDS.search(gap)) and not (_ASSERTS.search(gap) or _ADDS.search(gap) or _RESUMES.search(gap))


_STOP: Final = (
    r"to|and|or|but|plus|minus|times|so|then|equals?|is|are|was|were|be|has|have|had|will|would|makes?|made|gives?|gave"
    r"|gets?|got|costs?|leaves?|leaving|becomes?|needs?|sells?|sold|buys?|bought|pays?|paid|earns?|earned|total\w*"
    r"|altogether|worth"
)
_NOUN: Final = rf"(?:(?!(?:{_STOP})\b)[^\W\d_][\w'’-]*\.?[\s$*]+)"
_GOAL: Final = r"to\s+(?!(?:get|find|obtain|give|make|have|arrive|be|equal|yield|become)\b)[a-z]+\s+(?:at\s+least\s+)?"
_COMPLEMENT: Final = re.compile(
    rf"""[\s*%]*(?:{_NOUN}{{0,5}}?
          (?: (?:in|on|at|for|during|over|within|every|per|from|by|with|between|across|among(?:st)?|than|unlike|until
               |before|after)\s
            | (?:each|half|twice|double)\s+of\s
            | {_GOAL}{_NOUN}{{0,3}}?(?:(?:in|on|for|from|with)\s)?
            | who\s+[a-z]+\s )
        | {_NOUN}{{0,2}}?(?:out\s+)?of\s
        | (?:{_NOUN}{{0,5}}?|(?:{_NOUN}{{0,4}}?[^\W\d_]+)?,\s*)
          (?: (?:including|excluding|(?:not\s+)?counting|using|starting\s+(?:at|with|from)|compared\s+(?:to|with)
               |enough\s+for|versus|each\s+[a-z]+ing|each\s+with|with)\s
            | unless\s+[a-z]+\s+[a-z]+\s )
        ) [\s$*(]*{_NOUN}{{0,4}}\Z""",
    re.VERBOSE | re.IGNORECASE,
)
"""What joins a number to the one before it: ``40 of the``, ``120 miles in``, ``5 bags, each holding``."""
_CIRCUMSTANCE: Final = re.compile(
    r"[^,;:=\d]*,?\s*\b(?:when|while|whereas|by\s+the\s+time|although|though|given\s+that|because|since|if|unless|who)\s+"
    r"(?!(?:is|are|was|makes?|gives?|leaves?|equals?|means?)\b)"
    r"(?P<clause>(?:[^\W\d_][\w'’]*[\s$*]+){1,6})\Z",
    re.IGNORECASE,
)
_MONEY: Final = re.compile(r"\b(?:for|with)\s+[\s*(]*\Z", re.IGNORECASE)
_LESS: Final = re.compile(
    r"\s*%?\s*(?:[^\W\d_]+\s+)?(?:more|less|fewer|greater|higher|lower|larger|bigger|smaller|older|younger|longer"
    r"|shorter)\b|\s*(?:of\s+(?:which|whom|them)\b)",
    re.IGNORECASE,
)
_COMPARED: Final = re.compile(r"[\s*%]*(?:[^\W\d_]+\s?){0,3}?,\s+(?:which\s+(?:is|was)\s+|or\s+)?\Z", re.IGNORECASE)


def is_complement(text: str, previous: re.Match[str], match: re.Match[str], stop: int) -> bool:
    """Whether a number only completes what is said with the one before: ``40 of the 60``, ``8 less than 20``.

    Args:
        text: the sentence.
        previous: the number before.
        match: the number.
        stop: where the next number starts, or the sentence ends.
    """
    gap = text[previous.end() : match.start()]
    if len(gap) > _LONGEST_GAP or gap.strip() in ("", "to", "-"):
        return False
    behind = text[match.end() : stop]
    if _LESS.match(behind) is not None and _COMPARED.match(gap) is not None:
        return True
    if re.search(r"\b[Ff]rom\s+[\s*$]*\Z", text[max(0, previous.start() - 16) : previous.start()]) and re.search(
        r"\bto\b", gap
    ):
        return False  # from 5 to 20
    said_behind = _ASSERTS.search(behind.replace(" left", ""))
    if _COMPLEMENT.match(gap) is not None:
        return said_behind is None
    clause = _CIRCUMSTANCE.match(gap)
    if clause is None or said_behind is not None:
        return False
    return len(_ASSERTS.findall(clause["clause"])) <= 1


def is_price(text: str, previous: re.Match[str], match: re.Match[str]) -> bool:
    """Whether a sum of money is what the number before was bought or sold for: either may be what was asked."""
    return "$" in match[0] and "$" not in previous[0] and _MONEY.search(text, previous.end(), match.start()) is not None


_LONGEST_GAP: Final = 80
