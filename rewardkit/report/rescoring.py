"""A formula over the texts of a dump, for dumps that lack the terms: the trainer of verl 0.9 writes totals only.

The logged total stays the total. Where the formula's own differs from it, that is counted: another formula was at work,
or another version of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from rewardkit.algebra.operation import RELATIVE
from rewardkit.batch import Batch
from rewardkit.engine.program import Program
from rewardkit.engine.read_guard import COLUMN_OF
from rewardkit.errors import DataError, listed
from rewardkit.report.chunk import Rollouts
from rewardkit.scoring.fields import OPTIONAL, SPELLINGS, BadRowAt, column
from rewardkit.scoring.run import needed_fields, read_fields

MOST_TOGETHER: Final = 65_536
"""Rows of one file that a formula may compare with each other; a step of a trainer has thousands."""
_NEAR: Final = 1e-4
"""Trainers log single-precision sums over tokens."""


class Rescoring:
    """Puts a formula's terms in the place of logged ones.

    Args:
        program: the compiled formula.
    """

    def __init__(self, program: Program) -> None:
        self._program = program
        self._fields = [field for field in read_fields(program) if field != "group"]
        self._needed = needed_fields(program) & OPTIONAL
        self.compared = 0
        """Rows with a logged total and one by the formula."""
        self.differ = 0
        """Of these, how many differ."""

    def chunks(self, chunks: Iterable[tuple[int, Rollouts]]) -> Iterator[tuple[int, Rollouts]]:
        """The same rows with the formula's terms.

        Raises:
            DataError: the rows lack what the formula needs.
        """
        for number, rows in chunks if RELATIVE.isdisjoint(self._program.needs) else _whole_files(chunks):
            yield number, self._scored(rows)

    def _scored(self, rows: Rollouts) -> Rollouts:
        if rows.responses is None:
            raise DataError("--reward needs the texts, and scores have none", hint="give the scored file: --data FILE")
        if rows.groups is None and "group" in self._program.needs:
            raise DataError(f"{rows.where(0)}: the formula compares the responses of a prompt, and there are no groups")
        try:
            columns = {COLUMN_OF[field]: column(rows.rows, field) for field in self._fields}
        except BadRowAt as why:
            raise DataError(f"{rows.where(why.index)}: {why}") from None
        for field in sorted(self._needed - {"turns", "chat"}):
            if all(value is None or value == {} for value in columns[COLUMN_OF[field]]):
                names = listed(".".join(path) for path in SPELLINGS[field])
                raise DataError(
                    f"{rows.where(0)}: the formula needs `{field}`, and the dump has none; expected {names}"
                )
        steps = np.zeros(len(rows), dtype=np.int64) if rows.steps is None else rows.steps
        total = np.full(len(rows), np.nan)
        terms = {name: np.full(len(rows), np.nan) for name in self._program.names}
        statuses = {name: np.zeros(len(rows), dtype=np.int8) for name in self._program.names}
        for step in np.unique(steps).tolist():
            here = np.flatnonzero(steps == step)
            scores = self._program(_batch(rows, columns, here.tolist(), step))
            total[here] = scores.total
            for name in self._program.names:
                terms[name][here], statuses[name][here] = scores.values[name], scores.statuses[name]
        both = np.isfinite(total) & np.isfinite(rows.total)
        self.compared += int(both.sum())
        apart = np.abs(total[both] - rows.total[both])
        self.differ += int((apart > _NEAR * np.maximum(1.0, np.abs(total[both]))).sum())
        return replace(rows, terms=terms, statuses=statuses)


def _batch(rows: Rollouts, columns: dict[str, list[Any]], here: Sequence[int], step: int) -> Batch:
    return Batch(
        **{name: [values[i] for i in here] for name, values in columns.items()},
        groups=None if rows.groups is None else [rows.groups[i] for i in here],
        step=None if rows.steps is None else step,
    )


def _whole_files(chunks: Iterable[tuple[int, Rollouts]]) -> Iterator[tuple[int, Rollouts]]:
    """All rows of a file together: its groups are whole then."""
    held: list[Rollouts] = []
    current = -1
    for number, rows in chunks:
        if number != current and held:
            yield current, _joined(held)
            held = []
        current = number
        held.append(rows)
        if sum(map(len, held)) > MOST_TOGETHER:
            raise DataError(
                f"{held[0].where(0)}: the formula compares rows with each other, and the file has over "
                f"{MOST_TOGETHER:,} rows; expected one file a step"
            )
    if held:
        yield current, _joined(held)


def _joined(parts: Sequence[Rollouts]) -> Rollouts:
    if len(parts) == 1:
        return parts[0]
    starts = np.cumsum([0, *map(len, parts)])

    def where(i: int) -> str:
        part = int(np.searchsorted(starts, i, side="right")) - 1
        return parts[part].where(i - int(starts[part]))

    def together(values: Sequence[Any]) -> Any:
        return None if any(v is None for v in values) else [x for part in values for x in part]

    def arrays(values: Sequence[Any]) -> Any:
        return None if any(v is None for v in values) else np.concatenate(values)

    return Rollouts(
        where=where,
        total=np.concatenate([p.total for p in parts]),
        terms={},
        statuses={},
        steps=arrays([p.steps for p in parts]),
        groups=together([p.groups for p in parts]),
        responses=together([p.responses for p in parts]),
        prompts=together([p.prompts for p in parts]),
        ground_truths=together([p.ground_truths for p in parts]),
        advantages=arrays([p.advantages for p in parts]),
        rows=together([p.rows for p in parts]),
    )
