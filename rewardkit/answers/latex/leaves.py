"""Numbers and names as the parser's leaves."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Final

from rewardkit.answers.latex.atoms import CONSTANTS
from rewardkit.answers.latex.tree import OverLimit, Tree, Unreadable
from rewardkit.answers.limits import MAX_EXPONENT


def number(text: str) -> Tree:
    """An integer or decimal, with its number of decimal places."""
    if "." not in text:
        return ("num", int(text), -1)
    whole, _, places = text.partition(".")
    value = Fraction(int((whole or "0") + places), 10 ** len(places))
    return ("num", value.numerator if value.denominator == 1 else value, len(places))


def scientific(text: str) -> Tree:
    """``1.5e3`` is 1500, exactly."""
    mantissa, _, exponent = text.lower().partition("e")
    if abs(int(exponent)) > MAX_EXPONENT:
        raise OverLimit("exponent")
    value = number(mantissa)[1] * Fraction(10) ** int(exponent)
    return ("num", value.numerator if value.denominator == 1 else value, -1)


def repeating(text: str) -> Tree:
    r"""``0.1\overline{6}`` is one sixth."""
    head, _, tail = text.partition("\\overline")
    whole, _, places = head.partition(".")
    period = tail.strip(" {}")
    value = Fraction(int((whole or "0") + places), 10 ** len(places))
    value += Fraction(int(period), (10 ** len(period) - 1) * 10 ** len(places))
    return ("num", value.numerator if value.denominator == 1 else value, -1)


def mixed(left: Tree, part: Fraction) -> Tree:
    """``3 1/2``: the fraction goes with the sign of the whole."""
    return ("num", left[1] + (part if left[1] >= 0 else -part), -1)


def product(left: Tree, right: Tree) -> Tree:
    """A product, kept flat on its left side."""
    return ("mul", *left[1:], right) if left[0] == "mul" else ("mul", left, right)


def letter(text: str) -> Tree:
    """A variable, or a constant that is written as one letter."""
    return CONSTANTS.get(text, ("sym", text))


_BASE: Final = re.compile(r"(?:[2-9]|1[0-6])\Z")


_BASE_WORDS: Final = {
    "two": "2",
    "three": "3",
    "four": "4",
    "five": "5",
    "six": "6",
    "seven": "7",
    "eight": "8",
    "nine": "9",
    "ten": "10",
    "sixteen": "16",
}


def subscripted(tree: Tree, subscript: str) -> Tree:
    r"""``a_3`` is a name; ``1011_2`` and ``1011_{\text{two}}`` a numeral in base 2."""
    subscript = subscript.strip(" {}()").removeprefix("base").strip()
    subscript = _BASE_WORDS.get(subscript, subscript)
    if tree[0] == "num" and tree[2] == -1 and isinstance(tree[1], int) and _BASE.match(subscript):
        return ("based", str(tree[1]), int(subscript))
    if tree[0] in ("sym", "const", "app"):
        return ("sym", f"{tree[1]}_{subscript}") if tree[0] != "app" else ("app", f"{tree[1]}_{subscript}", *tree[2:])
    raise Unreadable("a subscript")
