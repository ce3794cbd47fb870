"""From files to scored rows: an engine gives the parts in order, and here they are written and added up.

The engine of this process reads a chunk, scores it, writes it and forgets it. Groups lie within files: each file's rows
are cut by themselves, and a group that two files hold is an error.
"""

from __future__ import annotations

import glob
import re
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final, TypeVar

from rewardkit.errors import DataError
from rewardkit.program import Program
from rewardkit.scoring.profile import Profile, timed
from rewardkit.scoring.run import Part, Render, Scorer, open_rows, read, wanted
from rewardkit.scoring.tally import Tally
from rewardkit.scoring.writing import Lines

T = TypeVar("T")
_KINDS: Final = (".jsonl", ".parquet")


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
    """Score the rows of files as JSON lines, in order, in constant memory.

    Args:
        program: the compiled formula.
        data: JSON lines or parquet, a folder of such files, or a pattern; :mod:`rewardkit.scoring.fields` says which
            columns are read.
        write: takes the text of scored rows, a chunk at a time.
        step: the training step, for schedules; None takes each schedule's first value.
        limit: score the first so many rows only; with a formula that needs groups, the last group is completed.
        progress: told the share of the files that is read, and the rows scored.
        profile: takes down where the time went.

    Raises:
        DataError: a row that can't be read or lacks what the formula needs, named by file and line; no rows.
        MissingDependencyError: parquet without pyarrow.
    """
    files = data_files(data)
    parts = local_parts(program, files, Lines(program.names), step=step, limit=limit)
    return gather(parts, files, data, write, progress=progress, profile=profile or Profile(program))


def data_files(data: Path) -> tuple[Path, ...]:
    """The files that a path names: itself, a folder's, or those that match a pattern; by their numbers and names.

    Raises:
        DataError: a folder without such files, or a pattern that none matches.
    """
    if data.is_dir():
        found = [path for path in data.iterdir() if path.suffix in _KINDS and path.name[0] != "."]
        expected = f"{data} has no .jsonl and no .parquet file in it"
    elif not data.exists() and glob.has_magic(str(data)):
        found = [Path(name) for name in glob.glob(str(data), recursive=True)]
        expected = f"no file matches {data}"
    else:
        return (data,)
    files = [path for path in found if path.is_file()]
    if not files:
        raise DataError(expected)
    return tuple(sorted(files, key=lambda path: ([int(n) for n in re.findall(r"\d+", path.stem)], str(path))))


def local_parts(
    program: Program, files: Sequence[Path], render: Render[T], *, step: int | None = None, limit: int | None = None
) -> Generator[Part[T]]:
    """The engine of this process: the parts of files, one after another.

    Raises:
        DataError: a row that can't be read or lacks what the formula needs.
        MissingDependencyError: parquet without pyarrow.
    """
    fields, scorer = wanted(program), Scorer(program, render, step=step)
    left = limit
    for path in files:
        if left is not None and left <= 0:
            return
        source = open_rows(path, fields)
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
                write(part.content)
            if progress is not None:
                progress((place[part.path] + part.done) / len(files), tally.rows)
    if not tally.rows:
        raise DataError(f"{data} has no rows")
    return tally


def _check_groups(part: Part[T], seen: dict[int, Path]) -> None:
    for group in part.groups:
        first = seen.setdefault(hash(repr(group)), part.path)
        if first != part.path:
            raise DataError(
                f"{part.path}: the group {group!r} is in {first} too; expected all rows of a group in one file",
                hint="write the files so that none ends within a group and no two use one name for different groups",
            )
