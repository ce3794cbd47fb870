r"""One spelling for what answers write in many ways, before a formula is parsed.

``5\text{ million}`` and ``5 Millionen`` are 5000000, ``12万`` is 120000, ``10\ 000`` is 10000, ``72元`` and ``USD 72``
are 72, ``72或73`` is ``72 or 73``, ``__6__`` is 6. Whatever else a text holds stays as it is.
"""

from __future__ import annotations

import functools
import re
from fractions import Fraction
from typing import Final

from rewardkit.answers.limits import MAX_FORMULA
from rewardkit.answers.number import CURRENCY, Number, fold, next_number, value_of
from rewardkit.answers.scale import in_words
from rewardkit.answers.words import AND_WORDS, ATTACHED_AND, ATTACHED_OR, OR_WORDS, OTHER_DENIAL, OTHER_SCRIPT

_TEXT_WORD: Final = re.compile(
    rf"\\(?:text|textrm|mathrm|mbox)\s*\{{[\s,，]*(?:({OR_WORDS})|(?:{AND_WORDS}))[\s,，]*\}}"
)
_BETWEEN: Final = re.compile(
    rf"(?<=[\d)}}\]$%a-z{OTHER_SCRIPT}])(?:\s*({ATTACHED_OR})\s*|\s+({OR_WORDS}|o)\s+)(?=[-+\d($\\a-z])"
    rf"|(?<=[\d)}}\]$%])(?:\s*(?:{ATTACHED_AND})\s*|\s+(?:{AND_WORDS}|y|e)\s+)(?=[-+\d($\\])"
)
_SIMPLE: Final = re.compile(r"[\s$]*[-+]?[\d.]+[\s$.]*\Z")
_MAY_DIFFER: Final = re.compile(
    r"\d\s*(?:\\[ ,:;>!a-z]|\^|~|[A-Za-z])|[^\x00-\x7f]|\A\s*[*_`\"']|[A-Z$]\s*\}?[\s~]*\d|R[sp]\.?\s*\}?[\s~]*\d"
)
_CLOSING: Final = re.compile(r"\s*\}")
_GROUP_BLANK: Final = re.compile(r"(?<=\d)(?:\\[ :;>]|[~\u00a0\u2009\u202f])\s?(?=\d{3}(?!\d))")
_THREE_FIRST: Final = re.compile(r"(?<![\d.])\d{1,3}(?:(?:\\[ :;>]|[~\u00a0\u2009\u202f])\s?\d{3})+(?!\d)")
_CURRENCY_LEAD: Final = re.compile(rf"(?<![A-Za-z\\$]){CURRENCY}[ ~]*(?=-?\s?[\d.])")
_MARKUP: Final = re.compile(
    r"\s*(\*{1,3}|_{1,3}|`+|\"|'|“|‘|\*\*_|_\*\*)(.+?)(?:\1|”|’|_\*\*|\*\*_)\s*\.?\s*\Z", re.DOTALL
)
_OTHER_LEAD: Final = re.compile(rf"\s*[{OTHER_SCRIPT}][{OTHER_SCRIPT}\s:：,，]*(?=[-+]?[$¥￥]?\s?\d[^{{}}]*\Z)")
_OTHER_UNIT: Final = re.compile(
    rf"(?<=[\d%$])[ ~]*[{OTHER_SCRIPT}]+(?:[ ][{OTHER_SCRIPT}]+){{0,3}}[。.]?"
    r"(?=\s*(?:[,，;；]|\\text\{ or |or\b|and\b|\Z))"
)
_CURRENCY_TAIL: Final = re.compile(
    r"(?<=[\d%])[ ~]*(?:\\text\{\s*)?(?:kr|zł|Kč|Ft|lei|€|£|¥|₹|₽|₩|₫|đ|đồng|元|円)\.?\s*\}?\s*\Z"
)
_DIRECTION: Final = re.compile(
    r"(?<=\d)(\s*(?:\^\s*\{?\s*\\circ\s*\}?|°))[\s~]*(?:\\(?:text|mathrm)\s*\{\s*)?(?:[NSEW]|[Nn]orth|[Ss]outh|[Ee]ast|[Ww]est)"
    r"\.?\s*\}?\s*\Z"
)
_KEPT: Final = re.compile(r"[第]|以[上下]|上午|下午|早上|晚上|午前|午後|오전|오후")


@functools.lru_cache(maxsize=16_384)
def usual_spelling(text: str) -> str:
    r"""The answer with its words for numbers as digits, and without currency, emphasis and units of other scripts.

    >>> usual_spelling(r"5\text{ million dollars}"), usual_spelling("USD 29"), usual_spelling(r"10\ 000")
    ('5000000\\text{ dollars}', '29', '10000')
    """
    if len(text) > MAX_FORMULA or _SIMPLE.match(text) or _MAY_DIFFER.search(text) is None:
        return text
    while (markup := _MARKUP.match(text)) is not None and markup[1] not in markup[2]:
        text = markup[2]
    text = _THREE_FIRST.sub(lambda found: _GROUP_BLANK.sub("", found[0]), text)
    text = _DIRECTION.sub(r"\1", _CURRENCY_TAIL.sub("", _CURRENCY_LEAD.sub("", text)))
    text = _scales_as_digits(text)
    if not text.isascii() or " " in text:
        text = _TEXT_WORD.sub(lambda found: r"\text{ or }" if found[1] else r"\text{ and }", text)
        text = _BETWEEN.sub(lambda found: " or " if found[1] or found[2] else " and ", text)
    if text.isascii():
        return text
    lead = _OTHER_LEAD.match(text)
    if lead is not None and OTHER_DENIAL.search(lead[0]) is None:
        text = text[lead.end() :]
    return _OTHER_UNIT.sub(lambda found: found[0] if _KEPT.search(found[0]) else "", text)


def _scales_as_digits(text: str) -> str:
    folded = fold(text)
    parts: list[str] = []
    done = 0
    match = next_number(folded)
    while match is not None:
        value = value_of(match)
        stop = match.end()
        if value is not None:
            value, stop, opening = in_words(folded, value, stop)
            if stop > match.end():
                if opening and (closing := _CLOSING.match(text, stop)) is not None:
                    stop, opening = closing.end(), ""
                parts += [text[done : match.start()], _digits(value), opening if "}" in text[stop:] else ""]
                done = stop
        match = next_number(folded, stop)
    return "".join(parts) + text[done:] if parts else text


def _digits(value: Number) -> str:
    value = Fraction(value)
    return str(value.numerator) if value.denominator == 1 else rf"\frac{{{value.numerator}}}{{{value.denominator}}}"
