"""Compile a formula, run it on a batch.

A :class:`Program` is a formula with what was worked out once: its bounds, the direction of its terms, the names in its
logs. It runs in two stages that together are one pass: :meth:`Program.leaves` runs the terms, each distinct one once,
equal rows once, a branch of ``when`` only on the rows that take it, and expensive terms only where cheap ones leave the
value open; :meth:`Program.finish` is the arithmetic. A trainer that scores rows one by one and sees whole groups only
later calls the first where the rows are and the second where the groups are.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from rewardkit.algebra.bounds import all_bounds
from rewardkit.algebra.direction import Direction
from rewardkit.algebra.expression import Condition, Expression, Reward, TokenReward, as_reward
from rewardkit.algebra.interval import Interval
from rewardkit.algebra.monotonicity import directions
from rewardkit.algebra.operation import Context
from rewardkit.algebra.operations.naming import Named
from rewardkit.algebra.values import NOT_RUN, Piece, TermColumn, Values
from rewardkit.batch import Batch, Status
from rewardkit.engine.combine import evaluate
from rewardkit.engine.scheduler import Scheduler, TermCost
from rewardkit.engine.scores import Scores
from rewardkit.engine.short_circuit import ShortCircuit, short_circuits
from rewardkit.errors import FormulaError, KindError

_LARGEST: Final = float(np.finfo(np.float32).max)


@dataclass(frozen=True, slots=True)
class Leaves:
    """What :meth:`Program.leaves` found: one column a term, and the batch they are about."""

    batch: Batch
    columns: Mapping[Expression, TermColumn]
    costs: Mapping[Expression, TermCost] = field(default_factory=dict)
    """Empty where the columns did not come from :meth:`Program.leaves`."""


@dataclass(frozen=True)
class Program:
    """A compiled formula. Build one with :func:`compile`."""

    reward: Reward | TokenReward
    _intervals: Mapping[Expression, Interval] = field(repr=False)
    directions: Mapping[Expression, Direction] = field(repr=False)
    """Which way the total moves when a node rises."""
    _short_circuits: Mapping[Expression, Sequence[ShortCircuit]] = field(repr=False)
    _names: Mapping[str, Expression] = field(repr=False)

    @property
    def bounds(self) -> Interval:
        """Between which numbers the total lies."""
        return self._intervals[self.reward]

    @property
    def names(self) -> tuple[str, ...]:
        """What is logged beside the total: each term, and each node with a name; in the order of the formula."""
        return tuple(self._names)

    @property
    def named(self) -> Mapping[str, Expression]:
        """The nodes that are logged, by their name."""
        return self._names

    @cached_property
    def terms(self) -> Mapping[str, Expression]:
        """The formula's terms, by their name in the logs."""
        return {name: node for name, node in self._names.items() if node.term is not None}

    @cached_property
    def needs(self) -> frozenset[str]:
        """What a row must hold: parts of a :class:`Sample`, and ``step`` for schedules."""
        return frozenset().union(*(node.operation.needs() for node in self.reward.walk()))

    def __call__(self, batch: Batch) -> Scores:
        """Score a batch. A term that fails gives rows without a value, never an exception.

        Raises:
            CompileError: the formula needs groups and the batch has none.
        """
        return self.finish(self.leaves(batch), step=batch.step, groups=batch.groups)

    def leaves(self, batch: Batch, *, deadline: float | None = None) -> Leaves:
        """Stage one: run the terms, each only where its value can matter.

        Args:
            batch: the rows.
            deadline: seconds of wall time that one call of a user's term may take, a row or, for a batched term, the
                batch; over it, these rows are ERROR and the others go on. User terms then run in another thread.
                None: no deadline. Terms of the vocabulary have deadlines of their own.
        """
        scheduler = Scheduler(self.reward, self.directions, self._short_circuits, batch, deadline=deadline)
        return Leaves(batch, scheduler.columns, scheduler.costs)

    def finish(self, leaves: Leaves, *, step: int | None = None, groups: Sequence[Hashable] | None = None) -> Scores:
        """Stage two: the arithmetic over what stage one found.

        Args:
            leaves: from :meth:`leaves` on the same rows.
            step: the training step, for schedules; None takes each schedule's first value.
            groups: one entry a row, equal for responses of one prompt; None where there are no groups.

        Raises:
            CompileError: the formula needs groups and none came.
        """
        values_of = self.trace(leaves, step=step, groups=groups)
        root = self._floored(values_of[self.reward])
        return Scores(
            total=root.value,
            status=root.status,
            values={name: values_of[node].value for name, node in self._names.items()},
            statuses={name: _public(values_of[node].status) for name, node in self._names.items()},
            reasons={name: leaves.columns[node].reasons for name, node in self.terms.items()},
            pieces=root.pieces,
            texts=leaves.batch.responses,
        )

    def trace(
        self, leaves: Leaves, *, step: int | None = None, groups: Sequence[Hashable] | None = None
    ) -> Mapping[Expression, Values]:
        """Every node's value and status on every row, for explanations. Arguments and errors as for :meth:`finish`.

        A row's total differs from its root's value in one case: a failure in a place of mixed direction pays the floor.
        """
        context = Context(leaves.columns, self.directions, leaves.batch, step, groups)
        return evaluate(self.reward, context, self._short_circuits)

    def _floored(self, root: Values) -> Values:
        """Rows with a policy-caused failure in a place of mixed direction get the least that the formula can pay.

        Trainers hold rewards in single precision, so that a total which is infinite there is an error of its row.
        """
        status = _public(root.status)
        if (beyond := np.abs(root.value) > _LARGEST).any():  # NaN is not
            status = np.where(beyond, np.int8(Status.ERROR), status).astype(np.int8)
            root = Values(np.where(beyond, np.nan, root.value), status, root.floored & ~beyond, root.pieces)
        rows = root.floored & ~np.isnan(root.value)
        if not rows.any():
            return Values(root.value, status, root.floored, root.pieces)
        floor = self.bounds.low
        if np.isfinite(floor):
            value = np.where(rows, floor, root.value)
        else:  # no floor to pay: not scored, and said so
            value = np.where(rows, np.nan, root.value)
            status = np.where(rows, np.int8(Status.ERROR), status).astype(np.int8)
        pieces = root.pieces
        if pieces is not None:
            kept = tuple(p.scaled((~rows).astype(np.float64)) for p in pieces)
            pieces = (*kept, Piece(np.where(rows, value, 0.0)))
        return Values(value, status, root.floored, pieces)


def compile(reward: Reward | TokenReward | float | str) -> Program:  # noqa: A001
    """Work out once what every batch needs.

    Args:
        reward: a formula, its text, or a plain number.

    Raises:
        FormulaError: text that doesn't parse, a Condition, or two different nodes under one name.
    """
    if isinstance(reward, str):
        from rewardkit.algebra.parse import parse

        reward = parse(reward)
    if isinstance(reward, Condition) and not isinstance(reward, Reward):
        raise KindError(f"compile got a Condition, {reward!r}", hint="pay it with when(condition, 1, 0)")
    root = reward if isinstance(reward, TokenReward) else as_reward(reward, "compile")
    intervals = all_bounds(root)
    return Program(root, intervals, directions(root), short_circuits(root, intervals), _log_names(root))


def _log_names(root: Expression) -> dict[str, Expression]:
    """A name for every term and every named node, unique and stable: the order of the formula decides.

    A term that is named takes that name; a second term of the same name becomes ``length_2``.
    """
    named: dict[str, Expression] = {}
    bare: list[Expression] = []
    for node in root.walk():
        if isinstance(node.operation, Named):
            name = node.operation.name
            inner = node.args[0]
            if name in named:
                raise FormulaError(
                    f"two different nodes are named {name!r}: {named[name]!r} and {inner!r}", hint="rename one of them"
                )
            named[name] = inner
        elif node.term is not None:
            bare.append(node)
    wanted = set(named.values())
    names: dict[str, Expression] = {}
    for node in bare:
        if node in wanted:
            continue
        assert node.term is not None
        name, i = node.term.name, 1
        while name in names or name in named:
            i += 1
            name = f"{node.term.name}_{i}"
        names[name] = node
    names.update(named)
    order = {node: i for i, node in enumerate(root.walk())}
    return dict(sorted(names.items(), key=lambda item: order[item[1]]))


def _public(status: npt.NDArray[np.int8]) -> npt.NDArray[np.int8]:
    """Rows that the plan left out are NOT_APPLICABLE to everyone else."""
    return np.where(status == NOT_RUN, np.int8(Status.NOT_APPLICABLE), status).astype(np.int8)
