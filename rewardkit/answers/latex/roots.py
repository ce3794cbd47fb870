r"""Odd roots of negative numbers are real: ``\sqrt[3]{-8}`` is -2, as in schoolbooks, and not ``1 + \sqrt{3} i``.

The sign is taken out of the root when the tree is made, so that every later stage sees roots of positive numbers only.
Of an unknown sum one of its two signs is chosen: ``\sqrt[3]{1 - x}`` and ``-\sqrt[3]{x - 1}`` become one tree.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from rewardkit.answers.latex.exact import exact
from rewardkit.answers.latex.identity import approximate
from rewardkit.answers.latex.tree import Tree, is_closed, negative

_REAL: Final = 1e-12
"""Largest imaginary part, relative to its size, of a number that is taken as real."""


def raised(base: Tree, exponent: Tree) -> Tree:
    """``base ** exponent``, with the sign of a negative base in front where the exponent's denominator is odd."""
    power = exponent[1] if exponent[0] == "num" else None
    if not isinstance(power, Fraction) or power.denominator % 2 == 0 or not _is_negative(base):
        return ("pow", base, exponent)
    tree: Tree = ("pow", _negated(base), exponent)
    return negative(tree) if power.numerator % 2 else tree


def _is_negative(tree: Tree) -> bool:
    if not is_closed(tree):
        return _sign(tree) < 0
    value = exact(tree)
    if value is not None:
        return value < 0
    number = approximate(tree)
    return number is not None and number.real < 0 and abs(number.imag) <= _REAL * abs(number)


def _sign(tree: Tree) -> int:
    """The sign that is written in front of an unknown; of a sum, that of the term whose text comes first."""
    if tree[0] == "num":
        return -1 if tree[1] < 0 else 1
    if tree[0] == "mul":
        sign = 1
        for factor in tree[1:]:
            sign *= _sign(factor) if factor[0] in ("num", "add") else 1
        return sign
    if tree[0] == "add":
        signs = [(_sign(term), term) for term in tree[1:]]
        return min(signs, key=lambda pair: repr(_negated(pair[1]) if pair[0] < 0 else pair[1]))[0]
    return 1


def _negated(tree: Tree) -> Tree:
    if tree[0] == "num":
        return ("num", -tree[1], tree[2])
    if tree[0] == "add":
        return ("add", *(_negated(term) for term in tree[1:]))
    if tree[0] == "mul":
        for i, factor in enumerate(tree[1:], 1):
            if factor[0] in ("num", "add"):
                rest = (*tree[1:i], *(() if factor == ("num", -1, -1) else (_negated(factor),)), *tree[i + 1 :])
                return rest[0] if len(rest) == 1 else ("mul", *rest)
    return negative(tree)
