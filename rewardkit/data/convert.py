"""From a source of problems to verl's parquet files: every row checked, then all of it written."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rewardkit.data.parquet import verl_row, write_parquet
from rewardkit.data.rows import Problem, Row, refuse
from rewardkit.data.sources import Source, open_source
from rewardkit.errors import BadRow, DataError


@dataclass(frozen=True, slots=True)
class Written:
    """What a conversion wrote.

    Attributes:
        files: rows by file.
        notes: what a reader of the rows would want to know.
    """

    files: dict[Path, int]
    notes: tuple[str, ...]


def convert(source: str, out: Path, *, split: str | None = None, limit: int | None = None) -> Written:
    """Write `OUT/SPLIT.parquet` for every split that a source offers.

    Args:
        source: FILE.jsonl, HUB_ID or reasoning-gym:DATASET.
        out: the folder.
        split: only this split; for a file, the split that it is.
        limit: at most so many rows a split.

    Raises:
        DataError: rows that are not usable, all named; then nothing is written.
        MissingDependencyError: the source's package or pyarrow is not installed.
    """
    if out.exists() and not out.is_dir():
        raise DataError(f"--out {out} is a file; expected a folder")
    opened = open_source(source, split, limit)
    given = Path(source).expanduser()
    for path in (out / f"{name}.parquet" for name in opened.splits):
        if path.exists() and given.exists() and path.samefile(given):
            raise DataError(f"--out {out} would replace {given}, which is read; expected another folder")
    problems = _check(opened)
    files = {
        out / f"{name}.parquet": [
            verl_row(p, data_source=opened.data_source, split=name, index=i) for i, (_, p) in enumerate(rows)
        ]
        for name, rows in problems.items()
    }
    write_parquet(files)
    notes = tuple(note for rows in problems.values() for note in _repeats(rows))
    return Written({path: len(rows) for path, rows in files.items()}, notes)


def _check(source: Source) -> dict[str, list[tuple[Row, Problem]]]:
    bad: list[tuple[str, BadRow]] = []
    good: dict[str, list[tuple[Row, Problem]]] = {}
    for name, rows in source.splits.items():
        good[name] = []
        for row in rows:
            try:
                good[name].append((row, source.problem(row.value)))
            except BadRow as why:
                bad.append((row.where, why))
    total = sum(map(len, source.splits.values()))
    if bad:
        raise refuse(bad, total)
    empty = [name for name, rows in good.items() if not rows]
    if empty:
        raise DataError(f"the source has no rows{f' in {empty[0]}' if total else ''}; nothing was written")
    return good


def _repeats(rows: list[tuple[Row, Problem]]) -> list[str]:
    """A note on questions that come twice with different ground truths: one of the two ground truths is wrong."""
    seen: dict[str, tuple[Row, Problem]] = {}
    notes = []
    for row, problem in rows:
        first_row, first = seen.setdefault(problem.question, (row, problem))
        if first.ground_truth != problem.ground_truth:
            notes.append(
                f"{row.where} asks the same as {first_row.where}, with the ground truth "
                f"{problem.ground_truth} instead of {first.ground_truth}"
            )
    return notes
