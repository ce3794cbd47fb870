"""The formulas that differ from a formula by one slip."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rewardkit.algebra.expression import Expression, Reward, TokenReward
from rewardkit.analysis.conditional_bounds import live
from rewardkit.errors import FormulaError


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
    by_formula: dict[Expression, Mutant] = {}
    slips = [(slip, node, changed) for node in live(root, {}) for slip, changed in node.operation.slips(node)]
    for slip, node, changed in slips:
        try:
            mutant = replaced(root, {node: changed})
        except FormulaError:  # the algebra refuses it, so nobody could have written it
            continue
        if isinstance(mutant, Reward | TokenReward) and mutant != root:
            by_formula.setdefault(mutant, Mutant(slip, mutant))
    return tuple(by_formula.values())


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
            made[node] = node.operation.apply(*args)
    return made[root]
