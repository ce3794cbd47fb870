"""Rows of a file, a chunk at a time: JSON lines or parquet, told apart by their first bytes.

A chunk ends after so many rows or bytes, whichever comes first, so that memory does not grow with the file or with the
length of its texts. pyarrow is imported for parquet only.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rewardkit.errors import DataError, MissingDependencyError
from rewardkit.scoring.fields import SPELLINGS, RawRow

CHUNK_ROWS: Final = 4_096
"""Rows that are scored together: enough that numpy's and pyarrow's fixed costs don't show."""
CHUNK_BYTES: Final = 1 << 24
"""Bytes of the file, about, after which a chunk ends before it has all its rows."""
MAX_LINE_BYTES: Final = 1 << 26
"""A longer line is an error: most likely the file is one JSON array, and would have to be held whole."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Rows that stand together in a file."""

    rows: Sequence[RawRow]
    numbers: Sequence[int]
    """For each row its line, or in parquet its row; both from 1."""
    done: float
    """The share of the file that has been read, from 0 to 1."""

    def __getitem__(self, part: slice) -> Chunk:
        return Chunk(self.rows[part], self.numbers[part], self.done)


class Rows:
    """A data file that can be read once, in chunks.

    Args:
        path: the file.
        fields: what is wanted of a row, for a parquet file of which only those columns are read; None for all columns.
        unanswered: whether rows may have no response, as those of a data set have none yet.

    Raises:
        DataError: no such file, or it can't be read.
        MissingDependencyError: it is parquet, and pyarrow is not installed.
    """

    def __init__(self, path: Path, fields: Collection[str] | None, *, unanswered: bool = False) -> None:
        self.path = path
        """As the user named it, for messages."""
        self._file = path.absolute()  # another process may read it, in another folder
        self._fields = fields
        self._unanswered = unanswered
        try:
            with self._file.open("rb") as file:
                self.is_parquet = file.read(4) == b"PAR1"
        except FileNotFoundError:
            raise DataError(f"no file {path}", hint="a file of JSON lines or parquet") from None
        except OSError as e:
            raise DataError(f"{path} can't be read: {e.strerror}") from e

    def where(self, number: int) -> str:
        """How a message names a row."""
        return f"{self.path}:row {number}" if self.is_parquet else f"{self.path}:{number}"

    def error(self, number: int, why: object) -> DataError:
        """The error for a row that can't be scored."""
        return DataError(f"{self.where(number)}: {why}")

    def chunks(self) -> Iterator[Chunk]:
        """The file's rows, in order.

        Raises:
            DataError: a line that is no JSON object, or a broken parquet file.
        """
        return self._parquet() if self.is_parquet else self._lines()

    def _lines(self) -> Iterator[Chunk]:
        size = max(1, self._file.stat().st_size)
        rows: list[RawRow] = []
        numbers: list[int] = []
        read = held = number = 0
        with self._file.open("rb") as file:
            while line := file.readline(MAX_LINE_BYTES + 1):
                number += 1
                if len(line) > MAX_LINE_BYTES:
                    raise self.error(
                        number, f"is longer than {MAX_LINE_BYTES:,} bytes; expected one JSON object a line"
                    )
                held += len(line)
                text = line.strip()
                if text:
                    rows.append(self._object(text, number))
                    numbers.append(number)
                if len(rows) >= CHUNK_ROWS or held >= CHUNK_BYTES:
                    read += held
                    yield Chunk(rows, numbers, read / size)
                    rows, numbers, held = [], [], 0
        if rows:
            yield Chunk(rows, numbers, 1.0)

    def _object(self, line: bytes, number: int) -> RawRow:
        try:
            text = line.decode("utf-8-sig" if number == 1 else "utf-8")
            value, end = _decode(text)
            if end != len(text):
                json.loads(text)  # for its message
        except UnicodeDecodeError as e:
            raise self.error(number, f"is not UTF-8: byte {e.start} is {line[e.start]:#x}") from None
        except (ValueError, RecursionError) as e:
            raise self.error(number, f"is not JSON: {e}; expected one object a line") from None
        if type(value) is not dict:
            raise self.error(number, f"is a JSON {type(value).__name__}; expected one object a line")
        return value

    def _parquet(self) -> Iterator[Chunk]:
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError:
            raise MissingDependencyError(
                f"{self.path} is parquet, and pyarrow is not installed", hint="pip install 'rewardkit-rl[data]'"
            ) from None
        try:
            with pyarrow.parquet.ParquetFile(self._file, pre_buffer=False, buffer_size=1 << 20) as file:
                wanted = self._columns(file.schema_arrow)
                total, row = max(1, file.metadata.num_rows), 0
                for batch in file.iter_batches(batch_size=_batch_rows(file.metadata), columns=wanted):
                    rows = batch.to_pylist()
                    start, row = row, row + len(rows)
                    yield Chunk(rows, range(start + 1, row + 1), row / total)
        except (pyarrow.ArrowException, OSError) as e:
            raise DataError(f"{self.path} is not a parquet file that can be read: {e}") from e

    def _columns(self, schema: Any) -> list[str]:
        """The file's columns that hold a wanted field."""
        if self._fields is None:
            return list(schema.names)
        paths = [path for field in self._fields for path in SPELLINGS[field]]
        wanted = [".".join(path) for path in paths if path[0] in schema.names]
        if not self._unanswered and not any(path[0] in schema.names for path in SPELLINGS["response"]):
            raise DataError(f"{self.path} has no column `response` (nor `responses`, `output`); it has {schema.names}")
        return wanted


def _batch_rows(metadata: Any) -> int:
    size = sum(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))
    return int(min(CHUNK_ROWS, max(1, CHUNK_BYTES * metadata.num_rows // max(1, size))))


_decode = json.JSONDecoder().raw_decode
