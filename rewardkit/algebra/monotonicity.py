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
    """Which way the total moves when a node rises, for every node; over all the places where a shared node stands.

    Places below a statistic of the group count only for nodes that stand nowhere else: a row moves its own value more
    than it moves the group's.
    """
    intervals = all_bounds(root)
    nodes = list(root.walk())
    own = dict.fromkeys(nodes, Direction.NONE)
    by_group = dict.fromkeys(nodes, Direction.NONE)
    own[root] = Direction.RISES
    for node in reversed(nodes):  # parents before operands
        operands = [intervals[a] for a in node.args]
        either = by_group[node] if own[node] is Direction.NONE else own[node]
        for i, operand in enumerate(node.args):
            moves = node.operation.monotonicity(i, operands)
            if node.operation.shared:
                by_group[operand] = by_group[operand].joined(moves.then(either))
            else:
                by_group[operand] = by_group[operand].joined(moves.then(by_group[node]))
                own[operand] = own[operand].joined(moves.then(own[node]))
    return {node: by_group[node] if own[node] is Direction.NONE else own[node] for node in nodes}
