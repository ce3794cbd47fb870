"""Compile a formula, run it on a batch.

A :class:`Program` is a formula with what was worked out once: its bounds, the polarity of its terms, the names in its
logs. It runs in two stages that together are one pass: :meth:`Program.leaves` runs the terms, each distinct one once,
equal rows once, a branch of ``when`` only on the rows that take it, and dear terms only where cheap ones leave the
value open; :meth:`Program.finish` is the arithmetic. A trainer that scores rows one by one and sees whole groups only
later calls the first where the rows are and the second where the groups are.
"""

from __future__ import annotations

import time
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, cast

import numpy as np
import numpy.typing as npt

from rewardkit.asking import Question, dearness, is_dear, questions, waits
from rewardkit.batch import Batch, Mask, Status
from rewardkit.column import NOT_RUN, Column, run_term
from rewardkit.declaration import Need
from rewardkit.errors import FormulaError, KindError
from rewardkit.evaluate import Context, Values, evaluate, route_choice, settled
from rewardkit.expression import Condition, Expression, Reward, TokenReward, as_reward
from rewardkit.intervals import Interval, all_bounds
from rewardkit.polarity import Polarity, polarities
from rewardkit.scores import Scores

_DEDUPLICATE_FROM: Final = 2
"""Rows from which looking for equal ones can pay."""


@dataclass(slots=True)
class Spent:
    """What one term's node cost over a batch."""

    seconds: float = 0.0
    """Wall time inside the term."""
    asked: int = 0
    """Rows on which its value could matter."""
    ran: int = 0
    """Rows that it ran on: equal rows run once."""

    def add(self, other: Spent) -> None:
        """Take in what it cost over another batch."""
        self.seconds += other.seconds
        self.asked += other.asked
        self.ran += other.ran


@dataclass(frozen=True, slots=True)
class Leaves:
    """What :meth:`Program.leaves` found: one column a term, and the batch they are about."""

    batch: Batch
    columns: Mapping[Expression, Column]
    spent: Mapping[Expression, Spent] = field(default_factory=dict)
    """Empty where the columns did not come from :meth:`Program.leaves`."""


@dataclass(frozen=True)
class Program:
    """A compiled formula. Build one with :func:`compile`."""

    reward: Reward | TokenReward
    _intervals: Mapping[Expression, Interval] = field(repr=False)
    _polarity: Mapping[Expression, Polarity] = field(repr=False)
    _questions: Mapping[Expression, Sequence[Question]] = field(repr=False)
    _names: Mapping[str, Expression] = field(repr=False)

    @property
    def bounds(self) -> Interval:
        """Between which numbers the total lies."""
        return self._intervals[self.reward]

    @property
    def names(self) -> tuple[str, ...]:
        """What is logged beside the total: each term, and each node with a name; in the order of the formula."""
        return tuple(self._names)

    @cached_property
    def terms(self) -> Mapping[str, Expression]:
        """The formula's terms, by their name in the logs."""
        return {name: node for name, node in self._names.items() if node.op == "term"}

    @cached_property
    def needs(self) -> frozenset[Need | str]:
        """What a row must hold: parts of a :class:`Sample`, and ``step`` for schedules."""
        found: set[Need | str] = set()
        for node in self.reward.walk():
            if node.term is not None:
                found |= node.term.needs(node)
            elif node.op == "schedule":
                found.add("step")
            elif node.op.startswith("group_"):
                found.add("group")
            elif node.op == "route":
                found.add("data_source" if node.param("by") == "data_source" else "extra_info")
            elif node.op in ("on", "spread"):
                found.add("tokens")
        return frozenset(found)

    def __call__(self, batch: Batch) -> Scores:
        """Score a batch. A term that fails gives rows without a value, never an exception.

        Raises:
            CompileError: the formula needs groups and the batch has none.
        """
        return self.finish(self.leaves(batch), step=batch.step, groups=batch.groups)

    def leaves(self, batch: Batch) -> Leaves:
        """Stage one: run the terms, each only where its value can matter."""
        run = _Run(self, batch)
        run.demand(self.reward, np.ones(len(batch), dtype=np.bool_))
        return Leaves(batch, run.columns, run.spent)

    def finish(self, leaves: Leaves, *, step: int | None = None, groups: Sequence[Hashable] | None = None) -> Scores:
        """Stage two: the arithmetic over what stage one found.

        Args:
            leaves: from :meth:`leaves` on the same rows.
            step: the training step, for schedules; None takes each schedule's first value.
            groups: one entry a row, equal for responses of one prompt; None where there are no groups.

        Raises:
            CompileError: the formula needs groups and none came.
        """
        found = self.trace(leaves, step=step, groups=groups)
        root = self._floored(found[self.reward])
        return Scores(
            total=root.value,
            status=root.status,
            values={name: found[node].value for name, node in self._names.items()},
            statuses={name: _public(found[node].status) for name, node in self._names.items()},
            reasons={name: leaves.columns[node].reasons for name, node in self.terms.items()},
            pieces=root.pieces,
            texts=leaves.batch.responses,
        )

    def trace(
        self, leaves: Leaves, *, step: int | None = None, groups: Sequence[Hashable] | None = None
    ) -> Mapping[Expression, Values]:
        """Every node's value and status on every row, for explanations; arguments and errors as for :meth:`finish`.

        A row's total differs from its root's value in one case: a failure in a place of mixed polarity pays the floor.
        """
        return evaluate(
            self.reward, Context(leaves.columns, self._polarity, self._questions, leaves.batch, step, groups)
        )

    def _floored(self, root: Values) -> Values:
        """Rows with a policy-caused failure in a place of mixed polarity get the least that the formula can pay."""
        status = _public(root.status)
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
            from rewardkit.placement import Piece

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
        from rewardkit.text import parse

        reward = parse(reward)
    if isinstance(reward, Condition) and not isinstance(reward, Reward):
        raise KindError(f"compile got a Condition, {reward!r}", hint="pay it with when(condition, 1, 0)")
    root = reward if isinstance(reward, TokenReward) else as_reward(reward, "compile")
    intervals = all_bounds(root)
    return Program(root, intervals, polarities(root), questions(root, intervals), _log_names(root))


def _log_names(root: Expression) -> dict[str, Expression]:
    """A name for every term and every named node, unique and stable: the order of the formula decides.

    A term that is named takes that name; a second term of the same name becomes ``length_2``.
    """
    named: dict[str, Expression] = {}
    bare: list[Expression] = []
    for node in root.walk():
        if node.op == "named":
            name = node.param("name")
            inner = node.args[0]
            if name in named:
                raise FormulaError(
                    f"two different nodes are named {name!r}: {named[name]!r} and {inner!r}", hint="rename one of them"
                )
            named[name] = inner
        elif node.op == "term":
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


class _Run:
    """One pass of stage one over one batch: which term runs on which rows."""

    def __init__(self, program: Program, batch: Batch) -> None:
        self.program = program
        self.batch = batch
        self.columns: dict[Expression, Column] = {
            node: Column.unrun(len(batch), tokens=isinstance(node, TokenReward))
            for node in program.reward.walk()
            if node.op == "term"
        }
        self.spent = {node: Spent() for node in self.columns}
        self._keys: dict[frozenset[Need], npt.NDArray[np.intp] | None] = {}

    def demand(self, node: Expression, rows: Mask) -> None:
        """Run what is needed to know ``node`` on ``rows``."""
        if not rows.any():
            return
        if node.op == "term":
            self._run(node, rows)
        elif node.op.startswith("group_"):
            self.demand(node.args[0], np.ones_like(rows))
        elif node.op == "when":
            self._demand_when(node, rows)
        elif node.op == "route":
            choice = route_choice(node, self.batch)
            for i, branch in enumerate(node.args):
                self.demand(branch, rows & (choice == i))
        elif node.op in ("and", "or"):
            self._demand_logic(node, rows)
        elif node in self.program._questions:
            self._demand_open(node, rows)
        else:
            for operand in node.args:
                self.demand(operand, rows)

    def _demand_when(self, node: Expression, rows: Mask) -> None:
        condition, then, otherwise = node.args
        self.demand(condition, rows)
        if waits(condition):
            self.demand(then, rows)
            self.demand(otherwise, rows)
            return
        value = self._values(condition).value
        self.demand(then, rows & (value == 1.0))
        self.demand(otherwise, rows & (value == 0.0))

    def _demand_logic(self, node: Expression, rows: Mask) -> None:
        """Cheap operands run everywhere, for the logs' sake; dear ones where the cheap ones leave it open."""
        decides = 0.0 if node.op == "and" else 1.0
        for operand in sorted(node.args, key=dearness):
            if is_dear(operand):
                for other in node.args:
                    if other is not operand and not waits(other):
                        found = self._values(other)
                        answered = (found.status == Status.SCORED) & ~found.floored
                        rows = rows & ~((found.value == decides) & answered)
            self.demand(operand, rows)

    def _demand_open(self, node: Expression, rows: Mask) -> None:
        """Dear operands last, on the rows that the cheaper ones leave open."""
        asked = self.program._questions[node]
        later = {question.operand for question in asked}
        for i, operand in enumerate(node.args):
            if i not in later:
                self.demand(operand, rows)
        for question in asked:
            deciders = [self._values(node.args[i]) for i in question.deciders]
            still_open = ~np.logical_or.reduce([settled(question, decider) for decider in deciders])
            self.demand(node.args[question.operand], rows & still_open)

    def _values(self, node: Expression) -> Values:
        program = self.program
        context = Context(
            self.columns, program._polarity, program._questions, self.batch, self.batch.step, self.batch.groups
        )
        return evaluate(node, context)[node]

    def _run(self, node: Expression, rows: Mask) -> None:
        column = self.columns[node]
        todo = np.flatnonzero(rows & (column.statuses == NOT_RUN))
        if not len(todo):
            return
        assert node.term is not None
        first = self._first_equal(node.term.needs(node) | node.term.reads)
        if first is None:
            batch = self.batch if len(todo) == len(self.batch) else self.batch.take(todo)
            column.put(cast(Sequence[int], todo), self._timed(node, batch, len(todo)))
            return
        # equal rows have one representative: the first of them in the batch
        representatives, place = np.unique(first[todo], return_inverse=True)
        part = self._timed(node, self.batch.take(representatives), len(todo))
        full = Column(part.values[place], part.statuses[place])
        full.reasons = {i: part.reasons[int(p)] for i, p in enumerate(place) if int(p) in part.reasons}
        if part.tokens is not None:
            full.tokens = [part.tokens[int(p)] for p in place]
        column.put(cast(Sequence[int], todo), full)

    def _timed(self, node: Expression, batch: Batch, asked: int) -> Column:
        spent = self.spent[node]
        start = time.perf_counter()
        part = run_term(node, batch)
        spent.seconds += time.perf_counter() - start
        spent.asked += asked
        spent.ran += len(batch)
        return part

    def _first_equal(self, needs: frozenset[Need]) -> npt.NDArray[np.intp] | None:
        """For each row the first row that is equal in everything the term reads; None where all rows differ."""
        if len(self.batch) < _DEDUPLICATE_FROM:
            return None
        if needs not in self._keys:
            self._keys[needs] = _equal_rows(self.batch, needs)
        return self._keys[needs]


def _equal_rows(batch: Batch, needs: frozenset[Need]) -> npt.NDArray[np.intp] | None:
    """A term may read everything in a Sample that it declared, and extra_info only where it declared that."""
    columns: list[Sequence[Any]] = [batch.responses]
    for need, column in (
        ("ground_truth", batch.ground_truths),
        ("prompt", batch.prompts),
        ("data_source", batch.data_sources),
        ("truncated", batch.truncated),
    ):
        if need in needs and column is not None:
            columns.append(column)
    if needs & {"extra_info", "tokens", "group"}:
        return None
    seen: dict[Any, int] = {}
    keys = columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))
    try:
        first = np.fromiter((seen.setdefault(key, i) for i, key in enumerate(keys)), dtype=np.intp, count=len(batch))
    except TypeError:  # an unhashable gold, such as a list
        return None
    return None if len(seen) == len(batch) else first
