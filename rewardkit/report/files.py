"""Which files a dump is made of, which layout they have, and their rows as columns, a chunk at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Final

from rewardkit.errors import DataError, listed
from rewardkit.report import scored, trl, verl
from rewardkit.report.chunk import Rollouts
from rewardkit.report.fields import Row, Where
from rewardkit.scoring.opening import KINDS, STDIN, files_in, name_of
from rewardkit.scoring.reading import Chunk, Rows

_LAYOUTS: Final = (trl, scored, verl)
_EXPECTED: Final = (
    "expected a folder that verl dumped (trainer.rollout_data_dir: lines with `output` and `score`), "
    "TRL's completions (`completion`), or what `rewardkit score --out` wrote (`score`, `total_status`, `terms`)"
)


@dataclass(frozen=True)
class Dump:
    """The files of one run, or one scored file.

    Attributes:
        path: what the user named.
        sources: its files, in the order of their steps.
        layout: who wrote them.
        data: the scored file, for the texts that scores lack.
        weights: what each of TRL's rewards counts for.
    """

    path: Path
    sources: tuple[Rows, ...]
    layout: str
    data: Path | None
    weights: Mapping[str, float] | None

    def chunks(self) -> Iterator[tuple[int, Rollouts]]:
        """Each chunk with the number of its file, from 0.

        Raises:
            DataError: a row that can't be read or is of another layout, or a data file of other length.
        """
        seen = 0
        for number, source in enumerate(self.sources):
            data = _ScoredFile(self.data) if self.data is not None else None
            for chunk in source.chunks():
                seen += len(chunk.rows)
                yield number, self._rollouts(source, chunk, data)
            if data is not None:
                data.end(seen, source)
        if not seen:
            raise DataError(f"{name_of(self.path)} has no rows")

    def _rollouts(self, source: Rows, chunk: Chunk, data: _ScoredFile | None) -> Rollouts:
        def where(i: int) -> str:
            return source.where(chunk.numbers[i])

        layout = next(module for module in _LAYOUTS if self.layout == module.NAME)
        for i, row in enumerate(chunk.rows):
            if not layout.is_row(row):
                raise DataError(f"{where(i)}: is not a row of a {self.layout}; its fields are {listed(row)}")
        if layout is trl:
            return trl.rollouts(chunk.rows, where, self.weights)
        if layout is scored:
            if data is None:
                return scored.rollouts(chunk.rows, where, None, None)
            return scored.rollouts(chunk.rows, where, data.take(len(chunk.rows), where), data.where)
        return verl.rollouts(chunk.rows, where)


def open_dump(path: Path, *, data: Path | None = None, weights: Mapping[str, float] | None = None) -> Dump:
    """Find a dump's files, and who wrote them.

    Raises:
        DataError: nothing there that can be read, or an option that this layout has no use for.
        MissingDependencyError: parquet without pyarrow.
    """
    sources = tuple(Rows(file, None) for file in _files(path))  # all columns: a dump's keys are the names of its terms
    begun, first = next(((source, row) for source in sources if (row := source.first()) is not None), (None, None))
    if begun is None or first is None:
        raise DataError(f"{name_of(path)} has no rows")
    layout = next((module.NAME for module in _LAYOUTS if module.is_row(first)), None)
    if layout is None and path.is_dir() and (path / "run.json").is_file():
        raise DataError(
            f"{path} is a run without its rollouts: verl dumps them where it is told to",
            hint="train with trainer.rollout_data_dir=DIR, then `rewardkit report DIR`",
        )
    if layout is None:
        raise DataError(f"{begun.name}: the first row's fields are {listed(first)}", hint=_EXPECTED)
    if data is not None and layout != scored.NAME:
        raise DataError(f"--data goes with scores that `rewardkit score` wrote; {path} is a {layout} and has its texts")
    if weights is not None and layout != trl.NAME:
        raise DataError(f"--weights goes with TRL's completions; {path} is a {layout} and has its total")
    if data is not None and len(sources) > 1:
        raise DataError(f"--data goes with one file of scores; {path} has {len(sources)}")
    return Dump(path, sources, layout, data, weights)


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        if path != STDIN and not os.path.exists(path):
            raise DataError(f"no file or folder {path}", hint=_EXPECTED)
        return [path]
    files = files_in(path)
    if not files:
        inside = [folder for depth in ("*", "*/*") for folder in sorted(path.glob(depth)) if _holds_data(folder)][:3]
        hint = f"such files are in {' and in '.join(map(str, inside))}" if inside else _EXPECTED
        raise DataError(f"{path} has no {' and no '.join(KINDS[:2])} file in it", hint=hint)
    return files


def _holds_data(folder: Path) -> bool:
    try:
        return folder.is_dir() and bool(files_in(folder))
    except (OSError, DataError):  # one that may not be read
        return False


class _ScoredFile:
    """The rows of the scored file, taken as the scores are read."""

    def __init__(self, path: Path) -> None:
        self._source = Rows(path, None)
        self._rows = chain.from_iterable(zip(c.rows, c.numbers, strict=True) for c in self._source.chunks())
        self._numbers: list[int] = []

    def take(self, n: int, where: Where) -> Sequence[Row]:
        taken = list(islice(self._rows, n))
        self._numbers = [number for _, number in taken]
        if len(taken) < n:
            raise DataError(
                f"{self._source.name} ends before {where(len(taken))}",
                hint="--data takes the file that `rewardkit score` scored, with all its rows",
            )
        return [row for row, _ in taken]

    def where(self, i: int) -> str:
        return self._source.where(self._numbers[i])

    def end(self, rows: int, scores: Rows) -> None:
        if next(self._rows, None) is not None:
            raise DataError(
                f"{self._source.name} has more rows than the {rows:,} of {scores.name}",
                hint="cut it to the rows that were scored (`rewardkit score --limit` takes the first)",
            )
