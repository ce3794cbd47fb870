"""From files to scored rows: an engine gives the parts in order, and here they are written and added up.

The engine of this process reads a chunk, scores it, writes it and forgets it. Groups lie within files: each file's rows
are cut by themselves, and a group that two files hold is an error.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TypeVar

from rewardkit.engine.program import Program
from rewardkit.errors import DataError
from rewardkit.scoring.opening import KINDS, by_number, files_in, name_of
from rewardkit.scoring.profile import Profile, timed
from rewardkit.scoring.run import Part, Render, Scorer, open_rows, read, required_fields
from rewardkit.scoring.tally import Tally
from rewardkit.scoring.writing import Lines

T = TypeVar("T")


def score_file(
    program: Program,
    data: Path,
    write: Callable[[str], object],
    *,
    step: int | None = None,
    limit: int | None = None,
    skip_bad: bool = False,
    progress: Callable[[float, int], object] | None = None,
    profile: Profile | None = None,
) -> Tally:
    """Score the rows of files as JSON lines, in order, in constant memory.

    Args:
        program: the compiled formula.
        data: JSON lines or parquet, plain or compressed; a pipe, or ``-`` for standard input; a folder of such files,
            or a pattern. :mod:`rewardkit.scoring.fields` says which columns are read.
        write: takes the text of scored rows, a chunk at a time.
        step: the training step, for schedules; None takes each schedule's first value.
        limit: score the first so many rows only; with a formula that needs groups, the last group is completed.
        skip_bad: leave out rows that can't be read or lack what the formula needs; the tally lists them.
        progress: told the share of the files that is read, and the rows scored.
        profile: takes down where the time went.

    Raises:
        DataError: a row that can't be read or lacks what the formula needs, named by file and line; no rows.
        MissingDependencyError: parquet without pyarrow.
    """
    files = data_files(data)
    parts = local_parts(program, files, Lines(program.names), step=step, limit=limit, skip_bad=skip_bad)
    return gather(parts, files, data, write, progress=progress, profile=profile or Profile(program))


def data_files(data: Path) -> tuple[Path, ...]:
    """The files that a path names: itself, a folder's, or those that match a pattern; by their numbers and names.

    Raises:
        DataError: a folder without such files, or a pattern that none matches.
    """
    if data.is_dir():
        paths = files_in(data)
        expected = f"{data} has no {' and no '.join(KINDS[:2])} file in it"
    elif not os.path.lexists(data) and glob.has_magic(str(data)):
        paths = [path for name in glob.glob(str(data), recursive=True) if (path := Path(name)).is_file()]
        expected = f"no file matches {data}"
    else:
        return (data,)
    if not paths:
        raise DataError(expected)
    return tuple(sorted(paths, key=by_number))


def local_parts(
    program: Program,
    files: Sequence[Path],
    render: Render[T],
    *,
    step: int | None = None,
    limit: int | None = None,
    skip_bad: bool = False,
) -> Generator[Part[T]]:
    """The engine of this process: the parts of files, one after another.

    Raises:
        DataError: a row that can't be read or lacks what the formula needs.
        MissingDependencyError: parquet or zstd without pyarrow.
    """
    fields, scorer = required_fields(program), Scorer(program, render, step=step)
    left = limit
    for path in files:
        if left is not None and left <= 0:
            return
        source = open_rows(path, fields, skip_bad=skip_bad)
        for chunk, seconds in timed(read(source, fields, left)):
            part = scorer(source, chunk)
            part.times.stages["reading"] += seconds
            yield part
            left = None if left is None else left - len(chunk.rows)


def gather(
    parts: Generator[Part[T]],
    files: Sequence[Path],
    data: Path,
    write: Callable[[T], object],
    *,
    progress: Callable[[float, int], object] | None = None,
    profile: Profile,
) -> Tally:
    """Write an engine's parts, and add up what they come to.

    Args:
        parts: in the order of the rows; closed at the end, whatever happens.
        files: what is scored.
        data: what the user calls them.
        write: takes the content of each part.
        progress: told the share of the files that is read, and the rows scored.
        profile: takes in where the time went.

    Raises:
        DataError: no rows, or a group that two files hold.
    """
    tally = Tally()
    place = {path: i for i, path in enumerate(files)}
    seen: dict[int, Path] = {}  # by hashes: 64 bits each, however long the groups' names
    with closing(parts):
        for part in parts:
            if len(files) > 1:
                _check_groups(part, seen)
            tally.merge(part.tally)
            profile.merge(part.times)
            with profile.stage("writing"):
                if part.content is not None:
                    write(part.content)
            if progress is not None:
                progress((place[part.path] + part.done) / len(files), tally.rows)
    if not tally.rows:
        if tally.skipped:
            raise DataError(f"all {tally.skipped:,} rows of {name_of(data)} are bad; the first: {tally.listed[0]}")
        raise DataError(f"{name_of(data)} has no rows")
    return tally


def _check_groups(part: Part[T], seen: dict[int, Path]) -> None:
    for group in part.groups:
        first = seen.setdefault(hash(repr(group)), part.path)
        if first != part.path:
            raise DataError(
                f"{part.path}: the group {group!r} is in {first} too; expected all rows of a group in one file",
                hint="write the files so that none ends within a group and no two use one name for different groups",
            )
