r"""Two expressions at random points: a cheap way to say no, and for rational functions an exact way to say yes.

Rational functions are compared modulo a prime at random points (Schwartz 1980, Zippel 1979): different ones of degree
d agree at a point with probability d / 2^63. Square roots of small numbers and the imaginary unit have images modulo
the prime, and pi and e, being transcendental, count as variables; so ``1/\\sqrt{3}`` and ``\\sqrt{3}/3`` are decided
here too. Everything else is looked at in floating point, which only ever says *no*; what agrees there is for sympy to
prove, in a worker.
"""

from __future__ import annotations

import cmath
import math
import zlib
from fractions import Fraction
from typing import Final

from rewardkit.answers.latex.exact import exact
from rewardkit.answers.latex.tree import Tree

_PRIME: Final = 9_628_912_340_109_142_081
"""A prime modulo which -1 and every prime up to 43 are squares: 1 more than a multiple of 8 * 2 * 3 * 5 * ... * 43."""
_ROOTS: Final = {
    -1: 2886682347273458616, 2: 896919663748748956, 3: 4600386839586092128, 5: 820849420550470824,
    7: 4326122579024179255, 11: 2528194622834451924, 13: 1258638435300939996, 17: 3828171584227941536,
    19: 3625776485315342046, 23: 4415230104335978956, 29: 4227409360996617661, 31: 192018412240126113,
    37: 4535255184107713549, 41: 461483820739125406, 43: 2472112394009405618,
}  # fmt: skip
"""A square root of each modulo ``_PRIME``. One fixed root for each prime makes roots multiply as positive reals do."""
_POINTS: Final = 3


class _Pole(Exception):
    """No value here: a division by zero, a logarithm of zero, an overflow."""


class _Opaque(Exception):
    """The tree holds something that has no value in this arithmetic."""


def rational_identity(left: Tree, right: Tree) -> bool | None:
    """Whether two rational functions are equal; None when either isn't one (or no point has a value)."""
    agreed = 0
    try:
        for seed in range(_POINTS * 3):
            try:
                if _modular(left, seed) != _modular(right, seed):
                    return False
            except _Pole:
                continue
            agreed += 1
            if agreed == _POINTS:
                return True
    except _Opaque:
        return None
    return None


def proportional(left: Tree, right: Tree) -> bool | None:
    """Whether ``left / right`` is a constant other than zero, for rational functions; None when undecided."""
    values = []
    try:
        for seed in range(_POINTS * 3):
            try:
                values.append((_modular(left, seed), _modular(right, seed)))
            except _Pole:
                continue
            if len(values) == _POINTS:
                break
    except _Opaque:
        return None
    if len(values) < _POINTS:
        return None
    if all(a == 0 for a, _ in values) or all(b == 0 for _, b in values):
        return all(a == b == 0 for a, b in values)
    a0, b0 = next((a, b) for a, b in values if a or b)
    return all((a * b0 - a0 * b) % _PRIME == 0 for a, b in values) and bool(a0 and b0)


def _modular(tree: Tree, seed: int) -> int:
    tag = tree[0]
    if tag == "num":
        value = tree[1]
        return value % _PRIME if isinstance(value, int) else value.numerator * _inverse(value.denominator) % _PRIME
    if tag == "sym":
        return _hash(tree[1], seed)
    if tag == "add":
        return sum(_modular(t, seed) for t in tree[1:]) % _PRIME
    if tag == "mul":
        product = 1
        for factor in tree[1:]:
            product = product * _modular(factor, seed) % _PRIME
        return product
    if tag == "const" and tree[1] != "oo":
        return _ROOTS[-1] if tree[1] == "i" else _hash("const " + tree[1], seed)
    if tag == "fn":
        value = exact(tree)
        if value is not None:
            return _modular(("num", value, -1), seed)
        if tree[1] == "sqrt":
            return _root(tree[2], seed)
    if tag == "pow" and tree[2] == ("num", Fraction(1, 2), -1):
        return _root(tree[1], seed)
    if tag == "pow" and tree[2][0] == "num" and isinstance(tree[2][1], int):
        base, exponent = _modular(tree[1], seed), tree[2][1]
        return pow(base, exponent, _PRIME) if exponent >= 0 else pow(_inverse(base), -exponent, _PRIME)
    raise _Opaque


def _root(tree: Tree, seed: int) -> int:
    """The image of the principal square root of a rational number whose prime factors are at most 43."""
    value = exact(tree)
    if value is None:
        raise _Opaque
    root = _ROOTS[-1] if value < 0 else 1
    top, bottom = abs(value.numerator), value.denominator
    root = root * _root_of_integer(top) % _PRIME
    return root * _inverse(_root_of_integer(bottom)) % _PRIME


def _root_of_integer(value: int) -> int:
    square = math.isqrt(value)
    if square * square == value:
        return square % _PRIME
    root = 1
    for prime in list(_ROOTS)[1:]:
        while value % prime == 0:
            value //= prime
            root = root * _ROOTS[prime] % _PRIME
    square = math.isqrt(value)
    if square * square != value:
        raise _Opaque
    return root * square % _PRIME


def _inverse(value: int) -> int:
    if value % _PRIME == 0:
        raise _Pole
    return pow(value, -1, _PRIME)


def _hash(name: str, seed: int) -> int:
    data = f"{name}/{seed}".encode()
    return (zlib.crc32(data) << 29) ^ zlib.crc32(data[::-1] + b"#") or 1


def differ(left: Tree, right: Tree, *, up_to_factor: bool = False) -> bool:
    """True when the two expressions certainly differ: they do, far beyond rounding, at a point where both have values.

    Variables take positive values. With ``up_to_factor`` a constant factor between the two doesn't count.
    """
    pairs = []
    for seed in range(_POINTS):
        try:
            a, b = _float(left, seed), _float(right, seed)
        except (_Pole, _Opaque, OverflowError, ValueError, ZeroDivisionError, ArithmeticError):
            continue
        if not (cmath.isfinite(a) and cmath.isfinite(b)):
            continue
        pairs.append((a, b))
    if up_to_factor:
        pairs = [(a, b) for a, b in pairs if max(abs(a), abs(b)) < 1e100]
        return any(_apart(a * d, b * c) for (a, b) in pairs for (c, d) in pairs)
    return any(_apart(a, b) for a, b in pairs)


def _apart(a: complex, b: complex) -> bool:
    return abs(a - b) > 1e-6 * max(1e-3, abs(a), abs(b))


def approximate(tree: Tree) -> complex | None:
    """The value of a closed expression in floating point, or None."""
    try:
        value = _float(tree, 0)
    except (_Pole, _Opaque, OverflowError, ValueError, ZeroDivisionError, ArithmeticError):
        return None
    return value if cmath.isfinite(value) else None


_CONSTANTS: Final = {"pi": complex(math.pi), "e": complex(math.e), "i": 1j}
_FUNCTIONS: Final = {
    "sqrt": cmath.sqrt, "sin": cmath.sin, "cos": cmath.cos, "tan": cmath.tan, "sinh": cmath.sinh, "cosh": cmath.cosh,
    "tanh": cmath.tanh, "exp": cmath.exp, "ln": cmath.log, "asin": cmath.asin, "acos": cmath.acos, "atan": cmath.atan,
}  # fmt: skip


def _float(tree: Tree, seed: int) -> complex:
    tag = tree[0]
    if tag == "num":
        return complex(float(tree[1]))
    if tag == "const":
        if tree[1] not in _CONSTANTS:
            raise _Opaque
        return _CONSTANTS[tree[1]]
    if tag == "sym":
        return complex(0.3 + 2 * _hash(tree[1], seed) / 2**61)
    if tag == "add":
        return sum((_float(t, seed) for t in tree[1:]), 0j)
    if tag == "mul":
        product = 1 + 0j
        for factor in tree[1:]:
            product *= _float(factor, seed)
        return product
    if tag == "pow":
        base, exponent = _float(tree[1], seed), _float(tree[2], seed)
        if base == 0 or abs(exponent) > 1000:
            raise _Pole
        return complex(base**exponent)
    if tag == "percent":
        return _float(tree[1], seed) / 100
    if tag == "app":
        value = complex(_hash(tree[1], 7) / 2**61)
        for i, argument in enumerate(tree[2:]):
            value += _float(argument, seed) * (i + 1.37)
        return cmath.sin(value)
    if tag == "fn":
        return _float_function(tree[1], [_float(a, seed) for a in tree[2:]])
    raise _Opaque


def _float_function(name: str, values: list[complex]) -> complex:
    x = values[0]
    if name in _FUNCTIONS:
        return _FUNCTIONS[name](x)
    if name == "log":
        return cmath.log(x) / cmath.log(values[1]) if len(values) > 1 else cmath.log(x)
    if name == "abs":
        return complex(abs(x))
    if name in ("cot", "sec", "csc"):
        return 1 / {"cot": cmath.tan, "sec": cmath.cos, "csc": cmath.sin}[name](x)
    raise _Opaque


def is_decimal_of(decimal: Tree, value: Fraction | complex, digits: int) -> bool:
    """Whether a decimal is a value written out to its last place, in ``digits`` significant digits or more."""
    shown = str(abs(decimal[1].numerator * 10 ** decimal[2] // decimal[1].denominator)).lstrip("0")
    if decimal[2] < 1 or len(shown) < digits:
        return False
    unit = Fraction(1, 10 ** decimal[2])
    if isinstance(value, Fraction):
        return bool(abs(value - decimal[1]) <= unit)
    if abs(value.imag) > 1e-12 * abs(value):
        return False
    slack = Fraction(abs(value.real)) / 2**50
    return bool(abs(Fraction(value.real) - decimal[1]) <= unit + slack)
