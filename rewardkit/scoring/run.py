"""From a file to scored lines: read a chunk, score it, write it, forget it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rewardkit.batch import Batch
from rewardkit.declared import COLUMN_OF
from rewardkit.errors import DataError
from rewardkit.program import Program
from rewardkit.scores import Scores
from rewardkit.scoring.fields import OPTIONAL, SPELLINGS, BadRowAt, RawRow, column
from rewardkit.scoring.groups import first_rows, whole_groups
from rewardkit.scoring.profile import Profile
from rewardkit.scoring.reading import Chunk, Rows
from rewardkit.scoring.tally import Tally
from rewardkit.scoring.writing import Lines
from rewardkit.source import needs


def score_file(
    program: Program,
    data: Path,
    write: Callable[[str], object],
    *,
    step: int | None = None,
    limit: int | None = None,
    progress: Callable[[float, int], object] | None = None,
    profile: Profile | None = None,
) -> Tally:
    """Score the rows of a file, in order, in constant memory.

    Args:
        program: the compiled formula.
        data: JSON lines or parquet; :mod:`rewardkit.scoring.fields` says which columns are read.
        write: takes the text of scored rows, a chunk at a time.
        step: the training step, for schedules; None takes each schedule's first value.
        limit: score the first so many rows only; with a formula that needs groups, the last group is completed.
        progress: told the share of the file that is read, and the rows scored.
        profile: takes down where the time went.

    Raises:
        DataError: a row that can't be read or lacks what the formula needs, named by file and line; an empty file.
        MissingDependencyError: parquet without pyarrow.
    """
    fields = read_fields(program)
    source = Rows(data, dict.fromkeys((*fields, "group")))
    chunks = source.chunks()
    grouped = "group" in fields
    parts = whole_groups(source, chunks, limit) if grouped else first_rows(chunks, limit)
    lines, tally = Lines(program.names), Tally()
    profile = profile or Profile(program)
    for chunk in profile.reads(parts):
        with profile.stage("reading"):
            columns = _columns(source, chunk, fields)
        if not tally.rows:
            _check_present(source, columns, needed_fields(program) & OPTIONAL, chunk)
        scores = profile.score(Batch(**columns, step=step))
        if tally.first_reason is None:
            tally.first_reason = _first_reason(scores, source, chunk)
        tally.add(scores)
        with profile.stage("writing"):
            write(lines(scores, _groups(chunk)))
        if progress is not None:
            progress(chunk.done, tally.rows)
    if not tally.rows:
        raise DataError(f"{data} has no rows")
    return tally


def _groups(chunk: Chunk) -> list[Any] | None:
    """The rows' groups as they stand in the file, to be written beside the scores; None where no row has one."""
    (own,), (other,) = SPELLINGS["group"]
    groups = [row.get(own, row.get(other)) for row in chunk.rows]
    return groups if any(group is not None for group in groups) else None


def needed_fields(program: Program) -> frozenset[str]:
    """What scoring needs of a row. Placement needs tokens in a trainer, and no total depends on it."""
    return frozenset({"response", *(program.needs - {"tokens", "step"}), *needs(program.reward)})


def read_fields(program: Program) -> tuple[str, ...]:
    """What scoring reads of a row: what it needs, and what some term makes use of where a row has it."""
    used = {field for node in program.reward.walk() if node.term is not None for field in node.term.reads}
    wanted = needed_fields(program) | (used & OPTIONAL)
    return tuple(field for field in SPELLINGS if field in wanted)


def batch_of(row: RawRow, program: Program, *, step: int | None = None) -> Batch:
    """A batch of one row, a group of its own where the formula needs groups.

    Raises:
        BadRow: it lacks what the formula needs, or a field is of the wrong type.
    """
    fields = [f for f in read_fields(program) if f != "group"]
    columns = {COLUMN_OF[f]: column([row], f) for f in fields}
    if "tokens" not in fields and row.get("tokens") is not None:
        columns["tokens"] = column([row], "tokens")
    return Batch(**columns, groups=[0], step=step)


def _columns(source: Rows, chunk: Chunk, fields: Sequence[str]) -> dict[str, list[Any]]:
    try:
        return {COLUMN_OF[field]: column(chunk.rows, field) for field in fields}
    except BadRowAt as why:
        raise source.error(chunk.numbers[why.index], why) from None


def _check_present(source: Rows, columns: dict[str, list[Any]], needed: frozenset[str], chunk: Chunk) -> None:
    """A field that the formula needs and no row has is a misnamed column, not a file of bad rows."""
    for field in sorted(needed):
        if all(value is None or value == {} for value in columns[COLUMN_OF[field]]):
            names = [".".join(path) for path in SPELLINGS[field]]
            known = ", ".join(f"`{name}`" for name in chunk.rows[0])
            raise DataError(
                f"the formula needs `{field}`, and none of the first {len(chunk.rows):,} rows of {source.path} has it; "
                f"the first row's fields are {known}",
                hint=f"name it {' or '.join(f'`{name}`' for name in names)}",
            )


def _first_reason(scores: Scores, source: Rows, chunk: Chunk) -> str | None:
    for name, reasons in scores.reasons.items():
        for row in sorted(reasons):
            if scores.unscored[row]:
                last = reasons[row].strip().splitlines()[-1]  # of a traceback, the line that says what went wrong
                return f"{source.where(chunk.numbers[row])}: {name}: {last}"
    return None
