"""How statuses compose.

ERROR and BAD_GOLD poison what is above them, except below ``observe`` and in a branch that the row doesn't take.
NOT_APPLICABLE steps out of ``+``, mean, minimum and maximum, and passes through everything else. Conditions follow
Kleene's logic, with both kinds as "unknown". A policy-caused status has a value and composes like any other; a node
shows it when all its operands that some response can change do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from rewardkit.algebra.operation import Expression
from rewardkit.algebra.values import NOT_RUN, Values
from rewardkit.batch import POLICY_CAUSED, UNSCORED, Floats, Mask, Status, Statuses

_GONE: Final = (int(Status.NOT_APPLICABLE), NOT_RUN)
_POLICY: Final = tuple(POLICY_CAUSED)
_UNSCORED: Final = tuple(UNSCORED)


def failed(status: Statuses) -> Mask:
    """Rows that the policy failed on."""
    return np.isin(status, _POLICY)


def gone(status: Statuses) -> Mask:
    """Rows that a node has nothing to say about."""
    return np.isin(status, _GONE)


def strict(node: Expression, operands: Sequence[Values], value: Floats) -> Values:
    """A value that is not there where one operand is NOT_APPLICABLE."""
    status = _shared_policy(node, operands)
    for v in operands:
        status[gone(v.status)] = Status.NOT_APPLICABLE
    return _closed(value, _faults(operands, status), operands)


def folding(
    node: Expression, operands: Sequence[Values], value: Floats, deciding: Sequence[Expression] | None = None
) -> Values:
    """A value that NOT_APPLICABLE operands step out of; it is not there where all that decide, or else all, are."""
    status = _shared_policy(node, operands)
    out = [gone(v.status) for a, v in zip(node.args, operands, strict=True) if deciding is None or a in deciding]
    status[np.logical_and.reduce(out)] = Status.NOT_APPLICABLE
    return _closed(value, _faults(operands, status), operands)


def _shared_policy(node: Expression, operands: Sequence[Values]) -> Statuses:
    """A policy-caused status where every operand that counts has one, SCORED elsewhere."""
    status: Statuses = np.zeros(len(operands[0].value), dtype=np.int8)
    counted = [v for a, v in zip(node.args, operands, strict=True) if not a.operation.constant]
    if not counted:
        return status
    fails = [failed(v.status) for v in counted]
    everyone = np.logical_and.reduce([f | gone(v.status) for f, v in zip(fails, counted, strict=True)])
    for v, f in zip(reversed(counted), reversed(fails), strict=True):  # the first of them has the last word
        rows = everyone & f
        status[rows] = v.status[rows]
    return status


def _faults(operands: Sequence[Values], status: Statuses) -> Statuses:
    """BAD_GOLD, then ERROR, over what stood there."""
    for which in (Status.BAD_GOLD, Status.ERROR):
        for v in operands:
            status[v.status == which] = which
    return status


def _closed(value: Floats, status: Statuses, operands: Sequence[Values]) -> Values:
    """No value where the status says so; an overflow is an ERROR, never an infinity."""
    unscored = np.isin(status, _UNSCORED)
    value = np.where(unscored, np.nan, value)
    overflown = ~unscored & ~np.isfinite(value)
    if overflown.any():
        status = np.where(overflown, np.int8(Status.ERROR), status).astype(np.int8)
        value = np.where(overflown, np.nan, value)
    floored = np.logical_or.reduce([v.floored for v in operands])
    return Values(value, status, floored)
