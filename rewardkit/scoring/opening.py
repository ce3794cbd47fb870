"""One way to open what a user names as data: a file, a pipe, or standard input; plain or compressed.

A pipe can be read once, so what is looked at to tell its kind is handed on with the rest.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import re
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, BinaryIO, Final, cast

from rewardkit.errors import DataError, MissingDependencyError

STDIN: Final = Path("-")
"""What names standard input."""
KINDS: Final = (".jsonl", ".parquet", ".jsonl.gz", ".jsonl.zst")
"""Ends of the names of a folder's files that are data; a file that is named by itself may have any."""
_LOOKED_AT: Final = 8
_PARQUET: Final = b"PAR1"
_REFUSED: Final[dict[bytes, str]] = {
    b"PARE": "encrypted parquet",
    b"ARROW1": "an Arrow file",
    b"version ": "a Git LFS pointer, not the file itself (git lfs pull fetches it)",
    b"PK\x03\x04": "a zip archive",
    b"\x04\x22\x4d\x18": "compressed by lz4",
    b"\xff\xfe": "text in UTF-16",
    b"\xfe\xff": "text in UTF-16",
    b"{\x00": "text in UTF-16",
    b"\x00{": "text in UTF-16",
}
"""By their first bytes: files that people have and that are not read."""


@dataclass(frozen=True)
class Input:
    """Data that is open, its compression undone.

    Attributes:
        stream: the bytes, from the first.
        is_parquet: whether they are parquet.
        is_file: whether it can be opened again; a pipe can't.
        is_plain: whether the bytes are the file's own, so that they can be read from anywhere.
    """

    stream: BinaryIO
    is_parquet: bool
    is_file: bool
    is_plain: bool
    _raw: BinaryIO

    def done(self) -> float:
        """The share of the file that has been read, from 0 to 1; 0 for a pipe, whose end nobody knows."""
        if not self.is_file:
            return 0.0
        return min(1.0, self._raw.tell() / max(1, os.fstat(self._raw.fileno()).st_size))  # it may grow meanwhile

    def close(self) -> None:
        """Close all that is open."""
        self.stream.close()
        self._raw.close()


def name_of(path: Path) -> str:
    """How messages name an input."""
    return "<stdin>" if path == STDIN else str(path)


def files_in(folder: Path) -> list[Path]:
    """A folder's data files, by their numbers and names.

    Raises:
        DataError: it can't be read.
    """
    try:
        paths = [p for p in folder.iterdir() if p.name.endswith(KINDS) and p.name[0] != "." and p.is_file()]
    except OSError as e:
        raise DataError(f"{folder} can't be read: {e.strerror or e}") from e
    return sorted(paths, key=by_number)


def by_number(path: Path) -> tuple[list[int], str]:
    """The order of files: by the numbers in their names, so that 9 stands before 10."""
    return [int(n) for n in re.findall(r"\d+", path.stem)], str(path)


def open_input(path: Path) -> Input:
    """Open a file, a pipe, or standard input for ``-``; what is compressed by gzip, zstd, bzip2 or xz is decompressed.

    Raises:
        DataError: no such file, it can't be read, or its kind is none that is read.
        MissingDependencyError: it is compressed by zstd, and pyarrow is not installed.
    """
    try:
        raw = os.fdopen(os.dup(0), "rb") if path == STDIN else path.open("rb")
        try:
            return _opened(path, raw)
        except BaseException:
            raw.close()
            raise
    except FileNotFoundError:
        raise DataError(f"no file {path}", hint="a file of JSON lines or parquet, or - for standard input") from None
    except OSError as e:
        raise DataError(f"{name_of(path)} can't be read: {e.strerror or e}") from e


def _opened(path: Path, raw: BinaryIO) -> Input:
    head = raw.read(_LOOKED_AT)
    is_file = path != STDIN and raw.seekable()
    if is_file:
        raw.seek(0)
    stream, is_plain = raw if is_file else _buffered(_Rest(head, raw)), is_file
    for magic, (what, decompress) in _COMPRESSED.items():
        if head.startswith(magic):
            inner = _Rest(b"", decompress(stream), f"its {what} data is broken or cut off")
            head = _filled(inner)
            stream, is_plain = _buffered(_Rest(head, inner)), False
            break
    refused = next((what for magic, what in _REFUSED.items() if head.startswith(magic)), None)
    if refused is not None:
        raise DataError(f"{name_of(path)} is {refused}; expected JSON lines in UTF-8, or parquet")
    return Input(stream, head.startswith(_PARQUET), is_file, is_plain, raw)


@contextmanager
def seekable(path: Path, stream: BinaryIO) -> Iterator[IO[bytes]]:
    """All of a stream in a temporary file: parquet is read from its end.

    Raises:
        DataError: there is no place for it.
    """
    with tempfile.TemporaryFile() as file:
        while part := stream.read(1 << 20):
            try:
                file.write(part)
            except OSError as e:
                why = f"{tempfile.gettempdir()} can't hold it: {e.strerror or e}"
                hint = "give a parquet file that is neither compressed nor a pipe, or another TMPDIR"
                raise DataError(f"{name_of(path)} is parquet, which is read from its end, and {why}", hint=hint) from e
        file.seek(0)
        yield file


class _Rest(io.RawIOBase):
    """Bytes that were read already, then the rest of where they came from.

    Args:
        head: the bytes.
        rest: gives what follows.
        broken: what a failure to read it means, where it is a decompressor; those fail in a dozen ways.
    """

    def __init__(self, head: bytes, rest: Any, broken: str | None = None) -> None:
        self._head = head
        self._rest = rest
        self._broken = broken

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if self._head:
            part, self._head = self._head[: len(buffer)], self._head[len(buffer) :]
        elif self._broken is None:
            return cast(int, self._rest.readinto(buffer))
        else:
            try:
                part = self._rest.read(len(buffer))
            except (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError) as e:
                raise OSError(f"{self._broken}: {e}") from e
        buffer[: len(part)] = part
        return len(part)


def _buffered(raw: io.RawIOBase) -> BinaryIO:
    return cast(BinaryIO, io.BufferedReader(raw, 1 << 17))


def _filled(raw: io.RawIOBase) -> bytes:
    head = b""
    while len(head) < _LOOKED_AT and (part := raw.read(_LOOKED_AT - len(head))):
        head += part
    return head


def _zstd(stream: BinaryIO) -> Any:
    try:
        import pyarrow
    except ImportError:
        raise MissingDependencyError(
            "reading what zstd compressed needs pyarrow, which is not installed",
            hint="pip install 'rewardkit-rl[data]'",
        ) from None
    return pyarrow.input_stream(stream, compression="zstd", buffer_size=0)


_COMPRESSED: Final[dict[bytes, tuple[str, Callable[[BinaryIO], Any]]]] = {
    b"\x1f\x8b": ("gzip", gzip.open),
    b"\x28\xb5\x2f\xfd": ("zstd", _zstd),
    b"\x50\x2a\x4d\x18": ("zstd", _zstd),
    b"BZh": ("bzip2", bz2.open),
    b"\xfd7zXZ\x00": ("xz", lzma.open),
}
"""By their first bytes."""
