"""The exact rational value of a tree, where it has one; and the static limits on size.

One pass from the leaves up. Every closed number in the tree is worked out on the way, so that a power tower or a huge
factorial anywhere in it is OverLimit before anything that computes symbolically sees it.
"""

from __future__ import annotations

import math
from fractions import Fraction

from rewardkit.answers.latex.tree import OverLimit, Tree
from rewardkit.answers.limits import MAX_BITS, MAX_FACTORIAL
from rewardkit.answers.number import Number, whole

_MAX_SYMBOLIC_POWER = 200
"""Largest integer exponent over a base that is not a rational number: ``(x+1)^200`` is past any answer."""


def exact(tree: Tree) -> Number | None:
    """The value, or None where the tree isn't a rational number that this module can work out.

    Raises:
        OverLimit: a number on the way is larger than MAX_BITS, a factorial's argument than MAX_FACTORIAL.
    """
    tag = tree[0]
    if tag == "num":
        return _checked(tree[1])
    if tag == "add":
        total: Number | None = 0
        for term in tree[1:]:
            value = exact(term)
            total = None if value is None or total is None else _checked(whole(total + value))
        return total
    if tag == "mul":
        product: Number | None = 1
        for factor in tree[1:]:
            value = exact(factor)
            product = None if value is None or product is None else _checked(whole(product * value))
        return product
    if tag == "pow":
        return _power(exact(tree[1]), exact(tree[2]))
    if tag == "percent":
        value = exact(tree[1])
        return None if value is None else whole(Fraction(value) / 100)
    if tag == "fn":
        return _function(tree[1], tree[2:])
    if tag == "based":
        return int(tree[1], tree[2]) if all(int(c) < tree[2] for c in tree[1]) else None
    for part in tree[1:]:
        _visit(part)
    return None


def _visit(part: object) -> None:
    """Check the limits below a node that has no value of its own."""
    if isinstance(part, tuple):
        if part and isinstance(part[0], str):
            exact(part)
        else:
            for item in part:
                _visit(item)


def _bits(value: Number) -> int:
    return max(value.numerator.bit_length(), value.denominator.bit_length())


def _checked(value: Number) -> Number:
    if _bits(value) > MAX_BITS:
        raise OverLimit("size of a number")
    return value


def _power(base: Number | None, exponent: Number | None) -> Number | None:
    if exponent is None:
        return None
    if base is None:
        if not -_MAX_SYMBOLIC_POWER <= exponent <= _MAX_SYMBOLIC_POWER:
            raise OverLimit("exponent")
        return None
    if base == 0 or base == 1:
        return None if base == 0 and exponent <= 0 else base
    if max(exponent, -exponent) * max(1, _bits(base) - 1) > MAX_BITS:
        if base == -1 and isinstance(exponent, int):
            return 1 if exponent % 2 == 0 else -1
        raise OverLimit("exponent")
    if isinstance(exponent, int):
        return whole(Fraction(base) ** exponent)
    if base < 0 or exponent.denominator > 64:
        return None
    top = _root(base.numerator, exponent.denominator)
    bottom = _root(base.denominator, exponent.denominator)
    if top is None or bottom is None:
        return None
    return whole(Fraction(top, bottom) ** exponent.numerator)


def _root(value: int, degree: int) -> int | None:
    """The exact integer root, or None."""
    if degree == 2:
        root = math.isqrt(value)
        return root if root * root == value else None
    low, high = 0, 1 << (value.bit_length() // degree + 1)
    while low < high:
        middle = (low + high) // 2
        if middle**degree < value:
            low = middle + 1
        else:
            high = middle
    return low if low**degree == value else None


def _function(name: str, arguments: tuple[Tree, ...]) -> Number | None:
    if name == "det" and arguments[0][0] == "matrix":
        return _determinant(arguments[0][1:])
    values = [exact(a) for a in arguments]
    if not values or None in values:
        if name.startswith("factorial") and values and values[0] is not None:
            raise OverLimit("factorial")
        return None
    x = values[0]
    assert x is not None
    if name == "sqrt":
        return _power(x, Fraction(1, 2))
    if name == "abs":
        return -x if x < 0 else x
    if name in ("floor", "ceil"):
        return math.floor(x) if name == "floor" else math.ceil(x)
    if name == "factorial":
        if not isinstance(x, int) or x < 0:
            return None
        if x > MAX_FACTORIAL:
            raise OverLimit("factorial")
        return math.factorial(x)
    if name == "factorial2":
        if not isinstance(x, int) or x < 0:
            return None
        if x > MAX_FACTORIAL:
            raise OverLimit("factorial")
        return math.prod(range(x, 0, -2))
    integers = [v for v in values if isinstance(v, int)]
    if len(integers) < len(values) or len(integers) < 2:
        return None
    if name == "binom":
        n, k = integers[:2]
        if n > MAX_BITS:
            raise OverLimit("binomial")
        return math.comb(n, k) if n >= 0 and k >= 0 else None
    if name == "mod":
        return integers[0] % integers[1] if integers[1] else None
    if name == "gcd":
        return math.gcd(*integers)
    if name == "lcm":
        return math.lcm(*integers)
    if name in ("max", "min"):
        return max(integers) if name == "max" else min(integers)
    return None


_MAX_DETERMINANT = 5


def _determinant(rows: tuple[tuple[Tree, ...], ...]) -> Number | None:
    values = [[exact(cell) for cell in row] for row in rows]
    n = len(values)
    if n > _MAX_DETERMINANT or any(len(row) != n or None in row for row in values):
        return None
    return whole(_minor([[Fraction(v) for v in row if v is not None] for row in values]))


def _minor(rows: list[list[Fraction]]) -> Fraction:
    if len(rows) == 1:
        return rows[0][0]
    total = Fraction(0)
    for i, value in enumerate(rows[0]):
        if value:
            rest = [row[:i] + row[i + 1 :] for row in rows[1:]]
            total += (-1) ** i * value * _minor(rest)
    return total
