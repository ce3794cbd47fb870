"""The laws that every reward has to keep, whatever it pays for."""

from __future__ import annotations

import time
from typing import Final

import numpy as np

from rewardkit.algebra.operation import RELATIVE
from rewardkit.batch import Batch, Status
from rewardkit.engine.program import Program
from rewardkit.engine.scores import headline
from rewardkit.laws.law import Law, broken, close

DEADLINE_S: Final = 2.0
"""CPU seconds of this thread for a batch of a few responses. Rewards take microseconds; this long is a hang."""


def _bounded(program: Program, batch: Batch) -> None:
    scores, bounds = program(batch), program.bounds
    for row in np.flatnonzero(~scores.unscored).tolist():
        total = float(scores.total[row])
        slack = 1e-9 * max(1.0, abs(total))
        if not np.isfinite(total) or not bounds.low - slack <= total <= bounds.high + slack:
            broken("finite and within bounds", program, batch, [row], f"{total!r} is outside {bounds}")


def _scored(program: Program, batch: Batch) -> None:
    scores = program(batch)
    for name, statuses in scores.statuses.items():
        for row in np.flatnonzero(statuses == Status.ERROR).tolist():
            why = headline(scores.reasons.get(name, {}).get(row, "no reason was given"))
            broken("no errors", program, batch, [row], f"{name} failed: {why}")


def _honest(program: Program, batch: Batch) -> None:
    scores = program(batch)
    for row in range(len(batch)):
        if Status(int(scores.status[row])).is_unscored != bool(np.isnan(scores.total[row])):
            broken("honest statuses", program, batch, [row], f"status {scores.status[row]} with {scores.total[row]}")


def _deterministic(program: Program, batch: Batch) -> None:
    first, second = program(batch), program(batch)
    for row in range(len(batch)):
        if not close(first.total[row], second.total[row]):
            why = f"{first.total[row]:g} the first time, {second.total[row]:g} the second"
            broken("deterministic", program, batch, [row], why)


def _alone(program: Program, batch: Batch) -> None:
    if not RELATIVE.isdisjoint(program.needs):
        return
    together = program(batch)
    for row in range(len(batch)):
        alone = program(batch.take([row])).total[0]
        if not close(alone, together.total[row]):
            why = f"alone it is paid {alone:g}, in this batch {together.total[row]:g}"
            broken("the same alone and in a batch", program, batch, [row], why)


def _order(program: Program, batch: Batch) -> None:
    order = list(range(len(batch)))[::-1]
    straight, turned = program(batch), program(batch.take(order))
    for place, row in enumerate(order):
        a, b = straight.total[row], turned.total[place]
        if not np.isclose(a, b, rtol=1e-6, atol=1e-6, equal_nan=True):
            broken("order of rows does not matter", program, batch, [row], f"{a:g}, and {b:g} in the reverse order")


def _tensor(program: Program, batch: Batch) -> None:
    if batch.tokens is None:
        return
    scores, width = program(batch), max((len(t) for t in batch.tokens), default=0) + 1
    mask = np.asarray([[i < len(t) for i in range(width)] for t in batch.tokens], dtype=np.bool_)
    tensor = scores.token_rewards(mask, token_ends=lambda i: np.arange(2, 2 * len(batch.tokens[i]) + 2, 2))  # type: ignore[index]
    if tensor[~mask].any():
        broken("the tensor is 0 outside the response", program, batch, range(len(batch)), "it is not")
    for row in np.flatnonzero(mask.any(axis=1) & ~scores.unscored).tolist():
        total, scale = float(scores.total[row]), max(1.0, float(np.abs(tensor[row]).max()))
        if not np.isclose(tensor[row].sum(), total, rtol=1e-4, atol=1e-4 * scale):
            why = f"the tensor sums to {tensor[row].sum():g}, the total is {total:g}"
            broken("the tensor sums to the total", program, batch, [row], why)


def _swift(program: Program, batch: Batch) -> None:
    start = time.thread_time()
    program(batch)
    spent = time.thread_time() - start
    if spent > DEADLINE_S:
        why = f"{spent:.1f} CPU seconds for {len(batch)} responses"
        broken("within the deadline", program, batch, range(len(batch)), why)


ALWAYS: Final = (
    Law("bounded", "Every total is finite and within the formula's bounds.", _bounded),
    Law("no-errors", "No term fails on anything that a model may write.", _scored),
    Law("honest", "A row has a total exactly when its status says so.", _honest),
    Law("deterministic", "The same batch is paid the same twice.", _deterministic),
    Law("alone", "A response is paid the same alone and in a batch.", _alone),
    Law("order", "The order of the rows changes nothing.", _order),
    Law("tensor", "The token-level tensor sums to the total and is 0 outside the response.", _tensor),
    Law("deadline", f"A few responses take less than {DEADLINE_S:g} CPU seconds.", _swift),
)
