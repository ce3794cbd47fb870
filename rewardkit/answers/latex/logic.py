r"""What joins clauses: ``x<1 \lor x>4`` is either, ``x>0 \text{ and } x \ne 2`` is both, values alone are a list."""

from __future__ import annotations

from typing import Final

from rewardkit.answers.latex.tree import INFINITY, MINUS_INFINITY, Tree

INEQUALITIES: Final = frozenset(["<", "<=", ">", ">=", "!=", "notin"])
_RANGES: Final = frozenset(["interval", "union", "intersect", "minus"])


def joined(members: list[Tree], joins: list[str]) -> Tree:
    """One tree for clauses and what stands between each two of them: ``and``, ``or`` or a comma.

    A comma says what the word at the end of the list says; where both words stand, ``and`` binds tighter.
    """
    if len(members) == 1:
        return members[0]
    first = members[0]
    if first[0] == "rel" and first[1] == ("!=",) and not any(t[0] == "rel" for t in members[1:]):
        members = [first, *(("rel", ("!=",), (first[2][0], value)) for value in members[1:])]
        return ("all", *members)  # "x is not 1 or 2" is neither
    said = set(joins) - {","}
    if not said or not _restrict(members, said):
        return ("list", *members)
    if len(said) == 1:
        return ("any" if "or" in said else "all", *members)
    groups: list[list[Tree]] = [[first]]
    for join, member in zip(joins, members[1:], strict=True):
        if join == "or":
            groups.append([member])
        else:
            groups[-1].append(member)
    return ("any", *(("all", *group) if len(group) > 1 else group[0] for group in groups))


def apart(operators: list[str], members: list[Tree]) -> Tree:
    r"""The relation of a chain; ``x<1 \cup x>4`` is two of them."""
    for i, member in enumerate(members[1:-1], 1):
        if member[0] in ("union", "intersect") and len(member) == 3 and member[2][0] not in (*_RANGES, "pair", "set"):
            before, after = [*members[:i], member[1]], [member[2], *members[i + 1 :]]
            sides = apart(operators[:i], before), apart(operators[i:], after)
            return ("any" if member[0] == "union" else "all", *sides)
    return ("rel", tuple(operators), tuple(members))


def _restrict(members: list[Tree], said: set[str]) -> bool:
    """True where the clauses say which values are allowed, so that "and" and "or" differ."""
    if any(is_condition(t) for t in members):
        return True
    return said == {"or"} and all(t[0] in _RANGES or t[0] == "pair" for t in members) and any(map(_is_range, members))


def is_condition(tree: Tree) -> bool:
    r"""True for an inequality, ``x \in [0, 1]``, and what is joined of these."""
    if tree[0] in ("all", "any"):
        return True
    if tree[0] != "rel":
        return False
    return bool(INEQUALITIES & set(tree[1])) or (
        tree[1] == ("in",) and (_is_range(tree[2][1]) or tree[2][1][0] == "pair")
    )


def _is_range(tree: Tree) -> bool:
    return tree[0] in _RANGES or (tree[0] == "pair" and (tree[1] == MINUS_INFINITY or tree[2] == INFINITY))
