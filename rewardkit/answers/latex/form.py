r"""Texts of answers: what counts as the same text, and what is stripped before parsing.

Rules, each with an example: delimiters and bold don't count (``$18$``, ``**18**``); spacing and sizing commands don't
count (``\left( 0, 1 \right)``); words are compared without case (``Yes`` and ``\text{yes}``), letters with it; a full
stop at the end doesn't count; units after a number don't count (``5 cm``, ``3 \text{ meters}``, ``\$10``).
"""

from __future__ import annotations

import re
from typing import Final

from rewardkit.answers.latex.atoms import FUNCTIONS, SEPARATORS
from rewardkit.answers.latex.styles import STYLES, unstyled
from rewardkit.answers.latex.tokens import fold_formula

_OUTER: Final = (("$$", "$$"), ("$", "$"), ("\\(", "\\)"), ("\\[", "\\]"), ("**", "**"), ("`", "`"))
_FONT: Final = re.compile(rf"\\(?:{STYLES})\s*\{{([^{{}}]*)\}}")
_DIGITS_APART: Final = re.compile(r"(?<=\d)\s+(?=\d)")  # "1 8" is not the text "18"
_DOUBLED: Final = re.compile(r"\\\\(?=[a-zA-Z])")
_VARIANT: Final = re.compile(r"\\[dtc]frac(?![a-zA-Z])")
_WORDS: Final = re.compile(r"[^\W\d_]{2,}(?:[ '\-][^\W\d_]+)*\Z")


_HALF_DAY: Final = re.compile(r"(?<=\d)\s*([AaPp])\.?\s?[Mm]\b\.?")
_DAY: Final = re.compile(
    r"\b((?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.?\s+\d{1,2})(?:st|nd|rd|th)\b", re.IGNORECASE
)
_ELLIPSIS: Final = re.compile(
    r"(?<![\d.])(\d{0,15}\.\d{0,12}?)(\d{1,12}?)\2{2,20}\s*(?:\.\.\.|…|\\(?:[lc]?dots|dotsc)(?![a-z]))"
)


def strip_delimiters(text: str) -> str:
    """The answer without surrounding math delimiters, emphasis, boxes and a final full stop."""
    while True:
        before = text
        text = (
            text.strip().rstrip(".,;:").rstrip()
            if not text.rstrip().endswith(("\\,", "\\;", "\\:"))
            else text.strip()[:-2]
        )
        for opening, closing in _OUTER:
            inner = text[len(opening) : len(text) - len(closing)]
            if (
                len(text) > len(opening) + len(closing)
                and text.startswith(opening)
                and text.endswith(closing)
                and closing not in inner
            ):
                text = inner
        if text == before:
            return text


def undoubled(text: str) -> str:
    r"""Commands whose backslash was escaped once too often (``\\\\frac``), as JSON and Python sources leave them."""
    return text if "\\begin" in text else _DOUBLED.sub(r"\\", text)


def text_key(text: str) -> str:
    """Two answers with the same key are the same text."""
    text = fold_formula(undoubled(strip_delimiters(text)))
    while (plain := _FONT.sub(r"\1", text)) != text:
        text = plain
    text = _VARIANT.sub(r"\\frac", text).replace("**", "")
    if ":" in text:
        text = _HALF_DAY.sub(lambda match: match[1].lower() + "m", text)
    text = _DAY.sub(r"\1", text)
    text = text.strip(" .")
    if _WORDS.match(text):
        return " ".join(text.casefold().split()).replace("solutions", "solution")
    if len(text) == 3 and text[0] == "(" and text[2] == ")" and text[1].isalpha():  # the option (C)
        text = text[1]
    return "".join(_DIGITS_APART.sub("\u2423", text).split())


_UNIT: Final = r"(?:[^\W\d_]{3,}|c?m|[mk]m|k?g|mg|ft|in|hr|h|s|lb|oz|mi|ml|mL|L|pm|am|units?)(?:\^\{?[23]\}?|[²³])?"
# Possessive: of a run of blanks there is one way to read it, or a few words between many would take minutes.
_UNITS: Final = re.compile(
    rf"(?<=[\d)}}\]%])(?:\\[ ~,]|[\s~,])++(?<=\s)(?<!\\\s)(?:\\?%|{_UNIT})"
    rf"(?:(?:\s*+/|[^\S ]*+ )\s*+{_UNIT}){{0,4}}\s*\.?\Z"
)
_ATTACHED: Final = re.compile(r"(?<=\d)(?:cm|mm|km|kg|mg|ft|lbs?|hrs?|mph|mL|ml)(?:\^\{?[23]\}?|[²³])?\Z")
_ORDINAL: Final = re.compile(r"(?<=\d)\s*(?:\^\s*\{?\s*)?\\(?:text|mathrm)\{\s*(?:st|nd|rd|th)\s*\}\s*\}?\Z")
_UNIT_FRACTION: Final = re.compile(
    r"(?<=[\d)}])[\s~]*(?:\\[,;: ][\s~]*)*\\[dt]?frac\s*\{\s*\\(?:text|mathrm)\{[^{}]*\}\s*\}"
    r"\s*\{\s*\\(?:text|mathrm)\{[^{}]*\}(?:\^\{?\d\}?)?\s*\}\s*\Z"
)
_PERCENT: Final = re.compile(
    r"\s*(?:\\?%|\b(?:percent|percentage|pct)\b\.?|\\text\{\s*(?:percent|pct|per cent)\.?\s*\})\Z", re.IGNORECASE
)
_LEADS: Final = re.compile(r"(?:\\text\{\s*)?(?:the\s+)?(?:final\s+)?answer(?:\s+is)?\s*:?\s*\}?\s*", re.IGNORECASE)


def formula_text(text: str) -> str:
    """The part of an answer that is a formula: without units in plain words, with a percent word as its sign."""
    text = unstyled(text)
    if "." in text:
        text = _ELLIPSIS.sub(r"\1\\overline{\2}", text)  # 0.333...
    text = (
        strip_delimiters(text).replace("**", "")
        if text.startswith("**") or text.endswith("**")
        else strip_delimiters(text)
    )
    text = undoubled(text)
    percent = _PERCENT.search(text)
    if percent is not None and percent.start() > 0:
        return strip_delimiters(text[: percent.start()]) + "\\%"
    text = _ORDINAL.sub("", _UNIT_FRACTION.sub("", text))
    units = _UNITS.search(text)
    if units is not None and not _is_formula_word(units[0]):
        text = text[: units.start()]
    else:
        text = _ATTACHED.sub("", text)
    lead = _LEADS.match(text)
    return text[lead.end() :] if lead is not None and lead.end() < len(text) else text


def _is_formula_word(text: str) -> bool:
    words = re.findall(r"[^\W\d_]+", text)
    return any(w in FUNCTIONS or w.lower() in SEPARATORS or w in ("infty", "oo", "pi", "mod") for w in words)
