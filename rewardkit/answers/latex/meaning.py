r"""What an answer means: names and wrappers apart from values, before two answers are compared.

- ``x = 5`` and ``5 = x`` name the value 5; ``f(x) = 2x`` names ``2x``; ``(x, y) = (1, 2)`` names the point.
- ``17 \bmod 5 = 2`` (nothing unknown on either side) states its last member.
- ``x = 1/3 \approx 0.33`` states the exact member: what follows ``\approx`` is a remark.
- ``x \in [0, 1]`` is the set; ``x < 3`` and ``0 < x \le 1`` are the relations themselves, and as sets their
  intervals.
- ``3 \pm \sqrt{2}`` is the list of its two values; ``x = 2, 3`` the list of 2 and 3.
"""

from __future__ import annotations

from operator import itemgetter
from typing import Final

from rewardkit.answers.latex.tree import Tree, is_closed, negative, symbols

INFINITY: Final[Tree] = ("const", "oo")
MINUS_INFINITY: Final[Tree] = negative(INFINITY)
REALS: Final[Tree] = ("interval", MINUS_INFINITY, INFINITY, False, False)
_FLIPPED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "!=": "!="}


def is_name(tree: Tree) -> bool:
    """True for what can stand alone on one side of a definition: ``x``, ``f(x)``, ``(x, y)``, a word."""
    if tree[0] in ("sym", "app"):
        return True
    if tree[0] in ("pair", "tuple", "list"):
        return all(is_name(t) for t in tree[1:])
    return bool(tree[0] == "text")


def named(tree: Tree) -> tuple[Tree | None, Tree]:
    """The name that an answer gives to its value (or None), and the value."""
    tree = stated(tree)
    if tree[0] == "rel" and set(tree[1]) == {"="}:
        first, last = tree[2][0], tree[2][-1]
        if is_name(first) and len(tree[2]) >= 2:
            return first, last
        if is_name(last):
            return last, first
    if tree[0] == "rel" and tree[1] == ("in",) and is_name(tree[2][0]):
        return tree[2][0], tree[2][1]
    return None, tree


def stated(tree: Tree) -> Tree:
    r"""The answer without remarks: what follows ``\approx``, and the workings of a closed equation."""
    if tree[0] != "rel":
        return tree
    operators, members = tree[1], tree[2]
    if "~" in operators:
        cut = operators.index("~")
        if cut == 0 and is_name(members[0]):
            operators = ("=", *operators[1:])
            cut = operators.index("~") if "~" in operators else len(operators)
        operators, members = operators[:cut], members[: cut + 1]
        if not operators:
            return _member(members, 0)
    if (
        set(operators) == {"="}
        and is_closed(members[0])
        and (is_closed(members[-1]) or (len(members) == 2 and not symbols(members[-1])))
    ):
        return _member(members, -1)
    return ("rel", operators, members)


def _member(members: tuple[Tree, ...], index: int) -> Tree:
    return members[index]


def members(tree: Tree) -> tuple[str, list[Tree]] | None:
    r"""The members of a list, set or ±; None where the answer is one value.

    ``x = 2, 3`` and ``x = 3 \pm 1`` are lists of named values.
    """
    if tree[0] in ("list", "set"):
        found: list[Tree] = []
        for item in tree[1:]:
            inner = members(item) if item[0] != "set" else None
            found.extend(inner[1] if inner is not None else [item])
        return tree[0], found
    if (
        tree[0] == "rel"
        and len(tree[2]) == 2
        and tree[2][1][0] in ("set", "list")
        and tree[1] in (("=",), ("in",))
        and is_name(tree[2][0])
    ):
        inner = members(tree[2][1])
        return (
            inner
            if tree[2][1][0] == "set" or inner is None
            else ("list", [("rel", ("=",), (tree[2][0], v)) for v in inner[1]])
        )
    if _has_sign(tree):
        return "list", [_with_sign(tree, 1), _with_sign(tree, -1)]
    return None


def _has_sign(tree: Tree) -> bool:
    if tree[0] == "pm":
        return True
    if tree[0] in ("rel", "matrix"):
        return any(_has_sign(t) for row in tree[1:] for t in row if isinstance(t, tuple))
    return any(_has_sign(t) for t in tree[1:] if isinstance(t, tuple))


def _with_sign(tree: Tree, sign: int) -> Tree:
    if tree[0] == "pm":
        right = _with_sign(tree[2], sign)
        right = right if sign > 0 else negative(right)
        left = _with_sign(tree[1], sign)
        return right if left == ("num", 0, -1) else ("add", left, right)
    if tree[0] == "rel":
        return ("rel", tree[1], tuple(_with_sign(t, sign) for t in tree[2]))
    if tree[0] == "matrix":
        return ("matrix", *(tuple(_with_sign(t, sign) for t in row) for row in tree[1:]))
    return tuple(_with_sign(t, sign) if isinstance(t, tuple) else t for t in tree)


def upward(tree: Tree) -> Tree:
    """An inequality chain written from small to large: ``5 > x`` is ``x < 5``."""
    if tree[0] != "rel" or not {">", ">="} & set(tree[1]) or {"<", "<="} & set(tree[1]):
        return tree
    return ("rel", tuple(_FLIPPED.get(op, op) for op in reversed(tree[1])), tuple(reversed(tree[2])))


def as_interval(tree: Tree) -> Tree | None:
    r"""The interval of ``x < 3``, ``0 < x \le 1`` or ``\mathbb{R}``; None where the answer is no such thing."""
    if tree == ("sym", "RR"):
        return REALS
    tree = upward(tree)
    if tree[0] != "rel" or not set(tree[1]) <= {"<", "<="}:
        return None
    operators, parts = tree[1], tree[2]
    if len(parts) == 3 and is_name(parts[1]) and is_closed(parts[0]) and is_closed(parts[2]):
        return ("interval", parts[0], parts[2], operators[0] == "<=", operators[1] == "<=")
    if len(parts) == 2 and is_name(parts[0]) and is_closed(parts[1]):
        return ("interval", MINUS_INFINITY, parts[1], False, operators[0] == "<=")
    if len(parts) == 2 and is_name(parts[1]) and is_closed(parts[0]):
        return ("interval", parts[0], INFINITY, operators[0] == "<=", False)
    return None


_SETS: Final = frozenset(["interval", "union", "intersect", "minus"])


def is_region(tree: Tree) -> bool:
    """True for a set of reals that only set algebra can compare with another form of itself."""
    return tree[0] in _SETS or (tree[0] == "rel" and set(tree[1]) <= {"<", "<=", ">", ">="})


def as_region(tree: Tree, items: list[Tree] | None) -> Tree | None:
    r"""The region that an answer is: ``x < 1 \text{ or } x > 3`` is a union, ``\{1, 2\}`` a finite set; None: none."""
    if items is None:
        return tree if is_region(tree) or tree[0] == "pair" else None
    if items and all(item[0] == "rel" and is_region(item) for item in items):
        return ("union", *items)
    return ("set", *items) if tree[0] == "set" else None


def canonical(tree: Tree) -> Tree:
    """The tree with sums and products flattened and sorted: equal forms in another order become equal."""
    return _keyed(tree)[0]


def _keyed(tree: Tree) -> tuple[Tree, str, list[tuple[str, Tree]]]:
    """A canonical tree, the text that it is sorted by, and a sum's or product's own parts, each with its text.

    Texts are put together from those below: writing every subtree out anew would take the square of the tree's depth.
    """
    tag = tree[0]
    if tag in ("add", "mul", "union", "set"):
        parts: list[tuple[str, Tree]] = []
        for part in tree[1:]:
            found, key, below = _keyed(part)
            parts.extend(below if found[0] == tag and tag != "set" else [(key, found)])
        parts.sort(key=itemgetter(0))
        return (tag, *(part for _, part in parts)), f"({tag} {' '.join(key for key, _ in parts)})", parts
    if tag == "num":
        number: Tree = ("num", tree[1], -1)
        return number, repr(number), []
    if tag == "rel":
        sides, keys = _all_keyed(tree[2])
        return ("rel", tree[1], sides), f"(rel {tree[1]!r} {keys})", []
    if tag == "matrix":
        rows = [_all_keyed(row) for row in tree[1:]]
        return ("matrix", *(row for row, _ in rows)), f"(matrix {' '.join(keys for _, keys in rows)})", []
    inner, keys = _all_keyed(tree)
    return inner, keys, []


def _all_keyed(entries: Tree) -> tuple[Tree, str]:
    found = [_keyed(e)[:2] if isinstance(e, tuple) else (e, repr(e)) for e in entries]
    return tuple(entry for entry, _ in found), f"({' '.join(key for _, key in found)})"
