r"""What multiplies the number before it: ``5 million``, ``5\text{ million}``, ``12万``, ``1.5 \times 10^3``.

Scale words of some twenty languages count, alone or after one another (``2 hundred thousand``, ``1億2000万``). A suffix
without a name (``5k``) and a unit that counts (``2 dozen``) multiply nothing.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Final

from rewardkit.answers.limits import MAX_EXPONENT
from rewardkit.answers.number import Number, whole

_WORDS: Final = {
    2: "hundred hundert honderd hundra ratus trăm सौ শত",
    3: (
        "thousand thousands tausend duizend tusen tusind mil mille mila ribu nghìn ngàn ezer tuhat tuhatta mii "
        "tysiąc tysiące tysięcy tys tisíc tisíce тысяча тысячи тысяч тыс тисяча тисячі тисяч хиляди χιλιάδες "
        "हजार हज़ार হাজার هزار ألف آلاف אלף אלפים"
    ),
    5: "lakh lakhs lac lacs लाख লাখ",
    6: (
        "million millions millionen mio milione milioni millón millon millones milhão milhões milhao milhoes milioane "
        "miljoen miljoenen miljon miljoner millioner milion miliony milionów milionů mln juta triệu milyon millió "
        "miljoona miljoonaa миллион миллиона миллионов млн мільйон мільйона мільйонів милион милиона εκατομμύριο "
        "εκατομμύρια ميليون مليون ملايين میلیون מיליון"
    ),
    7: "crore crores करोड़ करोड কোটি",
    9: (
        "billion billions milliarde milliarden mrd milliard milliards miliardo miliardi bilhão bilhões bilhao bilhoes "
        "miliarde miljard miljarden miljarder milliarder miliard miliarda miliardy miliardów mld miliar tỷ tỉ milyar "
        "milliárd miljardi miljardia миллиард миллиарда миллиардов млрд мільярд мільярда мільярдів δισεκατομμύριο "
        "δισεκατομμύρια مليار مليارات میلیارد מיליארד अरब"
    ),
    12: (
        "trillion trillions billionen billones billón trilhão trilhões triliun trilyon biljoen biljon biljoner bilion "
        "bilionů триллион триллиона триллионов трлн трильйон תריליון تريليون"
    ),
}
_SCALES: Final = {word: power for power, words in _WORDS.items() for word in words.split()}
_ATTACHED: Final = {
    "百": 2, "千": 3, "万": 4, "萬": 4, "亿": 8, "億": 8, "兆": 12, "백": 2, "천": 3, "만": 4, "억": 8, "조": 12,
    "พัน": 3, "หมื่น": 4, "แสน": 5, "ล้าน": 6,
}  # fmt: skip
"""Scripts that write no blank between a number, its scale and its unit."""
_ATTACHED_WORD: Final = re.compile(
    r"[ ]?(?:百(?!分)|千(?![克米瓦卡焦帕赫伏])|兆(?![字瓦赫帕欧焦])|[万萬亿億백천만억조]|พัน|หมื่น|แสน|ล้าน)"
)
_MORE: Final = re.compile(r"[ ]?(\d{1,8}(?:\.\d+)?)(?=[ ]?[百千万萬亿億백천만억])|(\d{1,8})(?!\d|[.,]\d)")
_SCALE: Final = re.compile(
    r"(?:[ ~\u202f]|\\[ ,;:!])*+(\\(?:text|textrm|textbf|textit|mathrm|mathbf|mbox|operatorname|rm)\s*\{\s*)?"
    r"([^\W\d_]+(?:[\u0900-\u0dff]+[^\W\d_]*)*)(?![-\d_])(?:(?<=\bmio)\.|(?<=\bmrd)\.|(?<=\btys)\.|(?<=\bтыс)\.|(?<=\bмлн)\.|(?<=\bмлрд)\.)?",
    re.IGNORECASE,
)
_POWER_OF_TEN: Final = re.compile(
    r"[ $]*(?:\\times|\\cdot|[x×*·])[ $]*10[ ]?\^[ ]?(?:\{[ ]?([-+]?\d{1,4})[ ]?\}|([-+]?\d{1,4}))(?![\d.,]*[\d^])"
)
_OPENING: Final = re.compile(r"(?:[ ~]|\\[ ,;:])*(\\(?:text|textrm|mathrm|mbox)\s*\{)\s*")
_CLOSING: Final = re.compile(r"\s*\}")
_MOST_WORDS: Final = 3


def scaled(text: str, value: Number, end: int) -> tuple[Number, int]:
    r"""The value and end of ``5 million`` or ``1.5 \times 10^3``, given those of the number in front."""
    scale, last, opening = in_words(text, value, end)
    if last > end:
        closing = _CLOSING.match(text, last) if opening else None
        return scale, last if closing is None else closing.end()
    power_of_ten = _POWER_OF_TEN.match(text, end)
    if power_of_ten is None:
        return value, end
    exponent = int(power_of_ten[1] or power_of_ten[2])
    if abs(exponent) > MAX_EXPONENT:
        return value, end
    return whole(value * Fraction(10) ** exponent), power_of_ten.end()


def in_words(text: str, value: Number, end: int) -> tuple[Number, int, str]:
    r"""The value and end of a number with its scale words, and the ``\text{`` that they leave open."""
    power, last, opening = 0, end, ""
    for _ in range(_MOST_WORDS):
        word = _SCALE.match(text, last)
        if word is None or (more := _SCALES.get(word[2].lower())) is None:
            break
        power, last, opening = power + more, word.end(), word[1] or opening
    if last > end:
        return whole(value * 10**power), last, opening
    if not text.isascii():
        inside = _OPENING.match(text, end)
        attached = _ATTACHED_WORD.match(text, end if inside is None else inside.end())
        if attached is not None:
            return *_counted(text, value, attached), "" if inside is None else inside[1]
    return value, end, ""


def _counted(text: str, value: Number, attached: re.Match[str]) -> tuple[Number, int]:
    """``3億5千万``: each number with its scale, added up, as long as the scales go down."""
    power, end = _attached(text, attached)
    total, least = value * 10**power, power
    while (more := _MORE.match(text, end)) is not None:
        following = _ATTACHED_WORD.match(text, more.end()) if more[1] else None
        power, stop = _attached(text, following) if following is not None else (0, more.end())
        part = Fraction(more[1] or more[2]) * 10**power
        if power >= least or part >= 10**least:
            break
        total, least, end = total + part, power, stop
    return whole(total), end


def _attached(text: str, word: re.Match[str]) -> tuple[int, int]:
    power, end = _ATTACHED[word[0].strip()], word.end()
    while (more := _ATTACHED_WORD.match(text, end)) is not None:  # 千万, 百万, 万亿
        power, end = power + _ATTACHED[more[0].strip()], more.end()
    return power, end


def may_scale(text: str) -> bool:
    """False when the first word of a text is not a scale: a cheap way past :func:`scaled`."""
    words = text.split(None, 1)
    return bool(words) and words[0].strip(".,*'").lower() in _SCALES
