"""Scores as parquet: the keys of the JSON lines as columns, `terms` and `status` as structs.

`group` is there if the file's first rows have one. A formula without any term or name has no `terms` and no `status`:
parquet knows no empty struct. pyarrow is imported when a table is made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np

from rewardkit.batch import Floats, Status, Statuses
from rewardkit.engine.scores import Scores
from rewardkit.errors import DataError, MissingDependencyError
from rewardkit.scoring.writing import check_place, whole

_ROW_GROUP: Final = 1 << 15
"""Rows that are written together: a chunk alone makes too small a row group to be read fast."""


class Tables:
    """Turns scores into tables.

    Raises:
        MissingDependencyError: pyarrow is not installed.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        _pyarrow()

    def __call__(self, scores: Scores, groups: Sequence[str | int | None] | None = None) -> Any:
        """One row a row, with its group where there are groups."""
        pa = _pyarrow()
        columns = {"score": _numbers(scores.total), "total_status": _statuses(scores.status)}
        if self._names:
            names = list(self._names)
            columns["terms"] = pa.StructArray.from_arrays([_numbers(scores.values[n]) for n in names], names)
            columns["status"] = pa.StructArray.from_arrays([_statuses(scores.statuses[n]) for n in names], names)
        if groups is not None:
            columns["group"] = _groups(groups)
        return pa.table(columns)


def _pyarrow() -> Any:
    try:
        import pyarrow.parquet
    except ImportError:
        raise MissingDependencyError(
            "writing parquet needs pyarrow, and it is not installed", hint="pip install 'rewardkit-rl[data]'"
        ) from None
    return pyarrow


def _numbers(values: Floats) -> Any:
    return _pyarrow().array(values, mask=np.isnan(values))


def _statuses(statuses: Statuses) -> Any:
    pa = _pyarrow()
    return pa.array([status.name.lower() for status in Status]).take(pa.array(statuses))


def _groups(groups: Sequence[str | int | None]) -> Any:
    pa = _pyarrow()
    if all(group is None or type(group) is int for group in groups):
        try:
            return pa.array(groups, type=pa.int64())
        except OverflowError:
            pass  # too large for a column of numbers
    texts = [None if group is None else str(group).encode("utf-8", "backslashreplace").decode() for group in groups]
    return pa.array(texts, type=pa.string())


@contextmanager
def whole_parquet(path: Path) -> Iterator[Callable[[Any], object]]:
    """A function that adds a table to a parquet file, which appears under its name only when all went well.

    Raises:
        DataError: the folder is missing, the file can't be written, or groups are numbers here and text there.
    """
    check_place(path)
    if path.exists() and not path.is_file():
        raise DataError(f"parquet needs a regular file, and --out {path} is not one")
    with whole(path) as partial, partial.open("xb") as file, _Writer(path, file) as writer:
        yield writer.add


class _Writer:
    """Collects tables until they make a row group. The first one says which columns there are."""

    def __init__(self, path: Path, file: Any) -> None:
        self._path = path
        self._file = file
        self._held: list[Any] = []
        self._writer: Any = None

    def __enter__(self) -> _Writer:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self._flush()
        if self._writer is not None:
            self._writer.close()

    def add(self, table: Any) -> None:
        """Add rows."""
        if self._writer is None:
            self._writer = _pyarrow().parquet.ParquetWriter(self._file, table.schema)
        if table.schema != self._writer.schema:
            table = self._fitted(table)
        self._held.append(table)
        if sum(len(held) for held in self._held) >= _ROW_GROUP:
            self._flush()

    def _flush(self) -> None:
        if self._held:
            self._writer.write_table(_pyarrow().concat_tables(self._held).combine_chunks())
            self._held = []

    def _fitted(self, table: Any) -> Any:
        """The table in the file's columns: only its groups can be others than the first rows' are."""
        pa, schema = _pyarrow(), self._writer.schema
        if "group" not in schema.names:
            raise DataError(
                f"can't write {self._path}: some rows have a group, and the first ones have none",
                hint="give --out a file of JSON lines",
            )
        if "group" not in table.column_names:
            return table.append_column("group", pa.nulls(len(table), schema.field("group").type))
        if pa.types.is_string(schema.field("group").type):
            return table.cast(schema)
        raise DataError(
            f"can't write {self._path}: some groups are text, and the first ones are numbers",
            hint="give --out a file of JSON lines",
        )
