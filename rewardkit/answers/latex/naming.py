r"""Answers that name what they give: ``AB = 4``, ``V_1 : V_2 = 11 : 21``, ``p = 5, q = 2``.

A name is dropped where the other side has none. Where there are several, they order the values: ``AB = 4, CD = 5`` is
``4, 5`` and not ``5, 4``. The roots ``x_1, x_2`` of one equation have no order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from rewardkit.answers.latex.tree import MINUS_ONE, RATIO, Tree, is_closed

_MAX_LETTERS: Final = 4
_OF_ANGLES: Final = ("sin", "cos", "tan", "abs")


def is_name(tree: Tree) -> bool:
    """True for what can stand alone on one side of a definition: ``x``, ``f(x)``, ``(x, y)``, a word."""
    if tree[0] in ("sym", "app"):
        return True
    if tree[0] in ("pair", "tuple", "list"):
        return all(is_name(t) for t in tree[1:])
    return bool(tree[0] == "text")


def is_label(tree: Tree) -> bool:
    r"""True for what names a quantity when a number is on the other side: ``AB``, ``\sin A``, ``V_1:V_2``, ``|AB|``.

    ``xy = 6`` and ``y/x = 2`` are equations.
    """
    if tree[0] == "sym":
        return bool("_" in tree[1] or not tree[1].islower())
    if tree[0] == "mul" and tree[2:] and tree[-1][0] == "pow" and tree[-1][2] == MINUS_ONE:
        return is_label(tree[1] if len(tree) == 3 else ("mul", *tree[1:-1])) and is_label(tree[-1][1])
    if tree[0] == "mul":
        letters = [t[1] if t[0] == "sym" and len(t[1]) == 1 and t[1].isupper() else "" for t in _factors(tree)]
        return all(letters) and len(set(letters)) == len(letters) <= _MAX_LETTERS
    if tree[0] == "fn" and tree[1] in _OF_ANGLES:
        return is_label(tree[2])
    if tree[0] in ("pair", "tuple"):
        return all(is_name(t) or is_label(t) for t in tree[1:])
    return False


def _factors(tree: Tree) -> list[Tree]:
    return [part for t in tree[1:] for part in _factors(t)] if tree[0] == "mul" else [tree]


def definition(tree: Tree) -> tuple[Tree, Tree] | None:
    """The name and value of a chain of equal signs that defines one thing; None where it doesn't."""
    if tree[0] != "rel" or set(tree[1]) != {"="}:
        return None
    first, last = tree[2][0], tree[2][-1]
    if is_name(first) or (is_label(first) and is_closed(last)):
        return first, last
    if is_name(last) or (is_label(last) and is_closed(first)):
        return last, first
    return None


@dataclass(frozen=True, slots=True)
class Named:
    """Several named values: ``p = 5, q = 2; p = 7, q = 2`` has two names and two rows."""

    names: tuple[Tree, ...]
    rows: tuple[tuple[Tree, ...], ...]

    def in_order_of(self, names: tuple[Tree, ...]) -> tuple[tuple[Tree, ...], ...] | None:
        """The rows with their values in the order of these names; None where they are others."""
        if set(names) != set(self.names):
            return None
        order = [self.names.index(name) for name in names]
        return tuple(tuple(row[i] for i in order) for row in self.rows)


def named_values(tree: Tree) -> Named | None:
    """The values of an answer that names at least two of them apart; None for any other answer."""
    if tree[0] == "rel" and tree[1] == ("in",) and _is_point(tree[2][0]) and tree[2][1][0] == "set":
        tree = ("list", *(("rel", ("=",), (tree[2][0], point)) for point in tree[2][1][1:]))
    rows: list[dict[Tree, Tree]] = []
    for item in tree[1:] if tree[0] in ("list", "all") else (tree,):
        pairs = _pairs(item, rows[-1] if rows else {})
        if pairs is None:
            return None
        if not rows or len(pairs) > 1 or any(name in rows[-1] for name in pairs):
            rows.append({})
        rows[-1].update(pairs)
    names = tuple(rows[0])
    if len(names) < 2 or any(set(row) != set(names) for row in rows) or (len(rows) == 1 and _are_roots(names)):
        return None
    return Named(names, tuple(tuple(row[name] for name in names) for row in rows))


def _pairs(item: Tree, before: dict[Tree, Tree]) -> dict[Tree, Tree] | None:
    """Names and values of one clause; a bare point after ``(p, q) = (5, 2)`` has the same names."""
    if _is_point(item):
        return dict(zip(before, item[1:], strict=True)) if len(before) == len(item) - 1 else None
    named = definition(item)
    if named is None:
        return None
    name, value = named
    if _is_point(name):
        if value[0] not in ("pair", "tuple") or len(value) != len(name) or len(set(name[1:])) != len(name) - 1:
            return None
        return dict(zip(name[1:], value[1:], strict=True))
    return None if value[0] in ("list", "set") else {name: value}


def _is_point(tree: Tree) -> bool:
    return tree[0] in ("pair", "tuple") and tree[1:2] != (RATIO,)


def _are_roots(names: tuple[Tree, ...]) -> bool:
    return len({stem(name) for name in names}) == 1


def stem(name: Tree) -> str:
    """A name without its index."""
    return str(name[1]).partition("_")[0] if name[0] == "sym" else repr(name)


def bare_rows(tree: Tree, rows: int, width: int) -> tuple[tuple[Tree, ...], ...] | None:
    """An answer without names as so many rows of so many values; None where it can't be."""
    if tree[0] in ("pair", "tuple"):
        items: tuple[Tree, ...] = (tree,)
    elif tree[0] == "list" or (tree[0] == "set" and all(map(_is_point, tree[1:]))):
        items = tree[1:]
    else:
        return None
    if all(_is_point(item) and len(item) == width + 1 for item in items):
        return tuple(item[1:] for item in items) if len(items) == rows else None
    if len(items) != rows * width or any(item[0] == "rel" for item in items):
        return None
    return tuple(tuple(items[i : i + width]) for i in range(0, len(items), width))
