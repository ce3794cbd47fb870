"""What a LaTeX answer is after parsing: plain tuples, nothing that computes.

A tree is ``(tag, ...)`` with strings, ints, Fractions and trees inside: hashable, comparable, and cheap to send to a
worker as JSON. Tags:

=============  ==========================================================================================
``num``        an exact number; ``("num", value, places)``, places of a decimal, -1 for integers
``sym``        a variable or a word, by name; ``const``: ``pi``, ``e``, ``i``, ``oo``, ``phi``
``add mul``    n terms or factors; ``pow``: base, exponent; ``neg`` is ``mul`` by -1, ``a/b`` is ``mul`` by ``b^-1``
``fn``         name, arguments (``sqrt``, ``sin``, ``log``, ``abs``, ``floor``, ``binom``, ``factorial`` ...)
``app``        an unknown function applied: name, arguments; ``big``: sums, limits, integrals, compared by form
``percent``    x, for ``x%``; ``pm``: a, b for ``a ± b``; ``based``: digits, base for ``1011_2``
``list``       bare comma list; ``set``; ``tuple``; ``pair``: ``(a, b)``, a point or an open interval
``interval``   low, high, closed-low, closed-high; ``union``, ``intersect``, ``minus``: sets
``matrix``     rows; ``rel``: operators, members of a chain; ``text``: words
``all any``    conditions that hold together (``x > 0 and x < 5``), and of which one does (``x < 0 or x > 5``)
=============  ==========================================================================================
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

Tree = tuple[Any, ...]

MINUS_ONE: Tree = ("num", -1, -1)
RATIO: Tree = ("sym", ":")
"""The first member of the tuple that a ratio is: ``1:2`` is not a point."""
INFINITY: Tree = ("const", "oo")
MINUS_INFINITY: Tree = ("mul", MINUS_ONE, INFINITY)


class Unreadable(Exception):
    """This parser does not know the formula. Only its text can be compared."""


class OverLimit(Exception):
    """A named static limit was passed; the response gets the status LIMIT."""


def negative(tree: Tree) -> Tree:
    """``-tree``, folded for numbers."""
    if tree[0] == "num":
        return ("num", -tree[1], tree[2])
    if tree[0] == "mul" and tree[1] == MINUS_ONE:
        return tree[2] if len(tree) == 3 else ("mul", *tree[2:])
    return ("mul", MINUS_ONE, tree)


def quotient(top: Tree, bottom: Tree) -> Tree:
    """``top / bottom``, folded for integers."""
    if top[0] == bottom[0] == "num" and top[2] == bottom[2] == -1 and bottom[1] != 0:
        value = Fraction(top[1], bottom[1])
        return ("num", value.numerator if value.denominator == 1 else value, -1)
    return ("mul", top, ("pow", bottom, MINUS_ONE))


def subtrees(tree: Tree) -> Iterator[Tree]:
    """The tree and every tree in it."""
    stack = [tree]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(child for child in children(node))


def children(tree: Tree) -> Iterator[Tree]:
    """The trees right below."""
    for part in tree[1:]:
        if isinstance(part, tuple):
            if part and isinstance(part[0], str):
                yield part
            else:  # a row of a matrix, or the members of a relation
                for item in part:
                    if isinstance(item, tuple):
                        yield item


def symbols(tree: Tree) -> frozenset[str]:
    """Names of the free variables; an applied function counts as one, the index of a sum or limit does not."""
    if tree[0] in ("sym", "text"):
        return frozenset() if tree == RATIO else frozenset([tree[1]])
    names: frozenset[str] = frozenset([tree[1]]) if tree[0] == "app" else frozenset()
    for child in children(tree):
        names |= symbols(child)
    if tree[0] == "big":
        names = frozenset(name for name in names if not tree[2].startswith(name))
    return names


def is_closed(tree: Tree) -> bool:
    """True when no variable occurs."""
    return not symbols(tree)


def encoded(tree: Tree) -> list[Any]:
    """The tree as JSON can carry it: lists for tuples, ``"n/d"`` for the value of a number."""
    if tree and tree[0] == "num":
        return ["num", str(tree[1]), tree[2]]
    return [encoded(part) if isinstance(part, tuple) else part for part in tree]


def decoded(data: list[Any]) -> Tree:
    """The inverse of :func:`encoded`."""
    if data and data[0] == "num":
        value = Fraction(data[1])
        return ("num", value.numerator if value.denominator == 1 else value, data[2])
    return tuple(decoded(part) if isinstance(part, list) else part for part in data)
