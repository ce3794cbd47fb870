"""The formulas that differ from a formula by one slip."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any, Final, cast

from rewardkit.errors import FormulaError
from rewardkit.expression import Expression, Reward, TokenReward, Verdict, as_condition, as_reward
from rewardkit.finding import short
from rewardkit.functions import when


@dataclass(frozen=True, slots=True)
class Mutant:
    """A formula with one slip.

    Attributes:
        slip: what was done, in a few words.
        reward: the formula.
    """

    slip: str
    reward: Reward | TokenReward


def mutants(root: Reward | TokenReward) -> tuple[Mutant, ...]:
    """Every mutant of a formula, each formula once. What is only observed is left alone: it pays nothing."""
    found: dict[Expression, Mutant] = {}
    for slip, node, changed in _slips(root):
        try:
            mutant = replaced(root, {node: changed})
        except FormulaError:  # the algebra refuses it, so nobody could have written it
            continue
        if isinstance(mutant, Reward | TokenReward) and mutant != root:
            found.setdefault(mutant, Mutant(slip, mutant))
    return tuple(found.values())


def _slips(root: Expression) -> Iterator[tuple[str, Expression, Expression]]:
    for node in _paid(root):
        if node.op == "add":
            for i, addend in enumerate(node.args):
                yield f"drop {short(addend)}", node, _without(node, i)
        if node.op in ("minimum", "maximum", "mean") and len(node.args) > 1:
            for i, operand in enumerate(node.args):
                yield f"drop {short(operand)} from {node.op}", node, _without(node, i)
        if node.op in ("and", "or"):
            for i, operand in enumerate(node.args):
                yield f"drop {short(operand)} from {short(node)}", node, _without(node, i)
        if node.op == "when":
            condition, then, otherwise = node.args
            yield f"open the gate {short(condition)}", node, then
            yield f"never {short(condition)}", node, otherwise
            yield f"swap the branches of {short(condition)}", node, rebuilt(node, (condition, otherwise, then))
        if node.op == "clip":
            yield f"drop {short(node)}'s clip", node, node.args[0]
        if node.op == "term" and isinstance(node, Reward):
            yield from _of_term(node)


def _of_term(node: Reward) -> Iterator[tuple[str, Expression, Expression]]:
    if isinstance(node, Verdict):
        yield f"turn {short(node)} round", node, Verdict("not", (node,))
    else:
        yield f"turn the sign of {short(node)}", node, -node
    yield f"double {short(node)}", node, 2 * node
    assert node.term is not None
    if dict(node.params).get("cap") is not None and any(
        p.name == "cap" and p.default is None for p in node.term.parameters
    ):
        yield f"drop the cap of {short(node)}", node, node.term.node({**dict(node.params), "cap": None})


def _paid(root: Expression) -> Iterator[Expression]:
    seen: set[Expression] = set()
    stack = [root]
    while stack:
        node = stack.pop()
        if node in seen or node.op == "observe":
            continue
        seen.add(node)
        yield node
        stack.extend(reversed(node.args))


def _without(node: Expression, i: int) -> Expression:
    rest = (*node.args[:i], *node.args[i + 1 :])
    return rest[0] if len(rest) == 1 else rebuilt(node, rest)


def replaced(root: Expression, by: Mapping[Expression, Expression]) -> Expression:
    """A formula with some of its nodes replaced, wherever they stand; kinds follow from the new operands."""
    made: dict[Expression, Expression] = {}
    for node in root.walk():
        args = tuple(made[a] for a in node.args)
        if node in by:
            made[node] = by[node]
        elif all(a is b for a, b in zip(args, node.args, strict=True)):
            made[node] = node
        else:
            made[node] = rebuilt(node, args)
    return made[root]


def rebuilt(node: Expression, args: tuple[Expression, ...]) -> Expression:
    """A node over other operands, built as its text would be, so that it reads back and has the kind that they make.

    Raises:
        FormulaError: the operands are not of a kind that it takes.
    """
    if node.op in ("and", "or", "not"):
        args = tuple(as_condition(a, node.op) for a in args)
    if node.op in _OPERATORS:
        return cast(Expression, reduce(_OPERATORS[node.op], cast(Any, args)))
    if node.op in ("neg", "not"):
        return cast(Expression, -cast(Any, args[0]) if node.op == "neg" else ~cast(Any, args[0]))
    if node.op == "div":
        return cast(Expression, cast(Any, args[0]) / args[1].param("value"))
    if node.op == "when":
        return cast(Expression, when(*cast(Any, args)))
    if node.op == "named":
        return cast(Expression, cast(Any, args[0]).named(node.param("name")))
    if node.op in ("lt", "le", "gt", "ge", "clip", "observe") or node.op.startswith("group_"):
        args = tuple(a if isinstance(a, TokenReward) else as_reward(a, node.op) for a in args)
    return type(node)(node.op, args, node.params, node.term)


_OPERATORS: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "add": operator.add, "mul": operator.mul, "and": operator.and_, "or": operator.or_,
}  # fmt: skip
