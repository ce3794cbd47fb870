"""Stage one over one batch: which term runs on which rows, in which order, and what that cost.

Equal rows run once; a branch of ``when`` or ``route`` only on the rows that take it; expensive operands last, on the
rows that the cheaper ones leave open; async terms together. Each operation says on which rows its operands matter.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Final, cast

import numpy as np
import numpy.typing as npt

from rewardkit.algebra.direction import Direction
from rewardkit.algebra.expression import Expression, TokenReward
from rewardkit.algebra.operation import Context
from rewardkit.algebra.term import Cost, Need, Term
from rewardkit.algebra.values import NOT_RUN, TermColumn, Values
from rewardkit.batch import Batch, Mask
from rewardkit.engine.combine import decided, evaluate
from rewardkit.engine.short_circuit import ShortCircuit, cost, is_expensive, is_late
from rewardkit.engine.term_runner import run_term
from rewardkit.processes.usage import Usage, metered

_DEDUPLICATE_FROM: Final = 2
"""Rows from which looking for equal ones can pay."""


@dataclass(slots=True)
class TermCost:
    """What one term's node cost over a batch."""

    seconds: float = 0.0
    """Wall time inside the term."""
    asked: int = 0
    """Rows on which its value could matter."""
    ran: int = 0
    """Rows that it ran on: equal rows run once."""
    usage: Usage = field(default_factory=Usage)
    """What it asked of other machines."""

    def add(self, other: TermCost) -> None:
        """Take in what it cost over another batch."""
        self.seconds += other.seconds
        self.asked += other.asked
        self.ran += other.ran
        self.usage.add(other.usage)


class Scheduler:
    """One pass over one batch, done when it is built: ``columns`` is what the terms said, ``costs`` what they cost."""

    def __init__(
        self,
        root: Expression,
        directions: Mapping[Expression, Direction],
        short_circuits: Mapping[Expression, Sequence[ShortCircuit]],
        batch: Batch,
        *,
        deadline: float | None = None,
    ) -> None:
        self.batch = batch
        self._deadline = deadline
        self.columns: dict[Expression, TermColumn] = {
            node: TermColumn.unrun(len(batch), tokens=isinstance(node, TokenReward))
            for node in root.walk()
            if node.term is not None
        }
        self.costs = {node: TermCost() for node in self.columns}
        self._directions, self._short_circuits = directions, short_circuits
        self._keys: dict[frozenset[Need], npt.NDArray[np.intp] | None] = {}
        self._put_off: dict[Expression, Mask] = {}
        self.ask(root, np.ones(len(batch), dtype=np.bool_))
        self._await()

    def ask(self, node: Expression, rows: Mask) -> None:
        """Run what is needed to know a node on some rows."""
        if rows.any():
            node.operation.demand(node, rows, self)

    def ask_open(self, node: Expression, rows: Mask) -> None:
        """Expensive operands last, on the rows that the cheaper ones leave open."""
        rules = self._short_circuits.get(node, ())
        later = {rule.operand for rule in rules}
        for i, operand in enumerate(node.args):
            if i not in later:
                self.ask(operand, rows)
        for rule in rules:
            deciders = [self.values(node.args[i]) for i in rule.deciders]
            still_open = ~np.logical_or.reduce([decided(rule, decider) for decider in deciders])
            self.ask(node.args[rule.operand], rows & still_open)

    def run(self, node: Expression, rows: Mask) -> None:
        """Run a term on some rows; one that waits for others when its values are wanted, together with all such."""
        if node.term is not None and _waits(node.term):
            self._put_off[node] = rows | self._put_off.get(node, np.zeros_like(rows))
        else:
            self._run(node, rows)

    def values(self, node: Expression) -> Values:
        """A node's values, as far as it was asked for."""
        if not self._put_off.keys().isdisjoint(node.walk()):
            self._await()
        context = Context(self.columns, self._directions, self.batch, self.batch.step, self.batch.groups)
        return evaluate(node, context, self._short_circuits)[node]

    cost = staticmethod(cost)
    is_expensive = staticmethod(is_expensive)
    is_late = staticmethod(is_late)

    def _await(self) -> None:
        """Run the async terms that were put off: all of them at once, since each mostly waits."""
        together, self._put_off = self._put_off, {}
        if len(together) < 2:
            for node, rows in together.items():
                self._run(node, rows)
            return
        for node in together:
            self._first_equal(node)  # before the threads, which share what it remembers
        with ThreadPoolExecutor(len(together), thread_name_prefix="rewardkit-async") as threads:
            list(threads.map(self._run, together.keys(), together.values()))

    def _run(self, node: Expression, rows: Mask) -> None:
        column = self.columns[node]
        todo = np.flatnonzero(rows & (column.statuses == NOT_RUN))
        if not len(todo):
            return
        first = self._first_equal(node)
        if first is None:
            batch = self.batch if len(todo) == len(self.batch) else self.batch.take(todo)
            column.put(cast(Sequence[int], todo), self._timed(node, batch, len(todo)))
            return
        # equal rows have one representative: the first of them in the batch
        representatives, place = np.unique(first[todo], return_inverse=True)
        part = self._timed(node, self.batch.take(representatives), len(todo))
        full = TermColumn(part.values[place], part.statuses[place])
        full.reasons = {i: part.reasons[int(p)] for i, p in enumerate(place) if int(p) in part.reasons}
        if part.tokens is not None:
            full.tokens = [part.tokens[int(p)] for p in place]
        column.put(cast(Sequence[int], todo), full)

    def _timed(self, node: Expression, batch: Batch, asked: int) -> TermColumn:
        costs = self.costs[node]
        start = time.perf_counter()
        with metered() as usage:
            part = run_term(node, batch, deadline=self._deadline)
        costs.usage.add(usage)
        costs.seconds += time.perf_counter() - start
        costs.asked += asked
        costs.ran += len(batch)
        return part

    def _first_equal(self, node: Expression) -> npt.NDArray[np.intp] | None:
        """For each row the first row that is equal in everything the term reads; None where all rows differ."""
        assert node.term is not None
        needs = node.term.needs(node) | node.term.reads
        if len(self.batch) < _DEDUPLICATE_FROM:
            return None
        if needs not in self._keys:
            self._keys[needs] = _equal_rows(self.batch, needs)
        return self._keys[needs]


def _waits(term: Term[Any, Any]) -> bool:
    return inspect.iscoroutinefunction(term.function) or (term.builtin and term.cost is Cost.REMOTE)


def _equal_rows(batch: Batch, needs: frozenset[Need]) -> npt.NDArray[np.intp] | None:
    """A term may read everything in a Sample that it declared, and extra_info only where it declared that."""
    if needs & {"extra_info", "tokens", "group", "turns", "chat"}:
        return None
    columns: list[Sequence[Any]] = [batch.responses]
    for need, column in (
        ("ground_truth", batch.ground_truths),
        ("prompt", batch.prompts),
        ("data_source", batch.data_sources),
        ("truncated", batch.truncated),
    ):
        if need in needs and column is not None:
            columns.append(column)
    try:
        columns = [column if _is_exact(column) else list(map(_key, column)) for column in columns]
    except RecursionError:
        return None
    seen: dict[Any, int] = {}
    keys = columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))
    first = np.fromiter((seen.setdefault(key, i) for i, key in enumerate(keys)), dtype=np.intp, count=len(batch))
    return None if len(seen) == len(batch) else first


_EXACT: Final = frozenset({str, type(None)})
"""Types whose equal values are the same in all that a term could see of them, and equal no value of another type."""
_EXACT_BESIDE: Final = (_EXACT | {int}, _EXACT | {bool})
"""The same holds of each of these sets, as long as no value is of another type."""


def _is_exact(column: Sequence[Any]) -> bool:
    """Whether Python's ``==`` on a column takes no two values for one that a term could tell apart."""
    types = set(map(type, column))
    return any(types <= exact for exact in _EXACT_BESIDE)


def _key(value: Any) -> Any:
    """What is equal for values that no term can tell apart; Python's own ``==`` takes 1, 1.0 and True for one."""
    if type(value) in _EXACT:
        return value
    if type(value) in (int, bool, float):
        return type(value), repr(value) if type(value) is float else value
    if type(value) in (list, tuple):
        return type(value), tuple(map(_key, value))
    return type(value), id(value)  # each is its own: what such an object calls equal may differ in its text
