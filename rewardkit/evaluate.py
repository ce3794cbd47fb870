"""From the columns of a formula's terms to the value and status of every node: arithmetic on whole arrays, no text.

Statuses compose by four rules. ERROR and BAD_GOLD poison what is above them, except below ``observe`` and in a branch
that the row doesn't take. NOT_APPLICABLE steps out of ``+``, mean, minimum and maximum, and passes through everything
else. Conditions follow Kleene's logic, with both kinds as "unknown". A policy-caused status has a value and composes
like any other; a node shows it when all its operands that are not plain numbers do.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from rewardkit.asking import Question
from rewardkit.batch import Batch, Floats, Mask, Status, Statuses
from rewardkit.column import NOT_RUN, Column
from rewardkit.errors import CompileError
from rewardkit.expression import Expression, TokenReward
from rewardkit.intervals import payers
from rewardkit.placement import Piece
from rewardkit.polarity import Polarity

_GONE: Final = (int(Status.NOT_APPLICABLE), NOT_RUN)
_POLICY: Final = (Status.NO_ANSWER, Status.AMBIGUOUS, Status.LIMIT, Status.TIMEOUT)
_GROUP_EPSILON: Final = 1e-6
"""What GRPO adds to a group's standard deviation (verl, core_algos.py: compute_grpo_outcome_advantage)."""


@dataclass(frozen=True, slots=True)
class Values:
    """One node over all rows."""

    value: Floats
    """NaN where there is none."""
    status: Statuses
    floored: Mask
    """Rows that a failure of mixed polarity sends to the formula's floor."""
    pieces: tuple[Piece, ...] | None = None
    """For a TokenReward: where its value stands."""

    @property
    def known(self) -> Mask:
        """Rows that have a value."""
        return ~np.isnan(self.value)


@dataclass(frozen=True, slots=True)
class Context:
    """What the arithmetic may look at beside the terms' columns."""

    columns: Mapping[Expression, Column]
    polarity: Mapping[Expression, Polarity]
    questions: Mapping[Expression, Sequence[Question]]
    batch: Batch
    step: int | None
    groups: Sequence[Hashable] | None

    @property
    def n(self) -> int:
        """The number of rows."""
        return len(self.batch)


def evaluate(root: Expression, context: Context) -> dict[Expression, Values]:
    """The values of every node of a formula, each distinct node once."""
    found: dict[Expression, Values] = {}
    with np.errstate(invalid="ignore", over="ignore"):
        for node in root.walk():
            operands = [found[a] for a in node.args]
            for question in context.questions.get(node, ()):
                operands[question.operand] = _unasked(question, operands)
            found[node] = _RULES[node.op](node, operands, context)
    return found


def settled(question: Question, decider: Values) -> Mask:
    """The rows on which one operand decides without the dear one: it has a value, which the rest can't move."""
    final = (decider.value >= question.low) & (decider.value <= question.high)
    return final & ~decider.floored  # NaN is in no interval


def _unasked(question: Question, operands: Sequence[Values]) -> Values:
    """The dear operand, a copy of the deciding one where that decides; the first of several has the last word."""
    dear = operands[question.operand]
    value, status, floored = dear.value.copy(), dear.status.copy(), dear.floored.copy()
    for i in reversed(question.deciders):
        rows = settled(question, operands[i])
        value[rows], status[rows], floored[rows] = operands[i].value[rows], operands[i].status[rows], False
    return Values(value, status, floored)


def schedule_value(points: Sequence[tuple[int, float]], shape: str, step: int) -> float:
    """A schedule's value at a step."""
    steps = [s for s, _ in points]
    values = [v for _, v in points]
    if shape == "linear":
        return float(np.interp(step, steps, values))
    return values[max(0, int(np.searchsorted(steps, step, side="right")) - 1)]


# ---------------------------------------------------------------------------------------------------- statuses


def _is(status: Statuses, which: Sequence[int]) -> Mask:
    found: Mask = np.isin(status, which)
    return found


def _is_constant(node: Expression) -> bool:
    return node.op in ("number", "schedule")


def _shared_policy(node: Expression, operands: Sequence[Values], status: Statuses) -> Statuses:
    """Show a policy-caused status where every operand that counts has one."""
    counted = [v for a, v in zip(node.args, operands, strict=True) if not _is_constant(a) and a.op != "observe"]
    if not counted:
        return status
    out = status.copy()
    applies = [~_is(v.status, (Status.NOT_APPLICABLE, NOT_RUN)) for v in counted]
    fails = [_is(v.status, _POLICY) for v in counted]
    everyone = np.logical_and.reduce([f | ~a for f, a in zip(fails, applies, strict=True)])
    anyone = np.logical_or.reduce(fails)
    for v, f in zip(reversed(counted), reversed(fails), strict=True):  # the first of them has the last word
        rows = everyone & anyone & f & (status == Status.SCORED)
        out[rows] = v.status[rows]
    return out


def _faults(operands: Sequence[Values], status: Statuses) -> Statuses:
    """BAD_GOLD, then ERROR, over what stood there."""
    out = status.copy()
    for which in (Status.BAD_GOLD, Status.ERROR):
        for v in operands:
            out[v.status == which] = which
    return out


def _strict(node: Expression, operands: Sequence[Values], value: Floats) -> Values:
    """Operations that NOT_APPLICABLE passes through."""
    status = np.zeros(len(value), dtype=np.int8)
    status = _shared_policy(node, operands, status)
    for v in operands:
        status[_is(v.status, (Status.NOT_APPLICABLE, NOT_RUN))] = Status.NOT_APPLICABLE
    status = _faults(operands, status)
    return _closed(value, status, operands)


def _folding(node: Expression, operands: Sequence[Values], value: Floats) -> Values:
    """Operations that NOT_APPLICABLE steps out of."""
    deciding = payers(node) if node.op == "add" else node.args
    status = np.zeros(len(value), dtype=np.int8)
    status = _shared_policy(node, operands, status)
    out = np.logical_and.reduce(
        [_is(v.status, _GONE) for a, v in zip(node.args, operands, strict=True) if a in deciding]
    )
    status[out] = Status.NOT_APPLICABLE
    status = _faults(operands, status)
    return _closed(value, status, operands)


def _closed(value: Floats, status: Statuses, operands: Sequence[Values]) -> Values:
    """No value where the status says so; an overflow is an ERROR, never an infinity."""
    unscored = _is(status, (Status.NOT_APPLICABLE, Status.BAD_GOLD, Status.ERROR))
    value = np.where(unscored, np.nan, value)
    overflown = ~unscored & ~np.isfinite(value)
    if overflown.any():
        status = np.where(overflown, np.int8(Status.ERROR), status).astype(np.int8)
        value = np.where(overflown, np.nan, value)
    floored = np.logical_or.reduce([v.floored for v in operands])
    return Values(value, status, floored)


def _with_pieces(values: Values, pieces: tuple[Piece, ...] | None) -> Values:
    return Values(values.value, values.status, values.floored, pieces)


def _pieces_of(v: Values) -> tuple[Piece, ...]:
    """A plain reward stands on the last token; rows without a value hold none."""
    if v.pieces is not None:
        return v.pieces
    return (Piece(np.where(np.isnan(v.value), 0.0, v.value)),)


# ---------------------------------------------------------------------------------------------------- leaves


def _term(node: Expression, operands: Sequence[Values], context: Context) -> Values:
    assert node.term is not None
    column = context.columns[node]
    value, status = column.values.copy(), column.statuses.copy()
    failed = _is(status, _POLICY)
    floored = np.zeros(context.n, dtype=np.bool_)
    if failed.any():
        ends = node.term.failure_ends(node)
        polarity = context.polarity[node]
        worst = ends.high if polarity is Polarity.FALLS else ends.low
        if np.isfinite(worst):
            value[failed] = worst
            floored = failed & (polarity is Polarity.MIXED)
        else:
            status[failed] = Status.ERROR
            why = f"{node.term.name} has no bound to pay a failure at: declare @term(floor=(low, high))"
            column.reasons.update(dict.fromkeys(np.flatnonzero(failed).tolist(), why))
            failed = np.zeros(context.n, dtype=np.bool_)
    pieces: tuple[Piece, ...] | None = None
    if isinstance(node, TokenReward):
        assert column.tokens is not None
        scored = (status == Status.SCORED).astype(np.float64)
        pieces = (Piece(scored, "dense", dense=column.tokens), Piece(np.where(failed, value, 0.0)))
    return Values(value, status, floored, pieces)


def _number(node: Expression, operands: Sequence[Values], context: Context) -> Values:
    return _constant(node.param("value"), context.n)


def _schedule(node: Expression, operands: Sequence[Values], context: Context) -> Values:
    points = node.param("points")
    step = points[0][0] if context.step is None else context.step
    return _constant(schedule_value(points, node.param("shape"), step), context.n)


def _constant(value: float, n: int) -> Values:
    return Values(np.full(n, value), np.zeros(n, dtype=np.int8), np.zeros(n, dtype=np.bool_))


# ---------------------------------------------------------------------------------------------------- arithmetic


def _add(node: Expression, operands: Sequence[Values], context: Context) -> Values:
    total = np.zeros(context.n)
    for v in operands:
        total = total + np.where(v.known, v.value, 0.0)
    values = _folding(node, operands, total)
    if not isinstance(node, TokenReward):
        return values
    return _with_pieces(values, tuple(p for v in operands for p in _pieces_of(v)))


def _mul(node: Expression, operands: Sequence[Values], context: Context) -> Values:
    product = operands[0].value
    for v in operands[1:]:
        product = product * v.value
    values = _strict(node, operands, product)
    dense = [i for i, v in enumerate(operands) if v.pieces is not None]
    if not isinstance(node, TokenReward) or not dense:
        return values
    factor = np.ones(context.n)
    for i, v in enumerate(operands):
        if i != dense[0]:
            factor = factor * np.where(v.known, v.value, 0.0)
    return _with_pieces(values, tuple(p.scaled(factor) for p in _pieces_of(operands[dense[0]])))


def _scaled(node: Expression, operands: Sequence[Values], value: Floats, factor: float) -> Values:
    values = _strict(node, operands, value)
    pieces = operands[0].pieces
    if pieces is None:
        return values
    return _with_pieces(values, tuple(p.scaled(np.full(len(value), factor)) for p in pieces))


def _neg(node: Expression, operands: Sequence[Values], context: Context) -> Values:
    return _scaled(node, operands, -operands[0].value, -1.0)


def _div(node: Expression, operands: Sequence[Values], context: Context) -> Values:
    divisor = node.args[1].param("value")
    return _scaled(node, operands, operands[0].value / divisor, 1.0 / divisor)


def _clip(node: Expression, operands: Sequence[Values], context: Context) -> Values:
    return _strict(node, operands, np.clip(operands[0].value, node.param("low"), node.param("high")))


def _stack(operands: Sequence[Values]) -> Floats:
    return np.stack([v.value for v in operands])


def _minimum(node: Expression, operands: Sequence[Values], context: Context) -> Values:
    return _folding(node, operands, np.fmin.reduce(_stack(operands)))


def _maximum(node: Expression, operands: Sequence[Values], context: Context) -> Values:
    return _folding(node, operands, np.fmax.reduce(_stack(operands)))


def _mean(node: Expression, operands: Sequence[Values], context: Context) -> Values:
    known = np.stack([v.known for v in operands])
    total = np.where(known, _stack(operands), 0.0).sum(axis=0)
    return _folding(node, operands, total / np.maximum(known.sum(axis=0), 1))


# ---------------------------------------------------------------------------------------------------- conditions


def _comparison(op: str) -> Callable[[Expression, Sequence[Values], Context], Values]:
    compare = {"lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal}[op]

    def rule(node: Expression, operands: Sequence[Values], context: Context) -> Values:
        return _strict(node, operands, compare(operands[0].value, operands[1].value).astype(np.float64))

    return rule


def _logic(node: Expression, operands: Sequence[Values], context: Context) -> Values:
    """Kleene: one operand that decides is enough, whatever the others say or would have said.

    Where some decide, only those count: the row is SCORED if one of them is, and floored only if all of them are. So
    an operand that the plan left out, because another had decided, changes nothing.
    """
    decides = 0.0 if node.op == "and" else 1.0
    values = _strict(node, operands, np.full(context.n, 1.0 - decides))
    value, status, floored = values.value, values.status.copy(), values.floored.copy()
    settled = np.zeros(context.n, dtype=np.bool_)
    for v in operands:
        here = v.value == decides
        first = here & ~settled
        status[first] = v.status[first]
        status[here & (v.status == Status.SCORED)] = Status.SCORED
        floored[here] = v.floored[here] & (first | floored)[here]
        settled |= here
    return Values(np.where(settled, decides, value), status, floored)


def _not(node: Expression, operands: Sequence[Values], context: Context) -> Values:
    return _strict(node, operands, 1.0 - operands[0].value)


# ---------------------------------------------------------------------------------------------------- choice


def _choose(choice: npt.NDArray[np.intp], branches: Sequence[Values], kind: bool) -> Values:
    """For each row the branch of that number; rows with -1 are NOT_APPLICABLE."""
    n = len(choice)
    value, status = np.full(n, np.nan), np.full(n, Status.NOT_APPLICABLE, dtype=np.int8)
    floored = np.zeros(n, dtype=np.bool_)
    pieces: list[Piece] = []
    for i, branch in enumerate(branches):
        rows = choice == i
        value[rows], status[rows], floored[rows] = branch.value[rows], branch.status[rows], branch.floored[rows]
        if kind:
            pieces.extend(p.scaled(rows.astype(np.float64)) for p in _pieces_of(branch))
    status[status == NOT_RUN] = Status.NOT_APPLICABLE
    return Values(value, status, floored, tuple(pieces) if kind else None)


def _when(node: Expression, operands: Sequence[Values], context: Context) -> Values:
    condition = operands[0]
    choice = np.where(condition.value == 1.0, 0, np.where(condition.value == 0.0, 1, -1))
    chosen = _choose(choice, operands[1:], isinstance(node, TokenReward))
    status = np.where(choice < 0, condition.status, chosen.status).astype(np.int8)
    status[status == NOT_RUN] = Status.NOT_APPLICABLE
    return Values(chosen.value, status, chosen.floored | condition.floored, chosen.pieces)


def route_choice(node: Expression, batch: Batch) -> npt.NDArray[np.intp]:
    """For each row the number of its route; that of ``otherwise``, or -1, where no key equals."""
    keys, by = node.param("keys"), node.param("by")
    number_of = {key: i for i, key in enumerate(keys)}
    default = len(keys) if len(node.args) > len(keys) else -1
    if by == "data_source":
        found: Sequence[object] = batch.data_sources or [None] * len(batch)
    else:
        found = [info.get(by) for info in batch.extra_infos] if batch.extra_infos is not None else [None] * len(batch)
    return np.asarray([number_of.get(v, default) if isinstance(v, str) else default for v in found], dtype=np.intp)


def _route(node: Expression, operands: Sequence[Values], context: Context) -> Values:
    return _choose(route_choice(node, context.batch), operands, isinstance(node, TokenReward))


# ---------------------------------------------------------------------------------------------------- groups


def _by_group(node: Expression, v: Values, context: Context, rule: Callable[[Floats], Floats]) -> Values:
    if context.groups is None:
        raise CompileError(
            f"{node!r} compares the responses of one prompt, and no groups came",
            hint="give Batch(groups=...), one entry a row, equal for the responses of one prompt",
        )
    members: dict[Hashable, list[int]] = {}
    for row, group in enumerate(context.groups):
        if v.known[row]:
            members.setdefault(group, []).append(row)
    value = np.full(context.n, np.nan)
    for rows in members.values():
        value[rows] = rule(v.value[rows])
    return _strict(node, [v], value)


def _group_share(node: Expression, v: Values, context: Context) -> Values:
    """Rows that failed are members of their group, and agree with nobody: their share is the worst that there is."""
    failed = _is(v.status, _POLICY)
    alone = np.where(failed, np.inf, v.value)  # no value of a formula is infinite
    marked = Values(np.where(v.known, alone, np.nan), v.status, v.floored)
    shares = _by_group(node, marked, context, share)
    worst = 1.0 if context.polarity[node] is Polarity.FALLS else 0.0
    return Values(np.where(failed & shares.known, worst, shares.value), shares.status, shares.floored)


def share(x: Floats) -> Floats:
    """The share of the values that equal each."""
    shares: Floats = (x[None, :] == x[:, None]).mean(axis=1)
    return shares


def zscore(x: Floats) -> Floats:
    """``(x - mean) / (std + 1e-6)``, standard deviation over n - 1; 0 for one value."""
    if len(x) < 2:
        return np.zeros(len(x))
    scores: Floats = (x - x.mean()) / (x.std(ddof=1) + _GROUP_EPSILON)
    return scores


def minmax(x: Floats) -> Floats:
    """``(x - min) / (max - min)``; 0.5 where all are equal."""
    low, high = x.min(), x.max()
    if low == high:
        return np.full(len(x), 0.5)
    places: Floats = (x - low) / (high - low)
    return places


def rank(x: Floats) -> Floats:
    """Mean ranks from 0 to 1; 0.5 where all are equal."""
    if len(x) < 2:
        return np.full(len(x), 0.5)
    below = (x[None, :] < x[:, None]).sum(axis=1)
    equal = (x[None, :] == x[:, None]).sum(axis=1) - 1
    ranks: Floats = (below + equal / 2) / (len(x) - 1)
    return ranks


# ---------------------------------------------------------------------------------------------------- the rest


def _named(node: Expression, operands: Sequence[Values], context: Context) -> Values:
    return operands[0]


def _observe(node: Expression, operands: Sequence[Values], context: Context) -> Values:
    values = _constant(0.0, context.n)
    return _with_pieces(values, ()) if isinstance(node, TokenReward) else values


def _total(node: Expression, operands: Sequence[Values], context: Context) -> Values:
    return _with_pieces(operands[0], None)


def _placed(node: Expression, operands: Sequence[Values], context: Context) -> Values:
    v = operands[0]
    amount = np.where(v.known, v.value, 0.0)
    pattern = node.param("pattern") if node.op == "on" else ""
    return _with_pieces(v, (Piece(amount, node.op, pattern),))


_RULES: Final[Mapping[str, Callable[[Expression, Sequence[Values], Context], Values]]] = {
    "add": _add,
    "and": _logic,
    "clip": _clip,
    "div": _div,
    "ge": _comparison("ge"),
    "group_minmax": lambda node, operands, context: _by_group(node, operands[0], context, minmax),
    "group_rank": lambda node, operands, context: _by_group(node, operands[0], context, rank),
    "group_share": lambda node, operands, context: _group_share(node, operands[0], context),
    "group_zscore": lambda node, operands, context: _by_group(node, operands[0], context, zscore),
    "gt": _comparison("gt"),
    "le": _comparison("le"),
    "lt": _comparison("lt"),
    "maximum": _maximum,
    "mean": _mean,
    "minimum": _minimum,
    "mul": _mul,
    "named": _named,
    "neg": _neg,
    "not": _not,
    "number": _number,
    "observe": _observe,
    "on": _placed,
    "or": _logic,
    "route": _route,
    "schedule": _schedule,
    "spread": _placed,
    "term": _term,
    "total": _total,
    "when": _when,
}
