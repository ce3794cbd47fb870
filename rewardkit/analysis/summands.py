"""A formula as a weighted sum of parts."""

from __future__ import annotations

from collections.abc import Iterator

from rewardkit.algebra.operation import Expression
from rewardkit.algebra.operations.choice import When


def summands(node: Expression, weight: float = 1.0) -> Iterator[tuple[Expression, float]]:
    """What a formula is the sum of, each part with its weight; a `when` is one part."""
    below = None if isinstance(node.operation, When) else node.operation.addends(node, weight)
    if below is None:
        yield node, weight
    else:
        for operand, of in below:
            yield from summands(operand, of)
