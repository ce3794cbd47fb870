r"""Exact numbers out of text: what a number looks like, and what it is worth.

Values are ``int`` or :class:`~fractions.Fraction`, never floats, so 10^20+1 isn't 10^20+2. A spelling that can be
read in two ways is not a number: ``7,2`` isn't 72 (a list, or a decimal comma), ``1 000`` isn't 1 (nor 1000).
Sentences, markers and LaTeX beyond ``\frac`` of two integers have no place here.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from fractions import Fraction
from typing import Final

from rewardkit.answers.limits import MAX_DIGITS, MAX_EXPONENT

Number = int | Fraction

_VULGAR: Final = {c: unicodedata.numeric(c) for c in "¼½¾⅓⅔⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞"}


_CONTROL: Final = dict.fromkeys([*range(9), 11, 12, *range(14, 32), *range(127, 160)], " ")

_PUNCTUATION: Final = {
    "-": "−‐‑‒–﹣－",
    "\u202f": "\u2009\u00a0",  # group separators by their nature: thin and no-break spaces
    " ": "\u200b\u200c\u200d\u2060\ufeff\u00ad\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u200a\u3000\u2028\u2029",
    "\n": "。｡।॥",
    ";": "，—",
    ",": "、٬",
    "?": "？",
    "!": "！",
    ":": "：∶",
    "=": "＝",
    "+": "＋",
    "%": "％",
    "$": "＄",
    "/": "⁄∕／÷",
    ".": "．٫",
    "'": "’‘",
    '"': "“”",
    "(": "（",
    ")": "）",
}


_ZEROS: Final = (
    "660 6F0 7C0 966 9E6 A66 AE6 B66 BE6 C66 CE6 D66 DE6 E50 ED0 F20 1040 1090 17E0 1810 1946 19D0 1A80 1A90 1B50 "
    "1BB0 1C40 1C50 A620 A8D0 A900 A9D0 A9F0 AA50 ABF0 FF10 104A0 10D30 11066 110F0 11136 111D0 112F0 11450 114D0 "
    "11650 116C0 11730 118E0 11950 11C50 11D50 11DA0 16A60 16AC0 16B50 1D7CE 1D7D8 1D7E2 1D7EC 1D7F6 1E140 1E2F0 "
    "1E950 1FBF0 "
)
"""Where Unicode's blocks of ten decimal digits start (hexadecimal)."""


@functools.cache
def _fold_table() -> dict[int, str]:
    """Built when the first non-ASCII claim comes: importing this module stays cheap."""
    table = dict(_CONTROL)
    for zero in _ZEROS.split():
        table.update({int(zero, 16) + digit: str(digit) for digit in range(10)})
    for target, sources in _PUNCTUATION.items():
        table.update({ord(c): target for c in sources})
    return table


def fold(text: str) -> str:
    r"""The text with Unicode digits, minus signs, spaces and punctuation in their ASCII form.

    One character in, one character out, so that spans in folded text are spans in the text itself. Superscripts stay
    as they are (``10²`` isn't 102). Zero-width characters become blanks, so that ``1\u200b8`` isn't 18.
    """
    if text.isascii():
        return text if text.isprintable() else text.translate(_CONTROL)
    return text.translate(_fold_table())


_GROUP: Final = r"(?:,|'|\u202f|\\[, :;>]|,\\!|\{,\}|\\!,|~)"
_INTEGER: Final = rf"(?:\d{{1,3}}(?:{_GROUP}\d{{3}})+(?!\d)|\d+)"
_CODE: Final = (
    r"US\$|HK\$|NT\$|R\$|USD|EUR|GBP|JPY|CNY|RMB|INR|AUD|CAD|CHF|HKD|SGD|KRW|MXN|BRL|RUB|NZD|SEK|NOK|PLN|TRY"
    r"|Rs\.?|Rp\.?"
)
CURRENCY: Final = (
    rf"(?:\\?\$|[€£¥￥₹₩₽¢₺₫₴₦₱฿₪]|{_CODE}"
    rf"|(?:\\(?:text|textrm|mathrm|mbox)\s*\{{\s*)?(?:{_CODE}|\\?\$|[€£¥₹])\s*\}})"
)
"""What names a currency right before a number."""

_VULGARS: Final = "".join(_VULGAR)
_FRAC: Final = r"\\[dtc]?frac\s*\{\s*"

NUMBER: Final = re.compile(
    rf"""
    (?:(?P<sign>[-+])[ ]?)?
    (?:{CURRENCY}[ ~]?(?P<sign2>-)?)?
    (?:
        (?P<integer>(?>{_INTEGER})) (?>\.(?P<fraction>\d++))? (?>[eE](?P<exponent>[-+]?\d{{1,6}})(?!\d))?
        (?! [ ]?/[ ]?\d | [ ]?(?:and[ ])?\d++[ ]?/[ ]?\d | [ ]?[{_VULGARS}] | [ ]?\\[dtc]?frac )
      | (?: (?P<whole>\d++)[ ]?(?:\\[ ])? )? {_FRAC}(?P<ftop>-?\d++)\s*\}}\s*\{{\s*(?P<fbottom>\d++)\s*\}}
      | (?: (?P<mixed>\d++)(?:[ ]+|[ ]?and[ ]) )?
            (?P<top>(?>{_INTEGER}))[ ]?/[ ]?(?P<bottom>(?>{_INTEGER})) (?![ ]?/[ ]?\d|\.\d)
      | (?P<units>\d++)?[ ]?(?P<vulgar>[{_VULGARS}])
      | \.(?P<bare>\d++) (?>[eE](?P<bare_exponent>[-+]?\d{{1,6}})(?!\d))?
      | (?P<head>\d++)
    )
    """,
    re.VERBOSE,
)
"""One number in folded text. What follows it is the caller's business: ``7,2`` matches as 7, followed by ``,2``."""

_SEED: Final = re.compile(rf"[\d{_VULGARS}]")
_PREFIX: Final = re.compile(rf"(?:[-+][ ]?)?(?:{CURRENCY}[ ~]?-?)?(?:{_FRAC}-?|\.)?\Z")


_BEFORE: Final = frozenset("-+$~€£¥￥₹₩₽¢₺₫₴₦₱฿₪ .{}DPRsYBFKWNLp\\")
"""What may stand right before the digits of a number as part of it."""


def next_number(text: str, pos: int = 0, stop: int | None = None) -> re.Match[str] | None:
    """The first number at or after ``pos``. Finding a digit first is twenty times faster than searching for NUMBER."""
    seed = _SEED.search(text, pos) if stop is None else _SEED.search(text, pos, stop)
    if seed is None:
        return None
    at = seed.start()
    if at - pos > 1:
        before = text[at - 1]
        if before not in _BEFORE or (before == " " and text[at - 2] not in _BEFORE):
            return NUMBER.match(text, at)
    prefix = _PREFIX.search(text, max(pos, at - 20), at)
    return NUMBER.match(text, at if prefix is None else prefix.start())


def all_numbers(text: str) -> list[re.Match[str]]:
    """All numbers of a text, in order."""
    matches = []
    match = next_number(text)
    while match is not None:
        matches.append(match)
        match = next_number(text, match.end())
    return matches


_DIGITS: Final = re.compile(r"[^0-9]")
_LONG_RUN: Final = re.compile(rf"\d{{{MAX_DIGITS + 1}}}")


def has_long_run(text: str) -> bool:
    """True when a run of digits is over MAX_DIGITS: such text is never read as a number."""
    return len(text) > MAX_DIGITS and _LONG_RUN.search(text) is not None


def _int(text: str) -> int:
    return int(text) if text.isdigit() else int(_DIGITS.sub("", text))


def value_of(match: re.Match[str]) -> Number | None:
    """The exact value of a NUMBER match, or None where there is none (``1/0``, an exponent or run over its limit)."""
    if match.end() - match.start() > MAX_DIGITS:
        return None
    negative = (match["sign"] == "-") != (match["sign2"] == "-")
    value: Number
    if (integer := match["integer"]) is not None:
        value = decimal(integer, match["fraction"] or "")
        exponent = match["exponent"]
    elif match["head"] is not None:
        return None  # the start of something that is not a number: 1/2/3
    elif (bare := match["bare"]) is not None:
        value = decimal("0", bare)
        exponent = match["bare_exponent"]
    else:
        ratio = _ratio(match)
        if ratio is None:
            return None
        value, exponent = ratio, None
    if exponent is not None:
        power = int(exponent)
        if abs(power) > MAX_EXPONENT:
            return None
        value = whole(value * 10**power if power >= 0 else Fraction(value) / 10**-power)
    return -value if negative else value


def decimal(integer: str, fraction: str) -> Number:
    """The value of ``integer.fraction``, given as digits (a sign or grouping in ``integer`` is understood)."""
    fraction = fraction.rstrip("0")
    if not fraction:
        return _int(integer)
    return Fraction(_int(integer + fraction), 10 ** len(fraction))


def _ratio(match: re.Match[str]) -> Number | None:
    if (vulgar := match["vulgar"]) is not None:
        part = Fraction(_VULGAR[vulgar]).limit_denominator(10)
        return int(match["units"] or 0) + part
    if match["ftop"] is not None:
        top, bottom, units = int(match["ftop"]), int(match["fbottom"]), match["whole"]
    else:
        top, bottom, units = _int(match["top"]), _int(match["bottom"]), match["mixed"]
    if bottom == 0:
        return None
    if units is not None and (top < 0 or top >= bottom):
        return None  # "3 7/2" is not a mixed number
    return whole(Fraction(top, bottom) + int(units or 0))


def whole(value: Number) -> Number:
    """The value as an int where it is one."""
    if isinstance(value, Fraction) and value.denominator == 1:
        return value.numerator
    return value
