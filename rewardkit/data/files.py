"""Rows of a data file as people have them: JSON lines, a JSON array, parquet, Arrow, CSV; plain or compressed.

The scoring commands read JSON lines and parquet in constant memory; a data set is read once and fits in memory, so more
kinds are taken here.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import IO, Any, Final

from rewardkit.data.rows import Row
from rewardkit.errors import BadRow, DataError, MissingDependencyError
from rewardkit.scoring.opening import STDIN, name_of, open_input
from rewardkit.scoring.reading import Rows as Reader

SUFFIXES: Final = (
    ".jsonl",
    ".json",
    ".ndjson",
    ".parquet",
    ".arrow",
    ".feather",
    ".csv",
    ".tsv",
    ".gz",
    ".zst",
    ".bz2",
    ".xz",
)
"""What makes a name a file's, whether or not it is there."""
_LONGEST_FIELD: Final = 1 << 26


def file_rows(path: Path, limit: int | None) -> list[Row]:
    """The rows of a file; a row that can't be read holds its BadRow.

    Args:
        path: the file, a pipe, or `-`.
        limit: at most so many rows.

    Raises:
        DataError: no such file, or it can't be read at all.
        MissingDependencyError: parquet or Arrow without pyarrow.
    """
    read = _reader(path)
    if read is None:
        return _lines_or_parquet(path, limit)
    return list(islice(read(path), limit))


def _reader(path: Path) -> Callable[[Path], Iterator[Row]] | None:
    names = {suffix.lower() for suffix in path.suffixes}
    if names & {".csv", ".tsv"}:
        return _csv
    if path == STDIN or not path.is_file():
        return None
    with path.open("rb") as file:
        head = file.read(1 << 12)
    if head.startswith((b"ARROW1", b"\xff\xff\xff\xff")):
        return _arrow
    return _array if head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"[") else None


def _lines_or_parquet(path: Path, limit: int | None) -> list[Row]:
    source = Reader(path, None, unanswered=True, skip_bad=True)  # bad rows are all named together, later
    rows: list[Row] = []
    for chunk in source.chunks(limit):
        rows += [Row(source.where(n), value) for n, value in zip(chunk.numbers, chunk.rows, strict=True)]
        if limit is not None and len(rows) >= limit:
            break
    return [*(Row(skipped.where, BadRow(skipped.reason)) for skipped in source.skipped), *rows[:limit]]


def _array(path: Path) -> Iterator[Row]:
    with _text(path) as file:
        try:
            values = json.load(file)
        except UnicodeDecodeError as e:
            raise DataError(f"{path} is not UTF-8: byte {e.start} is {e.object[e.start]:#x}") from None
        except (ValueError, RecursionError) as e:
            raise DataError(f"{path} begins as a JSON array and can't be read: {e}") from None
    if not isinstance(values, list):
        raise DataError(f"{path} is a JSON {type(values).__name__}; expected an array of objects, or JSON lines")
    yield from (Row(f"{path}[{i}]", value) for i, value in enumerate(values))


def _csv(path: Path) -> Iterator[Row]:
    """Rows by the names of the first line. All values are text: `007` stays `007`."""
    delimiter = "\t" if ".tsv" in path.suffixes else ","
    csv.field_size_limit(_LONGEST_FIELD)
    with _text(path) as file:
        reader = csv.reader(file, delimiter=delimiter, strict=True)
        try:
            names = next(reader, [])
            if len(set(names)) != len(names):
                raise DataError(f"{path}: the first line names a column twice: {', '.join(names)}")
            for values in reader:
                if values:
                    yield Row(f"{path}:{reader.line_num}", _record(names, values))
        except csv.Error as e:
            raise DataError(f"{path}:{reader.line_num} is not CSV: {e}") from None
        except UnicodeDecodeError as e:
            raise DataError(f"{path} is not UTF-8: byte {e.object[e.start]:#x} near line {reader.line_num}") from None


def _record(names: list[str], values: list[str]) -> Mapping[str, str] | BadRow:
    if len(names) != len(values):
        return BadRow(f"has {len(values)} fields; the first line names {len(names)}")
    return dict(zip(names, values, strict=True))


def _text(path: Path) -> IO[str]:
    return io.TextIOWrapper(open_input(path).stream, encoding="utf-8-sig", newline="")


def _arrow(path: Path) -> Iterator[Row]:
    """Rows of an Arrow file or stream, such as the `datasets` package keeps in its cache."""
    try:
        import pyarrow.ipc
    except ImportError:
        raise MissingDependencyError(
            f"{path} is an Arrow file, and pyarrow is not installed", hint="pip install 'rewardkit-rl[data]'"
        ) from None
    number = 0
    try:
        with pyarrow.memory_map(str(path)) as file:
            for batch in _batches(pyarrow.ipc, file):
                for value in batch.to_pylist():
                    number += 1
                    yield Row(f"{name_of(path)}:row {number}", value)
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as e:
        raise DataError(f"{path} is not an Arrow file that can be read: {e}") from e


def _batches(ipc: Any, file: Any) -> Iterator[Any]:
    if file.read(6) == b"ARROW1":
        opened = ipc.open_file(file)
        yield from (opened.get_batch(i) for i in range(opened.num_record_batches))
    else:
        file.seek(0)
        yield from ipc.open_stream(file)
