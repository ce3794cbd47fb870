"""The last stage: sympy decides whether two trees are equal. Runs in worker processes only.

Trees are turned into sympy objects node by node; no text is ever parsed here. The calling process has checked every
static limit, and the worker has a deadline, so nothing in here needs to be careful about time.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import sympy as sp

from rewardkit.answers.latex.tree import Tree, decoded, subtrees

_DIGITS = 40
_FUNCTIONS: dict[str, Any] = {
    "sqrt": sp.sqrt, "sin": sp.sin, "cos": sp.cos, "tan": sp.tan, "cot": sp.cot, "sec": sp.sec, "csc": sp.csc,
    "sinh": sp.sinh, "cosh": sp.cosh, "tanh": sp.tanh, "asin": sp.asin, "acos": sp.acos, "atan": sp.atan, "exp": sp.exp,
    "ln": sp.log, "abs": sp.Abs, "floor": sp.floor, "ceil": sp.ceiling, "factorial": sp.factorial,
    "factorial2": sp.factorial2, "binom": sp.binomial,
    "gcd": sp.gcd, "lcm": sp.lcm, "max": sp.Max, "min": sp.Min, "mod": sp.Mod,
}  # fmt: skip
_NUMBER_SETS: dict[str, Any] = {
    "RR": sp.S.Reals,
    "ZZ": sp.S.Integers,
    "NN": sp.S.Naturals,
    "QQ": sp.S.Rationals,
    "CC": sp.S.Complexes,
}
_CONSTANTS: dict[str, Any] = {"pi": sp.pi, "e": sp.E, "i": sp.I, "oo": sp.oo}


class NotSymbolic(Exception):
    """The tree has a node that means nothing to sympy."""


def build(tree: Tree, *, positive: bool = False) -> Any:
    """The sympy expression of a tree.

    Raises:
        NotSymbolic: the tree has a node without a meaning here.
    """
    tag = tree[0]
    if tag == "num":
        return _rational(tree[1])
    if tag == "const":
        return _CONSTANTS[tree[1]]
    if tag == "sym":
        return sp.Symbol(tree[1], real=True, positive=True) if positive else sp.Symbol(tree[1], real=True)
    if tag == "add":
        return sp.Add(*[build(t, positive=positive) for t in tree[1:]])
    if tag == "mul":
        return sp.Mul(*[build(t, positive=positive) for t in tree[1:]])
    if tag == "pow":
        return sp.Pow(build(tree[1], positive=positive), build(tree[2], positive=positive))
    if tag == "percent":
        return build(tree[1], positive=positive) / 100
    if tag == "app":
        return sp.Function(tree[1])(*[build(t, positive=positive) for t in tree[2:]])
    if tag == "fn":
        return _function(tree[1], [build(t, positive=positive) for t in tree[2:]])
    raise NotSymbolic(str(tag))


def _rational(value: int | Fraction) -> Any:
    return sp.Integer(value) if isinstance(value, int) else sp.Rational(value.numerator, value.denominator)


def _function(name: str, arguments: list[Any]) -> Any:
    if name == "log":
        if len(arguments) == 2:
            return sp.log(arguments[0]) / sp.log(arguments[1])
        return sp.log(arguments[0])
    if name == "lg":
        return sp.log(arguments[0]) / sp.log(10)
    if name not in _FUNCTIONS:
        raise NotSymbolic(name)
    return _FUNCTIONS[name](*arguments)


def answer(question: str, truth: Any, given: Any, assume_positive: bool) -> bool:
    """:func:`decide` on trees as JSON carries them: what the calling process asks a worker."""
    return decide(question, decoded(truth), decoded(given), assume_positive)


def warm() -> None:
    """Let sympy load what it loads at first use, before any question's time runs."""
    x: Tree = ("sym", "x")
    two: Tree = ("num", 2, -1)
    squares: Tree = ("add", ("pow", ("fn", "sin", x), two), ("pow", ("fn", "cos", x), two))
    decide("equal", squares, ("num", 1, -1), True)
    decide("equal", ("fn", "sin", ("mul", two, x)), ("mul", two, ("fn", "sin", x), ("fn", "cos", x)), True)
    decide("equal", ("fn", "log", ("num", 8, -1), two), ("num", 3, -1), True)
    decide("proportional", ("mul", two, ("fn", "sin", x)), ("fn", "sin", x), True)
    absolute: Tree = ("rel", ("<",), (("fn", "abs", x), two))
    decide("same-region", absolute, ("interval", ("num", -2, -1), two, False, False), True)


def decide(question: str, truth: Tree, answer: Tree, assume_positive: bool) -> bool:
    """The verdict on one question of :mod:`rewardkit.answers.latex.same`."""
    try:
        if question == "same-region":
            left, right = _region(truth), _region(answer)
            return bool(left == right or (left.is_subset(right) and right.is_subset(left)))
        if question == "proportional":
            left, right = build(truth), build(answer)
            if right == 0 or left == 0:
                return bool(left == right)
            ratio = sp.simplify(left / right)
            return bool(not ratio.free_symbols and ratio != 0 and ratio.is_finite is not False)
        if _equal(truth, answer, positive=False):
            return True
        bars = any(node[:2] == ("fn", "abs") for tree in (truth, answer) for node in subtrees(tree))
        return assume_positive and not bars and _equal(truth, answer, positive=True)
    except (OverflowError, MemoryError):  # a number that no machine holds: the caller finds out whose it is
        raise
    except Exception:  # sympy raises of every kind; what it can't show to be equal is not
        return False


def _equal(truth: Tree, answer: Tree, *, positive: bool) -> bool:
    difference = build(truth, positive=positive) - build(answer, positive=positive)
    if difference == 0:
        return True
    if difference.has(sp.nan, sp.zoo, sp.oo):
        return False
    if not difference.free_symbols:
        value = difference.evalf(_DIGITS)
        if not value.is_number or not value.is_finite:
            return False
        if abs(value) > sp.Float(10) ** (-_DIGITS // 2):
            return False
        if difference.has(sp.I) and sp.expand(difference, complex=True) == 0:
            return True  # polar and Cartesian forms, for which simplify takes a second
    simplified = sp.simplify(sp.expand(difference) if difference.is_polynomial() else difference)
    if simplified == 0:
        return True
    if not simplified.free_symbols:
        verdict = simplified.equals(0)
        return bool(verdict) or (verdict is None and abs(simplified.evalf(2 * _DIGITS)) < sp.Float(10) ** -_DIGITS)
    return bool(sp.simplify(sp.expand_trig(sp.expand_log(simplified, force=positive))) == 0)


def _region(tree: Tree) -> Any:
    """The set of reals that :func:`rewardkit.answers.latex.regions.region` read, for one unknown."""
    tag = tree[0]
    if tag == "interval":
        low, high = build(tree[1]), build(tree[2])
        return sp.Interval(low, high, not tree[3] or not low.is_finite, not tree[4] or not high.is_finite)
    if tag == "set":
        return sp.FiniteSet(*[build(t) for t in tree[1:]])
    if tag == "sym" and tree[1] in _NUMBER_SETS:
        return _NUMBER_SETS[tree[1]]
    if tag == "rel":
        return _solved(tree)
    if tag not in ("union", "intersect", "minus", "comma"):
        raise NotSymbolic(tag)
    parts = [_region(t) for t in tree[1:]]
    if tag == "union":
        return sp.Union(*parts)
    if tag == "minus":
        return sp.Complement(*parts)
    both = sp.Intersection(*parts)
    return sp.Union(*parts) if tag == "comma" and both.is_empty else both


def _solved(tree: Tree) -> Any:
    parts = [build(_plain(t)) for t in tree[2]]
    unknowns = set().union(*[p.free_symbols for p in parts])
    if len(unknowns) != 1:
        raise NotSymbolic("several unknowns")
    unknown = sp.Symbol("x", real=True)
    parts = [p.subs(next(iter(unknowns)), unknown) for p in parts]
    region = sp.S.Reals
    for operator, left, right in zip(tree[1], parts, parts[1:], strict=False):
        if operator in ("=", "!="):
            roots = sp.solveset(sp.Eq(left, right), unknown, sp.S.Reals)
            region = region.intersect(roots) if operator == "=" else sp.Complement(region, roots)
        else:
            relation = {"<": sp.Lt, "<=": sp.Le, ">": sp.Gt, ">=": sp.Ge}[operator](left, right)
            region = region.intersect(sp.solveset(relation, unknown, sp.S.Reals))
    return region


def _plain(tree: Tree) -> Tree:
    """An applied function as an unknown of its own: ``0 < f(x) < 1`` is about ``f(x)``."""
    return ("sym", "f") if tree[0] == "app" else tree
