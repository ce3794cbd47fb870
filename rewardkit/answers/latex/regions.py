r"""Sets of reals: what intervals, inequalities and what is joined of them describe, compared without computer algebra.

``x < 1 \lor x > 4``, ``(-\infty, 1) \cup (4, \infty)`` and ``\mathbb{R} \setminus [1, 4]`` are one set. A set whose end
points are known is the cells of the real line that it covers: those points, and the gaps between them. What has no
known end points (``x^2 < 4``, integers) is for sympy.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Final

from rewardkit.answers.latex.exact import exact
from rewardkit.answers.latex.identity import approximate
from rewardkit.answers.latex.logic import is_condition
from rewardkit.answers.latex.meaning import REALS, has_sign, upward, with_sign
from rewardkit.answers.latex.tree import INFINITY, MINUS_INFINITY, Tree, is_closed, subtrees, symbols

MAX_ENDS: Final = 64
"""Most end points of two sets together; with more, only sets of the same form are equal."""
_NEAR: Final = Fraction(1, 10**5)
"""End points nearer than this, relative to their size, may be one value in two writings."""
_OPERATIONS: Final = {"union": "union", "any": "union", "intersect": "intersect", "all": "intersect", "minus": "minus"}
_UNKNOWNS: Final = ("sym", "app", "text")
_NO_NUMBERS: Final = frozenset(["pair", "tuple", "list", "set", "interval", "matrix", "rel", "text"])
_NUMBERS: Final = frozenset(["RR", "ZZ", "NN", "QQ", "CC"])


class NoRegion(Exception):
    """The answer is not a set of reals, or this module can't read it as one."""


def is_strictly_region(tree: Tree) -> bool:
    """True for what can only be a set of reals, or a condition that describes one; a pair or finite set may be more."""
    if tree[0] == "list":
        return any(map(is_condition, tree[1:]))
    if tree[0] == "rel" and tree[1] == ("=",) and tree[2][0][0] == "sym":  # D = (0, 1)
        tree = tree[2][1]
    return tree[0] in ("interval", *_OPERATIONS) or tree == ("sym", "RR") or is_condition(tree)


def region(tree: Tree) -> tuple[Tree, Tree | None]:
    r"""The set that an answer describes, and its unknown if it names one.

    A set is intervals and finite sets under ``union``, ``intersect``, ``minus``;
    ``comma`` stands for conditions with a comma between them; relations that aren't solved and sets of integers stay.

    Raises:
        NoRegion: it describes none, or one of several unknowns.
    """
    unknowns: set[Tree] = set()
    intervals = _read(tree, unknowns)
    if len(unknowns) > 1:
        raise NoRegion
    return intervals, next(iter(unknowns), None)


def _read(tree: Tree, unknowns: set[Tree]) -> Tree:
    tag = tree[0]
    if tag == "interval" or (tag == "set" and not any(part[0] in _NO_NUMBERS for part in tree[1:])):
        return tree
    if tag == "pair":
        return ("interval", tree[1], tree[2], False, False)
    if tag == "sym" and tree[1] in _NUMBERS:
        return REALS if tree[1] == "RR" else tree
    if tag in _OPERATIONS:
        return (_OPERATIONS[tag], *(_read(part, unknowns) for part in tree[1:]))
    if tag == "list" and all(part[0] in ("pair", "interval") for part in tree[1:]):
        return ("union", *(_read(part, unknowns) for part in tree[1:]))
    if tag == "list" and all(part[0] == "rel" for part in tree[1:]):
        return ("comma", *(_read(part, unknowns) for part in tree[1:]))
    if tag == "add" and len(tree) == 3 and tree[2][0] == "mul" and tree[2][-1][0] == "set":  # R - {2}
        return ("minus", _read(tree[1], unknowns), tree[2][-1])
    if tag == "rel":
        return _relation(tree, unknowns)
    raise NoRegion


def _relation(tree: Tree, unknowns: set[Tree]) -> Tree:
    operators, sides = tree[1], tree[2]
    if has_sign(tree):
        if set(operators) not in ({"="}, {"!="}):
            raise NoRegion
        both = [_relation(with_sign(tree, sign), unknowns) for sign in (1, -1)]
        return ("union" if "=" in operators else "intersect", *both)
    if operators in (("in",), ("notin",)):
        if sides[0][0] not in _UNKNOWNS:
            raise NoRegion
        unknowns.add(sides[0])
        inside = _read(sides[1], unknowns)
        return inside if operators == ("in",) else ("minus", REALS, inside)
    if set(operators) <= {"=", "!="}:
        if len(sides) != 2:
            raise NoRegion
        if operators == ("=",) and sides[0][0] == "sym" and _is_set(sides[1]):  # the name of a set
            return _read(sides[1], unknowns)
        for unknown, value in (sides, sides[::-1]):
            if unknown[0] in _UNKNOWNS and is_closed(value):
                unknowns.add(unknown)
                return ("set", value) if operators == ("=",) else ("minus", REALS, ("set", value))
        return _unsolved(tree, unknowns)
    operators, sides = upward(tree)[1:]
    if not set(operators) <= {"<", "<="}:
        raise NoRegion
    if len(sides) == 2:
        for at, unknown, value in ((0, *sides), (1, *sides[::-1])):
            if unknown[0] in _UNKNOWNS and is_closed(value):
                unknowns.add(unknown)
                closed = operators[0] == "<="
                if at == 0:
                    return ("interval", MINUS_INFINITY, value, False, closed)
                return ("interval", value, INFINITY, closed, False)
    elif len(sides) == 3 and sides[1][0] in _UNKNOWNS and is_closed(sides[0]) and is_closed(sides[2]):
        unknowns.add(sides[1])
        return ("interval", sides[0], sides[2], operators[0] == "<=", operators[1] == "<=")
    return _unsolved(tree, unknowns)


def _is_set(tree: Tree) -> bool:
    return tree[0] in ("interval", "pair", "set", *_OPERATIONS) or (tree[0] == "sym" and tree[1] in _NUMBERS)


def _unsolved(tree: Tree, unknowns: set[Tree]) -> Tree:
    names = symbols(tree)
    if len(names) != 1:
        raise NoRegion
    unknowns.update(("sym", name) if ("sym", name) in subtrees(tree) else ("app", name) for name in names)
    return tree


def same_cells(left: Tree, right: Tree, same: Callable[[Tree, Tree], bool]) -> bool | None:
    """Whether two sets of :func:`region` cover the same cells; None where their end points aren't all known.

    Args:
        left: one set.
        right: the other.
        same: whether two end points that are near each other are one value.
    """
    endpoints: list[Tree] = []
    if not (_gather(left, endpoints) and _gather(right, endpoints)):
        return None
    if len(endpoints) > MAX_ENDS:
        return left == right
    places: list[tuple[Fraction, Tree]] = []
    for end in dict.fromkeys(endpoints):
        value = _place(end)
        if value is None:
            return None
        places.append((value, end))
    places.sort(key=lambda place: (place[0], repr(place[1])))
    order: dict[Tree, int] = {}
    rank, previous = -1, None
    for value, end in places:
        if previous is None or not _is_one(previous, (value, end), same):
            rank += 1
        order[end] = rank
        previous = (value, end)
    try:
        return _cells(left, order, rank + 1) == _cells(right, order, rank + 1)
    except NoRegion:
        return False


def _gather(tree: Tree, endpoints: list[Tree]) -> bool:
    """Collect the end points; False where a part has none."""
    if tree[0] == "interval":
        endpoints.extend(end for end in tree[1:3] if end not in (INFINITY, MINUS_INFINITY))
        return True
    if tree[0] == "set":
        endpoints.extend(tree[1:])
        return True
    return tree[0] in ("union", "intersect", "minus", "comma") and all(_gather(part, endpoints) for part in tree[1:])


def _place(end: Tree) -> Fraction | None:
    if not is_closed(end):
        return None
    value = exact(end)
    if value is not None:
        return Fraction(value)
    number = approximate(end)
    return Fraction(number.real) if number is not None and abs(number.imag) <= 1e-12 * abs(number) else None


def _is_one(one: tuple[Fraction, Tree], other: tuple[Fraction, Tree], same: Callable[[Tree, Tree], bool]) -> bool:
    if one[0] == other[0] and exact(one[1]) is not None and exact(other[1]) is not None:
        return True
    return other[0] - one[0] <= _NEAR * max(Fraction(1), abs(one[0])) and same(one[1], other[1])


def _cells(tree: Tree, order: dict[Tree, int], n: int) -> int:
    """The cells of a set, as bits: even ones are the gaps around the ``n`` points, odd ones the points themselves."""
    everything = (1 << (2 * n + 1)) - 1
    if tree[0] == "set":
        return sum({1 << (2 * order[point] + 1) for point in tree[1:]})
    if tree[0] == "interval":
        low, high, low_closed, high_closed = tree[1:]
        if low == INFINITY or high == MINUS_INFINITY:
            raise NoRegion
        first = 0 if low == MINUS_INFINITY else 2 * order[low] + (1 if low_closed else 2)
        last = 2 * n if high == INFINITY else 2 * order[high] + (1 if high_closed else 0)
        if last < first:
            raise NoRegion
        return (1 << (last + 1)) - (1 << first)
    parts = [_cells(part, order, n) for part in tree[1:]]
    total = parts[0]
    for part in parts[1:]:
        total = total | part if tree[0] == "union" else total & part if tree[0] != "minus" else total & ~part
    if tree[0] == "comma" and not total:  # no number is all of them at once, so they are cases
        for part in parts:
            total |= part
    return total & everything
