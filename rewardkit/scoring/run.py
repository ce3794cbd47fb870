"""A chunk from its rows to what is written of it: the parts of the work that every engine does, wherever it runs.

An engine takes the chunks that :func:`read` cuts, in whatever process, has a :class:`Scorer` make a :class:`Part` of
each, in whatever process, and hands the parts over in the order of their rows (:mod:`rewardkit.scoring.files`). A cut
that another engine made would show: a term that matters on one row of a group runs on the whole chunk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

from rewardkit.batch import Batch
from rewardkit.engine.loading import needs
from rewardkit.engine.program import Program
from rewardkit.engine.read_guard import COLUMN_OF
from rewardkit.engine.scores import Scores, headline
from rewardkit.errors import DataError, listed
from rewardkit.scoring.fields import OPTIONAL, SPELLINGS, BadRowAt, RawRow, column, group_of
from rewardkit.scoring.groups import first_rows, whole_file, whole_groups
from rewardkit.scoring.profile import Profile
from rewardkit.scoring.reading import Chunk, Rows, Skipped
from rewardkit.scoring.tally import Tally

T = TypeVar("T")
Groups = Sequence[str | int | None]
Render = Callable[[Scores, Groups | None], T]
"""Makes what is written of scored rows, with their groups where they have any: text, or a table."""


@dataclass(frozen=True, slots=True)
class RequiredFields:
    """What of a row a program reads, and what of that no file may lack; plain data, for another process."""

    fields: tuple[str, ...]
    needed: frozenset[str]
    whole: bool = False
    """Whether the rows of a file are compared with each other, all of them."""


@dataclass(frozen=True, slots=True)
class Part(Generic[T]):
    """Rows that stand together in a file, scored.

    Attributes:
        path: the file.
        content: what is written of them; None where all rows of the part are skipped.
        tally: what they add to the summary.
        times: where their time went.
        groups: the groups that they are, each once; empty for a formula that needs none.
        done: the share of the file that is read, from 0 to 1.
    """

    path: Path
    content: T | None
    tally: Tally
    times: Profile
    groups: tuple[str | int, ...]
    done: float


def required_fields(program: Program) -> RequiredFields:
    """What a program reads of a row."""
    return RequiredFields(read_fields(program), needed_fields(program) & OPTIONAL, "batch" in program.needs)


def open_rows(path: Path, required: RequiredFields, *, skip_bad: bool = False) -> Rows:
    """Data to score. A row's group is read whether the formula needs it or not: it is written beside the scores.

    Args:
        path: a file, a pipe, or ``-``.
        required: what is read of a row.
        skip_bad: leave out rows that can't be read or lack what the formula needs.

    Raises:
        DataError: no such file, or it can't be read.
        MissingDependencyError: parquet or zstd without pyarrow.
    """
    return Rows(path, dict.fromkeys((*required.fields, "group")), skip_bad=skip_bad)


def read(source: Rows, required: RequiredFields, limit: int | None = None) -> Iterator[Chunk]:
    """The chunks of a file, each of which can be scored by itself. The last may hold nothing but skipped rows.

    Raises:
        DataError: a row that can't be read, a group in pieces, or a column that the formula needs and no row has.
    """
    chunks = source.chunks(limit)
    if source.skips:
        chunks = filter(None, (_usable(source, chunk, required) for chunk in chunks))
    parts = whole_groups(source, chunks, limit) if "group" in required.fields else first_rows(chunks, limit)
    if required.whole:
        parts = whole_file(source, parts)
    given = 0
    for chunk in parts:
        if not given:
            _check_present(source, columns(source, chunk, required.fields), required.needed, chunk)
        given += len(chunk.rows)
        yield replace(chunk, skipped=_taken(source, chunk.numbers[-1]))
    if (limit is None or given < limit) and source.skipped:
        yield Chunk([], [], 1.0, _taken(source, source.skipped[-1].row))


def _usable(source: Rows, chunk: Chunk, required: RequiredFields) -> Chunk | None:
    """The rows that can be scored; None where there is none."""
    try:
        columns(source, chunk, required.fields)
        return chunk
    except DataError:  # at least one can't be
        good = []
    for i, row in enumerate(chunk.rows):
        try:
            for field in required.fields:
                column([row], field)
            good.append(i)
        except BadRowAt as why:
            source.bad(chunk.numbers[i], why)
    return Chunk([chunk.rows[i] for i in good], [chunk.numbers[i] for i in good], chunk.done) if good else None


def _taken(source: Rows, up_to: int) -> tuple[Skipped, ...]:
    """The rows that were skipped up to a row, which the source then forgets. Those of a chunk's fields come late."""
    ordered = sorted(source.skipped, key=lambda skipped: skipped.row)
    source.skipped = [skipped for skipped in ordered if skipped.row > up_to]
    return tuple(ordered[: len(ordered) - len(source.skipped)])


class Scorer(Generic[T]):
    """Scores chunks by one program.

    Args:
        program: the compiled formula.
        render: makes what is written of scored rows.
        step: the training step, for schedules; None takes each schedule's first value.
    """

    def __init__(self, program: Program, render: Render[T], *, step: int | None = None) -> None:
        self._program = program
        self._render = render
        self._step = step
        self._fields = read_fields(program)

    def __call__(self, source: Rows, chunk: Chunk) -> Part[T]:
        """Score a chunk of a file.

        Raises:
            DataError: a row lacks what the formula needs, or a field is of the wrong type.
        """
        times, tally = Profile(self._program), Tally()
        tally.skip(chunk.skipped)
        if not chunk.rows:
            return Part(source.path, None, tally, times, (), chunk.done)
        with times.stage("reading"):
            given = columns(source, chunk, self._fields)
        scores = times.score(self._program, Batch(**given, step=self._step))
        tally.add(scores)
        tally.first_reason = _first_reason(scores, source, chunk)
        with times.stage("writing"):
            content = self._render(scores, _groups(chunk))
        groups = tuple(dict.fromkeys(given["groups"])) if "group" in self._fields else ()
        return Part(source.path, content, tally, times, groups, chunk.done)


def _groups(chunk: Chunk) -> list[Any] | None:
    """The rows' groups as they stand in the file, to be written beside the scores; None where no row has one."""
    groups = [group_of(row) for row in chunk.rows]
    return groups if any(group is not None for group in groups) else None


def needed_fields(program: Program) -> frozenset[str]:
    """What scoring needs of a row. Placement needs tokens in a trainer, and no total depends on it."""
    return frozenset({"response", *(program.needs - {"tokens", "step", "batch"}), *needs(program.reward)})


def read_fields(program: Program) -> tuple[str, ...]:
    """What scoring reads of a row: what it needs, and what some term makes use of where a row has it."""
    used = {field for node in program.reward.walk() if node.term is not None for field in node.term.reads}
    required = needed_fields(program) | (used & OPTIONAL)
    return tuple(field for field in SPELLINGS if field in required)


def batch_of(row: RawRow, program: Program, *, step: int | None = None) -> Batch:
    """A batch of one row, a group of its own where the formula needs groups.

    Raises:
        BadRow: it lacks what the formula needs, or a field is of the wrong type.
    """
    fields = [f for f in read_fields(program) if f != "group"]
    given = {COLUMN_OF[f]: column([row], f) for f in fields}
    if "tokens" not in fields and row.get("tokens") is not None:
        given["tokens"] = column([row], "tokens")
    return Batch(**given, groups=[0], step=step)


def columns(source: Rows, chunk: Chunk, fields: Sequence[str]) -> dict[str, list[Any]]:
    """Fields of a chunk's rows, checked, by the names that :class:`Batch` has for them.

    Raises:
        DataError: a field is missing or of the wrong type.
    """
    try:
        return {COLUMN_OF[field]: column(chunk.rows, field) for field in fields}
    except BadRowAt as why:
        raise source.error(chunk.numbers[why.index], why) from None


def _check_present(source: Rows, given: dict[str, list[Any]], needed: frozenset[str], chunk: Chunk) -> None:
    """A field that the formula needs and no row has is a misnamed column, not a file of bad rows."""
    for field in sorted(needed - {"turns", "chat"}):  # where there are none, the response is the only turn
        if all(value is None or value == {} for value in given[COLUMN_OF[field]]):
            names = [".".join(path) for path in SPELLINGS[field]]
            raise DataError(
                f"the formula needs `{field}`, and none of the first {len(chunk.rows):,} rows of {source.name} has it; "
                f"the first row's fields are {listed(chunk.rows[0])}",
                hint=f"name it {' or '.join(f'`{name}`' for name in names)}",
            )


def _first_reason(scores: Scores, source: Rows, chunk: Chunk) -> str | None:
    for name, reasons in scores.reasons.items():
        for row in sorted(reasons):
            if scores.unscored[row]:
                return f"{source.where(chunk.numbers[row])}: {name}: {headline(reasons[row])}"
    return None
