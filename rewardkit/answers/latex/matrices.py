"""Sums and products of matrices, worked out before comparison."""

from __future__ import annotations

from typing import Final

from rewardkit.answers.latex.tree import Tree, Unreadable

_TRANSPOSES: Final = tuple(("sym", name) for name in ("T", "t", "top", "intercal"))


def reduce_matrices(tree: Tree) -> Tree:
    """The tree with arithmetic between matrices carried out; unchanged where there is none.

    Raises:
        Unreadable: shapes that don't fit.
    """
    if tree[0] == "add" and any(_is_matrix(t) for t in tree[1:]):
        terms = [reduce_matrices(t) for t in tree[1:]]
        total = terms[0]
        for term in terms[1:]:
            total = _added(total, term)
        return total
    if tree[0] == "mul" and any(_is_matrix(t) for t in tree[1:]):
        factors = [reduce_matrices(t) for t in tree[1:]]
        product = factors[0]
        for factor in factors[1:]:
            product = _multiplied(product, factor)
        return product
    if tree[0] == "pow" and tree[2] in _TRANSPOSES and tree[1][0] in ("matrix", "pair", "tuple", "interval"):
        return transposed(tree[1])
    if tree[0] == "rel":
        return ("rel", tree[1], tuple(reduce_matrices(t) for t in tree[2]))
    return tree


def transposed(tree: Tree) -> Tree:
    """The transpose of a matrix; of a row of numbers, ``(1, 2)^T``, the same point, which has no rows."""
    if tree[0] == "matrix":
        return ("matrix", *zip(*tree[1:], strict=True))
    return ("tuple", *tree[1:3]) if tree[0] in ("pair", "interval") else tree


def _is_matrix(tree: Tree) -> bool:
    return (
        tree[0] == "matrix"
        or (tree[0] in ("add", "mul") and any(_is_matrix(t) for t in tree[1:]))
        or (tree[0] == "pow" and tree[1][0] == "matrix" and tree[2] in _TRANSPOSES)
    )


def _added(left: Tree, right: Tree) -> Tree:
    if left[0] != "matrix" or right[0] != "matrix" or len(left) != len(right) or len(left[1]) != len(right[1]):
        raise Unreadable("a sum of unlike shapes")
    rows = zip(left[1:], right[1:], strict=True)
    return ("matrix", *(tuple(("add", a, b) for a, b in zip(r, s, strict=True)) for r, s in rows))


def _multiplied(left: Tree, right: Tree) -> Tree:
    if left[0] != "matrix" and right[0] != "matrix":
        return ("mul", left, right)
    if left[0] != "matrix" or right[0] != "matrix":
        scalar, matrix = (left, right) if right[0] == "matrix" else (right, left)
        return ("matrix", *(tuple(("mul", scalar, cell) for cell in row) for row in matrix[1:]))
    if len(left[1]) != len(right) - 1:
        raise Unreadable("a product of unlike shapes")
    columns = list(zip(*right[1:], strict=True))
    return (
        "matrix",
        *(
            tuple(("add", *(("mul", a, b) for a, b in zip(row, col, strict=True))) for col in columns)
            for row in left[1:]
        ),
    )
