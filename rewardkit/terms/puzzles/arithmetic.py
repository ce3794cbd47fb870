"""Arithmetic as people write it, ``(1 + 2) * 3 / 4``: its exact value, and the numbers that stand in it."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

import regex

MAX_CHARS: Final = 1_000
"""Longest expression; one of ten numbers has some fifty characters."""
_MAX_DIGITS: Final = 20

_TOKEN: Final = regex.compile(rf"\s*+(?:(?P<number>[0-9]{{1,{_MAX_DIGITS}}})(?![\w.])|(?P<sign>[-+*/()])|(?P<end>\Z))")
_SPELLINGS: Final = {
    "\\times": "*", "\\cdot": "*", "\\div": "/", "\\left": "", "\\right": "", "×": "*", "·": "*", "⋅": "*",
    "÷": "/", "−": "-", "–": "-", "∗": "*", "$": "",
}  # fmt: skip
_BRACKETS: Final = str.maketrans("[]{}", "()()")
_SPELLED: Final = regex.compile("|".join(map(regex.escape, _SPELLINGS)))
_FRACTION: Final = regex.compile(r"\\[dt]?frac\s*+\{([^{}\\]*+)\}\s*+\{([^{}\\]*+)\}")
_BINDS: Final = {"+": 1, "-": 1, "*": 2, "/": 2, "neg": 3}


def value(text: str) -> tuple[Fraction, list[int]]:
    """The exact value of an expression of whole numbers, ``+ - * /``, signs and brackets, and its numbers in order.

    Raises:
        ValueError: it is none, it divides by zero, or it is too long.
    """
    if len(text) > MAX_CHARS:
        raise ValueError(f"more than {MAX_CHARS} characters")
    text = _SPELLED.sub(lambda m: _SPELLINGS[m[0]], text)
    text = _FRACTION.sub(r"((\1)/(\2))", text).translate(_BRACKETS)
    numbers: list[int] = []
    values: list[Fraction] = []
    waiting: list[str] = []
    operand, at = True, 0  # whether a number or an opening bracket is due
    while True:
        token = _TOKEN.match(text, at)
        if token is None:
            raise ValueError(f"no arithmetic at {text[at : at + 20]!r}")
        at, sign = token.end(), token["sign"]
        if token["number"] and operand:
            numbers.append(int(token["number"]))
            values.append(Fraction(numbers[-1]))
            operand = False
        elif sign == "(" and operand:
            waiting.append(sign)
        elif sign in ("-", "+") and operand:
            waiting += ["neg"] if sign == "-" else []
        elif sign == ")" and not operand:
            while waiting and waiting[-1] != "(":
                _apply(waiting.pop(), values)
            if not waiting:
                raise ValueError("a bracket too many")
            waiting.pop()
        elif sign in _BINDS and not operand:
            while waiting and _BINDS.get(waiting[-1], 0) >= _BINDS[sign]:
                _apply(waiting.pop(), values)
            waiting.append(sign)
            operand = True
        elif token["end"] is not None and not operand:
            break
        else:
            raise ValueError("two numbers, or two signs, without what belongs between them")
    while waiting:
        _apply(waiting.pop(), values)
    return values[0], numbers


def _apply(operation: str, values: list[Fraction]) -> None:
    right = values.pop()
    if operation == "neg":
        values.append(-right)
        return
    if operation == "(":
        raise ValueError("a bracket is open")
    left = values.pop()
    if operation == "/" and right == 0:
        raise ValueError("a division by zero")
    values.append(
        left + right if operation == "+"
        else left - right if operation == "-"
        else left * right if operation == "*"
        else left / right
    )  # fmt: skip
