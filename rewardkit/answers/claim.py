"""What one claim says: the number that a piece of text asserts, or why it asserts none.

Two readings. :func:`direct` reads what stands right after a marker (``18 dollars`` after ``####``): the number comes
first. :func:`sentence` reads a sentence without a marker: its last number that is neither denied, nor the operand of a
sum, nor beside the point (:mod:`rewardkit.answers.distractors`). Both give a status where there isn't exactly one: a
list, a range and "71 or 72" are AMBIGUOUS, "not 72" is not an answer. Where claims are found in a response is the
business of :mod:`rewardkit.answers.extract`.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from rewardkit.answers.distractors import CLAUSES, is_complement, is_distractor, is_price
from rewardkit.answers.number import NUMBER, Number, all_numbers, decimal, has_long_run, next_number, value_of
from rewardkit.answers.scale import may_scale, scaled
from rewardkit.answers.words import (
    AND_WORDS,
    ATTACHED_AND,
    ATTACHED_OR,
    CJK,
    OR_WORDS,
    OTHER_DENIAL,
    OTHER_SCRIPT,
    in_name,
)
from rewardkit.batch import Status


class Claim(NamedTuple):
    """A number with its place in the text that was read, or a status without one."""

    status: Status
    value: Number | None = None
    start: int = 0
    end: int = 0
    denied: bool = False
    """True for "not 72": something was said, but not a claim."""


NOTHING: Final = Claim(Status.NO_ANSWER)
DENIED: Final = Claim(Status.NO_ANSWER, denied=True)
SEVERAL: Final = Claim(Status.AMBIGUOUS)
TOO_LONG: Final = Claim(Status.LIMIT)

# The common claim: an integer or decimal, then nothing or words without a digit.
_PLAIN: Final = re.compile(
    r"[\s*_`({\[]*+(\$?(-?\$?(?:\d{1,3}(?:,\d{3})++|\d{1,15}+))(?:\.(\d{1,15}+))?+)"
    r"(?:[.!]?[*$_`)}\]\s.]*+\Z|((?:[ *]|\.(?![a-z]))(?:[^\W\d]|[ .,'*])*+\n?\Z))"
)
_OTHER_DENIALS: Final = ("不", "非", "не", "아니", "ない", "नहीं", "ليس", "não", "è", "không", "n’est")
_DENIALS: Final = (
    "nicht",
    "kein",
    "est pas",
    "no es",
    "not",
    "n't",
    "never",
    "wrong",
    "incorrect",
    "false",
    "nor ",
    "than",
    "nstead",
    "nlike",
    "xcept",
    " but",
    "either",
    "no longer",
    "far from",
)

_LEAD: Final = re.compile(
    r"""(?: [\s*_`"'($\{\[:=≈~&]++ | \\[(\[$,;:!\ ]
        | \\(?:text|textbf|textit|mathbf|mathrm|mathit|bf|bm|boldsymbol|displaystyle|boxed|fbox|left|right|q?quad
            |approx|sim)(?![A-Za-z])
        | (?:just|simply|exactly|approximately|about|roughly|now|only|therefore|thus|indeed|actually|clearly|definitely
            |a\ total\ of|equal\ to|equals|maybe|perhaps|possibly|either|probably|likely)\b
        )*+""",
    re.VERBOSE | re.IGNORECASE,
)
_OTHER_LEAD: Final = re.compile(rf"[{OTHER_SCRIPT}]{{1,12}}[\s:=*$]*(?=[-+$¥￥]?\s?\d)")
_CLOSED: Final = re.compile(r"[\s*_`\"')\]}$.!\\;:,]*+\Z")
_CLOSERS: Final = re.compile(r"(?:[\s*_`\"')\]}$]|\\[)\]!,;: $]|\\(?:right|q?quad)\b)*+")

# Right after the digits, without a space. "5abc", "2x", "5k", "10²", "12:30", "5!" and "7,2" are not 5, 2, 10, 12, 7.
_ATTACHED_UNIT: Final = re.compile(
    r"(?:cents?|[cmk]?m[²³23]?|kg|mg|g|lbs?|oz|ft|in|mi|mph|kph|hrs?|h|mins?|s|secs?|m[lL]|[lL]|[ap]\.?m|[AP]M|USD|EUR|GBP)(?![^\W_])"
)
_GLUED: Final = re.compile(
    r"[^\W_]|√|\+(?!\s*[\d(.$])|[.,]\s?\d|:\d|_\{?[^\W_]|\^(?!\{?\s*\\?circ)|!|\\(?:sqrt|pi|frac|times|cdot|pm)\b|[({\[]?\s?[a-zA-Z]\s?[)}\]]?\^"
)
_UNIT_POWER: Final = re.compile(r"\s?(?:[ckm]?m|ft|in|yd|mi)\s?(?:\^\s?\{?[23]\}?|[²³])(?![^\W_])")

_OPERATOR: Final = re.compile(
    r"\s*(?:[-+]\s*[\d(.$\\a-z]|(?!\^\s*\{?\s*\\?circ)[*/×·∙^]\s*[\d(.$\\]|[=≈<>≤≥]|\\(?:times|cdot|div|pm|approx|leq?|geq?|neq?|frac|sqrt)\b|x\s*\d"
    r"|\b(?:plus|minus|times|divided\s+by|multiplied\s+by)\s+[\d$(])"
)
_EQUALS: Final = re.compile(r"=|≈|\\approx\b")

_WORD: Final = rf"(?:\\?%|°|(?:\\text\{{\s*)?(?:[^\W\d_]+|[{OTHER_SCRIPT}]+)\}}?)"
_SEPARATOR: Final = (
    rf"(?:[,;&|/]|\\text\{{\s*(?:or|and|{OR_WORDS}|{AND_WORDS})\s*\}}|\b(?:or|and|to|through|versus|vs\.?)\b|{ATTACHED_OR}"
    rf"|{ATTACHED_AND}|(?<=\s)(?:{OR_WORDS}|{AND_WORDS}|o|y|e|bis|à|até|hasta|до)(?=\s))"
)
_LIST_GAP: Final = re.compile(
    rf"""[\s*_$"')\]\}}]* (?:{_WORD}[\s*_$"')\]]*)?
         (?:{_SEPARATOR}[\s*_$"'(\[\\]*)+
         (?:(?:maybe|perhaps|possibly|even|also|either|alternatively|between|vielleicht|peut-être|quizás?|tal\s+vez|talvez
               |forse|возможно|может\s+быть|也许|也許|可能是?|\\\$|\\q?quad)[\s*_$"']*)*\Z""",
    re.VERBOSE | re.IGNORECASE,
)
_ADJACENT: Final = re.compile(
    r"[\s*_$]*(?:(?:hours?|hrs?|minutes?|mins?|seconds?|feet|foot|ft|inch(?:es)?|pounds?|lbs?|ounces?|dollars?|years?|months?|weeks?|days?)\s*)?\Z",
    re.IGNORECASE,
)
_COMPARES: Final = re.compile(
    r"\s*%?\s*(?:[^\W\d_]+\s+)?(?:more|less|fewer|greater|higher|lower|larger|bigger|smaller|older|younger|longer|shorter|times)\b",
    re.IGNORECASE,
)
"""What follows a number that only compares the one before with something."""
_PREPOSED_FROM: Final = re.compile(r"\bfrom\s+[\s*_$\\]*\Z", re.IGNORECASE)

NEGATED_BEFORE: Final = re.compile(
    r"(?:\b(?:not|never|neither|nor|cannot|no\s+longer|far\s+from|nicht|kein\w*|n['’]est\s+pas|no\s+es|não\s+é|non\s+è|не|không\s+phải)"
    r"|不是|不等[于於]|不[为為]|[并並]非|ليس|n['’]t|\brather\s+than|\binstead\s+of|\bother\s+than|\bunlike|\bexcept(?:\s+for)?|\b(?:anything|all)\s+but)"
    r"(?:\s+(?:to|be|been|equal|equals?|exactly|simply|the|answer|that|is|actually|a|an|just|have|number|value|correct|right|necessarily|=))*"
    r"[\s*_`\"'$({\[:\\]*\Z",
    re.IGNORECASE,
)
_NEGATED_START: Final = re.compile(
    r"[\s*_`\"'$({\[:\\]*+(?:(?:definitely|certainly|clearly|surely|of\s+course|most|simply|actually|probably|just|text|mathrm|textbf)[\s{*_]+)*"
    r"(?:(?:not|never|neither|nor|n't|no\s+longer|far\s+from|anything\s+but|isn't|wasn't|cannot|can't|nicht|kein\w*|не)\b"
    r"(?!\s+only\b)|不是|不等|[并並]非|ليس)",
    re.IGNORECASE,
)
_DENIED_AFTER: Final = re.compile(
    r"[^\W\d_]{0,4}?(?:[가이은는]\s?아니|では?な|じゃな|\s?नहीं)|"
    r"[\s*_`\"')\]}$]*(?:[^\W\d_]+\s+){0,2}?\(?(?:(?:is|was|are|were|would\s+be|will\s+be|can|could|does|do|must|should|may)?\s*(?:not|n't|never|cannot)\b"
    r"|(?:is|was|are|were|would\s+be|seems|looks)?\s*(?:wrong|incorrect|false)\b)",
    re.IGNORECASE,
)
_ALTERNATIVE: Final = re.compile(r"(?:\bor\b|\|\|)\s*[\s$*\\(]*\Z", re.IGNORECASE)  # "something or 72" asserts neither
_BUT: Final = re.compile(r"\d[^\s\d]?[,;]?\s*\bbut\s+(?:rather\s+|instead\s+|actually\s+)?[$\\*]*\Z", re.IGNORECASE)


def direct(text: str) -> Claim | None:
    """The number that stands at the start of a claim; None when no number does (the marker is none, or holds words)."""
    plain = _PLAIN.match(text)
    if plain is not None and (plain[4] is None or not (may_deny(plain[4]) or may_scale(plain[4]))):
        digits = plain[2].replace(",", "").replace("$", "")
        if plain[3] is None:
            value: Number = int(digits)
        elif digits[0] == "-":
            value = -decimal(digits[1:], plain[3])
        else:
            value = decimal(digits, plain[3])
        return Claim(Status.SCORED, value, plain.start(1), plain.end(1))
    if has_long_run(text):
        return TOO_LONG
    return _direct(text, 0)


def may_deny(text: str) -> bool:
    """False when none of the words is there that the patterns for denial look for: a cheap way past them."""
    lower = text.lower()
    if any(map(lower.__contains__, _DENIALS)):
        return True
    return not lower.isascii() and any(map(lower.__contains__, _OTHER_DENIALS))


def _direct(text: str, pos: int) -> Claim | None:
    if _NEGATED_START.match(text, pos):
        return DENIED
    match = NUMBER.match(text, _lead_end(text, pos))
    if match is None:
        return _after_equals(text, pos) if pos == 0 else None
    if in_name(text, match.start(), match.end()):
        return None
    value = value_of(match)
    end = match.end()
    if value is None:
        return TOO_LONG if match["integer"] or match["bare"] else SEVERAL
    value, end = scaled(text, value, end)
    claim = Claim(Status.SCORED, value, match.start(), end)
    if _CLOSED.match(text, end):
        return claim
    after = end if _OPERATOR.match(text, end) else closers_end(text, end)
    if _OPERATOR.match(text, after):
        result = _after_equals(text, end)
        if result is not None and result.status is Status.SCORED:
            return result
        return claim if _EQUALS.match(text[after:].lstrip()) else SEVERAL
    if is_glued(text, end):
        return SEVERAL
    if _DENIED_AFTER.match(text, end):
        return DENIED
    following = next_number(text, end, end + 80)
    while following is not None and _joined(text, end, match.start(), following):
        if _COMPARES.match(text, following.end()) is not None:
            break  # "72; 24 more than in May"
        if value_of(following) != value:
            return SEVERAL
        end = following.end()  # "1/2, or 0.5" is one answer
        following = next_number(text, end, end + 80)
    return claim


def _lead_end(text: str, pos: int) -> int:
    lead = _LEAD.match(text, pos)
    end = lead.end() if lead is not None else pos
    if end < len(text) and CJK.match(text, end) and (other := _OTHER_LEAD.match(text, end)) is not None:
        end = other.end() if OTHER_DENIAL.search(other[0]) is None else end
    while end > pos and text[end - 1] in "$ " and text[end - 2 : end] == "\\$":  # leave the currency to the number
        end -= 2
    return end


def closers_end(text: str, pos: int) -> int:
    """Where markup that closes after a number ends: ``**``, ``$``, ``)``, ``}``."""
    match = _CLOSERS.match(text, pos)
    return match.end() if match is not None else pos


def _after_equals(text: str, pos: int) -> Claim | None:
    """``9 * 2 = 18`` claims 18: the number after the last equals sign, when one stands there."""
    ends = [m.end() for m in _EQUALS.finditer(text, pos)]
    return _direct(text, ends[-1]) if ends else None


def is_glued(text: str, end: int) -> bool:
    """True when what follows the digits makes another thing of them: ``5abc``, ``7,2``, ``10²``, ``12:30``."""
    if end >= len(text) or _GLUED.match(text, end) is None:
        return False
    return all(allowed.match(text, end) is None for allowed in (_ATTACHED_UNIT, _UNIT_POWER, CJK))


def _joined(text: str, left_end: int, left_start: int, right: re.Match[str]) -> bool:
    """True when two numbers are members of one list, range or compound quantity."""
    gap = text[left_end : right.start()]
    if len(gap) > _LONG_GAP:
        return False
    if gap == ":" or (not gap.strip() and right["sign"] is not None):
        return True  # 3:4, 40-45
    if _ADJACENT.match(gap):
        return True
    if _LIST_GAP.match(gap) is None:
        return False
    return not (re.search(r"\bto\b", gap) and _PREPOSED_FROM.search(text, 0, left_start))


# The common statement: "... she makes $18 every day", "... = 18 dollars". The prefix of the number must be an
# equals sign or a word that joins it to nothing.
_PLAIN_ENDING: Final = re.compile(
    r"(\d{1,3}(?:,\d{3})+|\d{1,15})(?:\.(\d{1,15}))?(?:[ ][a-zA-Z']+)*[ .!*]*\Z", re.ASCII
)
_DIGIT: Final = re.compile(r"\d")
_JOINING: Final = frozenset(
    [
        *(
            "and",
            "or",
            "to",
            "through",
            "versus",
            "vs",
            "than",
            "by",
            "but",
            "of",
            "no",
            "not",
            "plus",
            "minus",
            "times",
        ),
        *(
            "divided",
            "between",
            "from",
            "either",
            "neither",
            "nor",
            "x",
            "hours",
            "hour",
            "hrs",
            "hr",
            "minutes",
            "minute",
        ),
        *("mins", "min", "seconds", "feet", "foot", "ft", "inches", "inch", "pounds", "pound", "lbs", "lb", "ounces"),
        *(
            "dollars",
            "dollar",
            "years",
            "year",
            "months",
            "month",
            "weeks",
            "week",
            "days",
            "day",
            "step",
            "part",
            "item",
        ),
        *("number", "page", "oder", "ou", "und", "et", "og", "och", "dan", "ve", "o", "y", "e", "atau", "veya", "lub"),
    ]
)


def plain_statement(text: str, last_digit: int) -> Claim | None:
    """The number of a statement of the common kind, or None: then :func:`sentence` looks closer."""
    end = last_digit + 1
    start = len(text[:end].rstrip("0123456789,."))
    number = _PLAIN_ENDING.match(text, start)
    if number is None or "(" in text or "?" in text:
        return None
    if text[start - 1 : start] == "$":
        start -= 1
    before = text[max(0, start - 20) : start]
    words = before.rsplit(None, 1)
    if not words or before[-1] != " ":
        return None
    word = words[-1]
    if (
        may_scale(text[end:])
        or not (word == "=" or (word.isalpha() and word.lower() not in _JOINING))
        or may_deny(text)
    ):
        return None
    if any(map(text[:start].__contains__, CLAUSES)) or (word != "=" and ("=" in text or _DIGIT.search(text, 0, start))):
        return None
    return Claim(Status.SCORED, decimal(number[1], number[2] or ""), start, end)


def sentence(text: str) -> Claim:
    """The last number that a sentence asserts."""
    if has_long_run(text):
        return TOO_LONG
    numbers = [m for m in all_numbers(text) if not _is_no_number(text, m)]
    if len(numbers) > 1 and not text.isascii():
        numbers = _without_parts(text, numbers)
    if not numbers:
        return NOTHING
    denied = False
    deniable = may_deny(text)
    for i in range(len(numbers) - 1, -1, -1):
        match = numbers[i]
        if deniable and _is_denied(text, match):
            denied = True
            continue
        if i and is_distractor(text, numbers[:i], match):
            continue
        stop = numbers[i + 1].start() if i + 1 < len(numbers) else len(text)
        if i and len(numbers) - i <= _MOST_COMPLEMENTS and is_complement(text, numbers[i - 1], match, stop):
            if is_price(text, numbers[i - 1], match):
                return DENIED if denied else SEVERAL
            continue
        if i and match.start() - numbers[i - 1].end() < _LONG_GAP:
            previous = numbers[i - 1]
            if text[previous.end() : match.start()].strip(" $*") != "=":
                if _is_operand(text, previous, match):
                    return _head_of_equation(text, numbers, i)
                if _joined(text, previous.end(), previous.start(), match):
                    return DENIED if denied else SEVERAL
        if _ALTERNATIVE.search(text, max(0, match.start() - 16), match.start()):
            return SEVERAL
        value = value_of(match)
        if value is None or text[max(0, match.start() - 2) : match.start()].endswith(_FORMULA_LEADS):
            return SEVERAL
        value, end = scaled(text, value, match.end())
        return Claim(Status.SCORED, value, match.start(), end)
    return DENIED


def _without_parts(text: str, numbers: list[re.Match[str]]) -> list[re.Match[str]]:
    """The numbers of a text, without those that are part of the one before: ``3億5千万`` is one."""
    whole: list[re.Match[str]] = []
    stop = 0
    for match in numbers:
        if match.start() >= stop:
            whole.append(match)
            value = value_of(match)
            stop = match.end() if value is None else scaled(text, value, match.end())[1]
    return whole


_MOST_COMPLEMENTS: Final = 8
"""Numbers at a sentence's end that may complete the one before each; nobody writes more."""
_LONG_GAP: Final = 80
"""Numbers further apart than this (characters) are not a list."""


_FORMULA_LEADS: Final = ("√", "^", "^{", "_{")
"""The prefix of a number that is a part of a formula, and not the statement's value: ``2^{10}``."""
_UNIT_RAISED: Final = re.compile(
    r"(?<![^\W\d_])(?:[ckm]?m|ft|in|yd|mi|units?|meters?|feet|inches|\\text\{[^{}]*\}|\\mathrm\{[^{}]*\})\s?\^\s?\{?\Z"
)


def _is_denied(text: str, match: re.Match[str]) -> bool:
    if NEGATED_BEFORE.search(text, max(0, match.start() - 60), match.start()):
        return _BUT.search(text, max(0, match.start() - 20), match.start()) is None
    return _DENIED_AFTER.match(text, match.end()) is not None


def _is_no_number(text: str, match: re.Match[str]) -> bool:
    """Digits that are part of a name (``x2``, ``3rd``), or a list bullet (``2. Then``)."""
    start, end = match.start(), match.end()
    if in_name(text, start, end):
        return True
    if is_glued(text, end) and not text.startswith((",", ".", ":"), end):
        return True
    if start and text[start - 1] in "^{" and _UNIT_RAISED.search(text, max(0, start - 40), start):
        return True  # cm^2
    return start == 0 and text[end : end + 2] in (". ", ") ") and bool(text[end + 2 :].strip(" *"))  # a list bullet


_ARITHMETIC: Final = re.compile(
    r"[\s$*_]*(?:[-+*/×·x]|\\(?:times|cdot|div)\s?|\b(?:times|plus|minus|(?:divided|multiplied)\s+by)\s)[\s$*_(]*\Z"
)


def _is_operand(text: str, previous: re.Match[str], match: re.Match[str]) -> bool:
    """True when the number is the right side of a sum or product (``48 + 24``), whose result is not stated."""
    gap = text[previous.end() : match.start()]
    if match["sign"] is not None and not gap.strip():
        return True
    return _ARITHMETIC.match(gap) is not None


def _head_of_equation(text: str, numbers: list[re.Match[str]], i: int) -> Claim:
    """``72 = 48 + 24`` claims 72; ``48 + 24`` and ``40-45`` claim nothing that can be read."""
    while i > 0 and _is_operand(text, numbers[i - 1], numbers[i]):
        i -= 1
    if i == 0 or _EQUALS.search(text, numbers[i - 1].end(), numbers[i].start()) is None:
        return SEVERAL
    if i >= 2 and _is_operand(text, numbers[i - 2], numbers[i - 1]):
        return SEVERAL
    head = numbers[i - 1]
    value = value_of(head)
    return SEVERAL if value is None else Claim(Status.SCORED, value, head.start(), head.end())
