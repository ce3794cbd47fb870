"""Rows of a file or a pipe, a chunk at a time: JSON lines or parquet, told apart by their first bytes.

A chunk ends after so many rows or bytes, whichever comes first, so that memory does not grow with the file or with the
length of its texts. pyarrow is imported for parquet only.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Final

from rewardkit.errors import BadRow, DataError, MissingDependencyError
from rewardkit.scoring.fields import SPELLINGS, RawRow
from rewardkit.scoring.json_row import json_row
from rewardkit.scoring.opening import STDIN, Input, name_of, open_input, seekable

CHUNK_ROWS: Final = 4_096
"""Rows that are scored together: enough that numpy's and pyarrow's fixed costs don't show."""
CHUNK_BYTES: Final = 1 << 24
"""Bytes of the file, about, after which a chunk ends before it has all its rows."""
MAX_LINE_BYTES: Final = 1 << 26
"""A longer line is an error: most likely the file is one JSON array, and would have to be held whole."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A row that is left out because it can't be used."""

    where: str
    """``FILE:LINE``, or ``FILE:row N`` of parquet."""
    row: int
    """The line, or the row of parquet; both from 1."""
    reason: str

    def __str__(self) -> str:
        return f"{self.where}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Chunk:
    """Rows that stand together in a file."""

    rows: Sequence[RawRow]
    numbers: Sequence[int]
    """For each row its line, or in parquet its row; both from 1."""
    done: float
    """The share of the file that has been read, from 0 to 1; of a pipe 0 up to its end."""
    skipped: tuple[Skipped, ...] = ()
    """Rows among or before these that are left out."""

    def __getitem__(self, part: slice) -> Chunk:
        return Chunk(self.rows[part], self.numbers[part], self.done)


class Rows:
    """A data file, a pipe, or standard input (``-``), that can be read once, in chunks.

    Args:
        path: where the data is.
        fields: what is wanted of a row, for a parquet file of which only those columns are read; None for all columns.
        unanswered: whether rows may have no response, as those of a data set have none yet.
        skip_bad: leave out rows that can't be used, and note them in :attr:`skipped`, instead of raising.

    Raises:
        DataError: no such file, or it can't be read.
        MissingDependencyError: it is parquet or compressed by zstd, and pyarrow is not installed.
    """

    def __init__(
        self, path: Path, fields: Collection[str] | None, *, unanswered: bool = False, skip_bad: bool = False
    ) -> None:
        self.path = path
        """As the user named it."""
        self.name = name_of(path)
        """For messages."""
        self.skipped: list[Skipped] = []
        """Rows that were left out, until somebody takes them."""
        self._file = path if path == STDIN else path.absolute()  # another process may read it, in another folder
        self._fields = fields
        self._unanswered = unanswered
        self._skip_bad = skip_bad
        self._begun: Iterator[Chunk] | None = None
        self._pipe: Input | None = None
        opened = open_input(path)
        self.is_parquet, self.is_file = opened.is_parquet, opened.is_file
        if self.is_file:
            opened.close()
        else:
            self._pipe = opened

    def where(self, number: int) -> str:
        """How a message names a row."""
        return f"{self.name}:row {number}" if self.is_parquet else f"{self.name}:{number}"

    def error(self, number: int, why: object) -> DataError:
        """The error for a row that can't be scored."""
        return DataError(f"{self.where(number)}: {why}")

    def bad(self, number: int, why: object) -> None:
        """A row can't be used: it is skipped, or an error.

        Raises:
            DataError: unless bad rows are skipped.
        """
        if not self._skip_bad:
            raise self.error(number, why)
        self.skipped.append(Skipped(self.where(number), number, str(why)))

    @property
    def skips(self) -> bool:
        """Whether bad rows are left out."""
        return self._skip_bad

    def first(self) -> RawRow | None:
        """The first row, which :meth:`chunks` gives too; None where there is none.

        Raises:
            DataError: as :meth:`chunks`.
        """
        chunks = self.chunks()
        chunk = next(chunks, None)
        self._begun = chunks if chunk is None else chain((chunk,), chunks)
        return None if chunk is None else chunk.rows[0]

    def chunks(self, size: int | None = None) -> Iterator[Chunk]:
        """The rows, in order; no chunk is empty.

        Args:
            size: rows of a chunk, at most; None for as many as are scored together.

        Raises:
            DataError: a line that is not a JSON object, or a broken parquet file.
        """
        if self._begun is not None:
            begun, self._begun = self._begun, None
            return begun
        size = CHUNK_ROWS if size is None else max(1, min(size, CHUNK_ROWS))
        return self._parquet(size) if self.is_parquet else self._lines(size)

    @contextmanager
    def _opened(self) -> Iterator[Input]:
        opened, self._pipe = self._pipe, None
        if opened is None:
            opened = open_input(self._file)
        try:
            yield opened
        finally:
            opened.close()

    def _lines(self, size: int) -> Iterator[Chunk]:
        rows: list[RawRow] = []
        numbers: list[int] = []
        held = number = 0
        with self._opened() as file:
            while line := self._line(file, number):
                number += 1
                if len(line) > MAX_LINE_BYTES:
                    raise self.error(
                        number, f"is longer than {MAX_LINE_BYTES:,} bytes; expected one JSON object a line"
                    )
                held += len(line)
                text = line.strip()
                if text:
                    try:
                        row = json_row(text, first=number == 1)
                    except BadRow as why:
                        self.bad(number, why)
                    else:
                        rows.append(row)
                        numbers.append(number)
                if len(rows) >= size or held >= CHUNK_BYTES:
                    if rows:
                        yield Chunk(rows, numbers, file.done())
                    rows, numbers, held = [], [], 0
        if rows:
            yield Chunk(rows, numbers, 1.0)

    def _line(self, file: Input, number: int) -> bytes:
        try:
            return file.stream.readline(MAX_LINE_BYTES + 1)
        except OSError as e:
            raise DataError(f"{self.name} can't be read after line {number}: {e.strerror or e}") from e

    def _parquet(self, size: int) -> Iterator[Chunk]:
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError:
            raise MissingDependencyError(
                f"{self.name} is parquet, and pyarrow is not installed", hint="pip install 'rewardkit-rl[data]'"
            ) from None
        try:
            with self._opened() as opened, ExitStack() as stack:
                source = self._file if opened.is_plain else stack.enter_context(seekable(self.path, opened.stream))
                file = stack.enter_context(pyarrow.parquet.ParquetFile(source, pre_buffer=False, buffer_size=1 << 20))
                wanted = self._columns(file.schema_arrow)
                total, row = max(1, file.metadata.num_rows), 0
                for batch in file.iter_batches(batch_size=_batch_rows(file.metadata, size), columns=wanted):
                    rows, numbers = self._converted(batch, row)
                    row += len(batch)
                    if rows:
                        yield Chunk(rows, numbers, row / total)
        except (pyarrow.ArrowException, OSError) as e:
            raise DataError(f"{self.name} is not a parquet file that can be read: {e}") from e

    def _converted(self, batch: Any, before: int) -> tuple[list[RawRow], Sequence[int]]:
        """The rows of a batch, and their numbers."""
        numbers = range(before + 1, before + len(batch) + 1)
        try:
            return batch.to_pylist(), numbers
        except Exception:  # a value that Python has none for: which one, and in which row, is found row by row
            rows, good = [], []
        for i, number in enumerate(numbers):
            try:
                rows += batch.slice(i, 1).to_pylist()
                good.append(number)
            except Exception:
                self.bad(number, _unreadable(batch, i))
        return rows, good

    def _columns(self, schema: Any) -> list[str]:
        """The file's columns that hold a wanted field."""
        if self._fields is None:
            return list(schema.names)
        paths = [path for field in self._fields for path in SPELLINGS[field]]
        wanted = [_named(path, schema) for path in paths if path[0] in schema.names]
        if not self._unanswered and not any(path[0] in schema.names for path in SPELLINGS["response"]):
            raise DataError(f"{self.name} has no column `response` (nor `responses`, `output`); it has {schema.names}")
        return wanted


def _named(path: tuple[str, ...], schema: Any) -> str:
    """The column that holds a field; one of text, where an object should be, is read whole."""
    return path[0] if schema.field(path[0]).type.num_fields == 0 else ".".join(path)


def _batch_rows(metadata: Any, most: int) -> int:
    size = sum(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))
    return int(min(most, max(1, CHUNK_BYTES * metadata.num_rows // max(1, size))))


def _unreadable(batch: Any, i: int) -> str:
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        try:
            column[i].as_py()
        except UnicodeDecodeError as e:
            return f"`{name}` is not UTF-8: byte {e.start} is {e.object[e.start]:#x}"
        except Exception as e:  # pyarrow's, datetime's, decimal's
            return f"`{name}` is a {column.type} that can't be read: {str(e).partition(chr(10))[0]}"
    return "can't be read"
