r"""Words behind a number that say which of two opposite things it is: ``9:00 a.m.``, ``40° N``, ``10 feet below``.

A unit may be left out, and so may such a word; but the opposite word makes another answer.
"""

from __future__ import annotations

import re
from typing import Final

_OPPOSITES: Final = (
    (
        r"a\.?\s?m\b\.?|in the morning|上午|早上|凌晨|午前|오전",
        r"p\.?\s?m\b\.?|in the (?:afternoon|evening)|at night|下午|晚上|午後|오후",
    ),
    (r"n(?:orth(?:ern|wards?)?)?|北纬|北緯|北", r"s(?:outh(?:ern|wards?)?)?|南纬|南緯|南"),
    (r"e(?:ast(?:ern|wards?)?)?|东经|東経|东|東", r"w(?:est(?:ern|wards?)?)?|西经|西経|西"),
    (
        r"above|over|higher|up(?:wards?|hill)?|以上|高于",
        r"below|under(?:ground)?|beneath|lower|down(?:wards?|hill)?|以下|低于|地下",
    ),
    (
        r"gain(?:s|ed)?|profits?|increase[sd]?|surplus|more|rise|rose|credit|赚|盈利|增加",
        r"loss(?:es)?|lost|lose[sd]?|decrease[sd]?|deficit|less|fewer|fall|fell|drop(?:s|ped)?|debit|debt|亏损|亏|减少",
    ),
    (r"left", r"right"),
    (r"clockwise", r"(?:counter|anti)-?\s?clockwise"),
    (r"b\.?c\.?(?:e\.?)?", r"a\.?d\.?|c\.?e\.?"),
    (r"before|ago|earlier|early|ahead", r"after|later?|behind|from now"),
    (r"forwards?|inwards?|deposit(?:s|ed)?|won|wins?", r"backwards?|outwards?|withdr(?:awals?|ew|awn)|loses"),
)


def _words(words: str) -> str:
    attached = "|".join(word for word in words.split("|") if not word.isascii())
    return rf"(?<![\\\w])(?:{words})(?![\w(])" + (f"|{attached}" if attached else "")


_PAIRS: Final = tuple(
    (re.compile(_words(one), re.IGNORECASE), re.compile(_words(other), re.IGNORECASE)) for one, other in _OPPOSITES
)
_LETTERS: Final = re.compile(r"(?<![\\a-zA-Z])[A-Za-z]|[\u3400-\u9fff\uac00-\ud7af]")
_FONT: Final = re.compile(
    r"\\(?:text|textrm|textbf|textit|mathrm|mathbf|mbox)\s*\{|\\?\$|[{}~£€¥]|\\[ ,;:]|\\circ\b|\\%|\^|°"
)
_QUANTITY: Final = re.compile(
    r"\s*(?:[^\W\d_]+\s+(?:(?:of|a|the|by|at)\s+)?){0,2}[-+]?[\d.,:/']+(?:\s*%)?(?:\s*[^\d=<>+*/_\\]*)\Z"
)
_BEHIND: Final = re.compile(
    r"\s{0,2}(?:°\s?)?(?:[ap]\.?\s?m\b\.?|in\s+the\s+(?:morning|afternoon|evening)|at\s+night"
    r"|(?:(?:[a-z]+\s+){0,2}(?:(?:above|below|under(?:ground|water)?|north|south|east|west|clockwise|counter-?clockwise)\b"
    r"|(?:gain|profit|loss|deficit|surplus)\b))|[NSEW]\b|(?:B\.?C|A\.?D)\b)",
)


def opposed(one: str, other: str) -> bool:
    r"""Whether two quantities say opposite things of their number.

    >>> opposed(r"9:00 \text{ a.m.}", "9:00 PM"), opposed("9:00", "9:00 PM"), opposed("10 feet below", "10 feet above")
    (True, False, True)
    """
    if _LETTERS.search(one) is None or _LETTERS.search(other) is None:
        return False
    left, right = _FONT.sub(" ", one), _FONT.sub(" ", other)
    if _QUANTITY.match(left) is None or _QUANTITY.match(right) is None:
        return False
    for first, second in _PAIRS:
        here, there = _side(left, first, second), _side(right, first, second)
        if here * there < 0:
            return True
    return False


def is_opposite(ground_truth: object, response: str, span: tuple[int, int]) -> bool:
    """Whether what stands around a number in a response is the opposite of what a ground truth says of it."""
    if (
        not isinstance(ground_truth, str)
        or len(ground_truth) > _LONGEST
        or not ground_truth
        or ground_truth[-1].isdigit()
    ):
        return False
    before, behind = response[max(0, span[0] - 16) : span[0]], response[span[1] : span[1] + 40]
    lead = " ".join(re.split(r"[^\w\s]", before)[-1].split()[-2:]) + " "
    return opposed(
        ground_truth.rpartition("#")[2], lead + response[span[0] : span[1]] + re.split(r"[.,;!?\n]\s|\d", behind)[0]
    )


_LONGEST: Final = 200


def _side(text: str, first: re.Pattern[str], second: re.Pattern[str]) -> int:
    return (first.search(text) is not None) - (second.search(text) is not None)


def sense_end(text: str, end: int, stop: int) -> int:
    """Where the word ends that says of the number at ``text[:end]`` which of two things it is; ``end`` without one."""
    match = _BEHIND.match(text, end, min(stop, end + 60))
    return end if match is None else match.end()
