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

from rewardkit.answers.latex.naming import definition, is_name
from rewardkit.answers.latex.tree import INFINITY, MINUS_INFINITY, Tree, is_closed, negative, symbols

REALS: Final[Tree] = ("interval", MINUS_INFINITY, INFINITY, False, False)
_FLIPPED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "!=": "!="}


def named(tree: Tree) -> tuple[Tree | None, Tree]:
    """The name that an answer gives to its value (or None), and the value."""
    tree = stated(tree)
    named_value = definition(tree)
    if named_value is not None:
        return named_value
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
    if tree[0] in ("list", "set", "all", "any"):
        items: list[Tree] = []
        for item in tree[1:]:
            inner = members(item) if item[0] != "set" else None
            items.extend(inner[1] if inner is not None else [item])
        return tree[0], items
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
    if has_sign(tree):
        return "list", [with_sign(tree, 1), with_sign(tree, -1)]
    return None


def has_sign(tree: Tree) -> bool:
    """True where a plus-minus sign stands anywhere."""
    if tree[0] == "pm":
        return True
    if tree[0] in ("rel", "matrix"):
        return any(has_sign(t) for row in tree[1:] for t in row if isinstance(t, tuple))
    return any(has_sign(t) for t in tree[1:] if isinstance(t, tuple))


def with_sign(tree: Tree, sign: int) -> Tree:
    """The tree with each plus-minus sign read as plus (1) or minus (-1)."""
    if tree[0] == "pm":
        right = with_sign(tree[2], sign)
        right = right if sign > 0 else negative(right)
        left = with_sign(tree[1], sign)
        return right if left == ("num", 0, -1) else ("add", left, right)
    if tree[0] == "rel":
        return ("rel", tree[1], tuple(with_sign(t, sign) for t in tree[2]))
    if tree[0] == "matrix":
        return ("matrix", *(tuple(with_sign(t, sign) for t in row) for row in tree[1:]))
    return tuple(with_sign(t, sign) if isinstance(t, tuple) else t for t in tree)


def upward(tree: Tree) -> Tree:
    """An inequality chain written from small to large: ``5 > x`` is ``x < 5``."""
    if tree[0] != "rel" or not {">", ">="} & set(tree[1]) or {"<", "<="} & set(tree[1]):
        return tree
    return ("rel", tuple(_FLIPPED.get(op, op) for op in reversed(tree[1])), tuple(reversed(tree[2])))


def canonical(tree: Tree) -> Tree:
    """The tree with sums and products flattened and sorted: equal forms in another order become equal."""
    return _keyed(tree)[0]


def _keyed(tree: Tree) -> tuple[Tree, str, list[tuple[str, Tree]]]:
    """A canonical tree, the text that it is sorted by, and a sum's or product's own parts, each with its text.

    Texts are put together from those below: writing every subtree out anew would take the square of the tree's depth.
    """
    tag = tree[0]
    if tag in ("add", "mul", "union", "set", "all", "any", "intersect"):
        parts: list[tuple[str, Tree]] = []
        for part in tree[1:]:
            keyed, key, below = _keyed(part)
            parts.extend(below if keyed[0] == tag and tag != "set" else [(key, keyed)])
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
    keyed = [_keyed(e)[:2] if isinstance(e, tuple) else (e, repr(e)) for e in entries]
    return tuple(entry for entry, _ in keyed), f"({' '.join(key for _, key in keyed)})"
