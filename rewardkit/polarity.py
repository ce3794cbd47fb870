"""Which way a formula's total moves when one of its terms moves.

A policy-caused failure (no answer, two answers, over a limit) is paid at the end of the term's bounds that is worst for
the *total*: the low end where the total rises with the term, the high end where it falls (``1 - gsm8k()``), and the
formula's own floor where it does both, so that no spelling of a formula pays for not answering.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntFlag

from rewardkit.expression import Expression
from rewardkit.intervals import Interval, all_bounds


class Polarity(IntFlag):
    """The directions in which the total may move when the node rises."""

    NONE = 0
    RISES = 1
    FALLS = 2
    MIXED = 3

    @property
    def flipped(self) -> Polarity:
        """The same place below a minus sign."""
        swapped = (Polarity.FALLS if self & Polarity.RISES else Polarity.NONE) | (
            Polarity.RISES if self & Polarity.FALLS else Polarity.NONE
        )
        return Polarity(swapped)


def polarities(root: Expression) -> dict[Expression, Polarity]:
    """The polarity of every node of a formula; over all the places where a shared node stands."""
    intervals = all_bounds(root)
    found: dict[Expression, Polarity] = dict.fromkeys(root.walk(), Polarity.NONE)
    found[root] = Polarity.RISES
    for node in reversed(list(root.walk())):  # parents before operands
        for i, operand in enumerate(node.args):
            found[operand] |= _below(node, i, found[node], intervals)
    return found


def _below(node: Expression, i: int, own: Polarity, intervals: Mapping[Expression, Interval]) -> Polarity:
    if own is Polarity.NONE or node.op == "observe":
        return Polarity.NONE
    if node.op in ("neg", "not"):
        return own.flipped
    if node.op in ("lt", "le"):
        return own.flipped if i == 0 else own
    if node.op in ("gt", "ge"):
        return own if i == 0 else own.flipped
    if node.op == "div":
        return own if node.args[1].param("value") > 0 else own.flipped
    if node.op == "mul":
        others = Interval(1.0, 1.0)
        for j, other in enumerate(node.args):
            if j != i:
                others = others * intervals[other]
        return _signed(own, others)
    if node.op == "when" and i == 0:
        then, otherwise = intervals[node.args[1]], intervals[node.args[2]]
        if then.low >= otherwise.high:
            return own
        return own.flipped if then.high <= otherwise.low else Polarity.MIXED
    return own


def _signed(own: Polarity, factor: Interval) -> Polarity:
    if factor.low >= 0:
        return own
    return own.flipped if factor.high <= 0 else Polarity.MIXED
