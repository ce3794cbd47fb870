"""Which way a formula's total moves when one of its terms moves.

A policy-caused failure (no answer, two answers, over a limit) is paid at the end of the term's bounds that is worst for
the *total*: the low end where the total rises with the term, the high end where it falls (``1 - gsm8k()``), and the
formula's own floor where it does both, so that no spelling of a formula pays for not answering.
"""

from __future__ import annotations

from rewardkit.algebra.bounds import all_bounds
from rewardkit.algebra.direction import Direction
from rewardkit.algebra.operation import Expression


def directions(root: Expression) -> dict[Expression, Direction]:
    """Which way the total moves when a node rises, for every node; over all the places where a shared node stands."""
    intervals = all_bounds(root)
    nodes = list(root.walk())
    direction_of = dict.fromkeys(nodes, Direction.NONE)
    direction_of[root] = Direction.RISES
    for node in reversed(nodes):  # parents before operands
        operands = [intervals[a] for a in node.args]
        for i, operand in enumerate(node.args):
            direction_of[operand] = direction_of[operand].joined(
                node.operation.monotonicity(i, operands).then(direction_of[node])
            )
    return direction_of
