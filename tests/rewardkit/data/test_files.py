"""The same rows from every kind of file, and what is said of a file that is none of them."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from rewardkit.data.files import file_rows
from rewardkit.errors import BadRow, DataError

pa = pytest.importorskip("pyarrow")
ROWS = [{"question": 'Say "1, 2"\nor 3', "answer": "007"}, {"question": "ü", "answer": "x" * 70_000}]


def _csv(path: Path, delimiter: str) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, ["question", "answer"], delimiter=delimiter)
        writer.writeheader()
        writer.writerows(ROWS)


def _stream(path: Path) -> None:
    table = pa.Table.from_pylist(ROWS)
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table)


def _arrow(path: Path) -> None:
    table = pa.Table.from_pylist(ROWS)
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)


def _parquet(path: Path) -> None:
    import pyarrow.parquet

    pyarrow.parquet.write_table(pa.Table.from_pylist(ROWS), path)


WRITERS: dict[str, Any] = {
    "a.jsonl": lambda p: p.write_text("".join(json.dumps(row) + "\n" for row in ROWS)),
    "a.json": lambda p: p.write_text(json.dumps(ROWS, indent=2)),
    "a.jsonl.gz": lambda p: p.write_bytes(gzip.compress("".join(json.dumps(r) + "\n" for r in ROWS).encode())),
    "a.csv": lambda p: _csv(p, ","),
    "a.tsv": lambda p: _csv(p, "\t"),
    "data-00000-of-00001.arrow": _stream,
    "a.feather": _arrow,
    "a.parquet": _parquet,
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_kind_gives_the_same_rows(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    WRITERS[name](path)
    rows = file_rows(path, None)
    assert [row.value for row in rows] == ROWS
    assert all(str(path) in row.where for row in rows)
    assert [row.value for row in file_rows(path, 1)] == ROWS[:1]


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.json", b'[{"a": 1}, ', "begins as a JSON array and can't be read"),
        ("a.json", b'["\xff"]', "is not UTF-8: byte 2 is 0xff"),
        ("a.csv", b'a,b\n"1,2\n', "is not CSV"),
        ("a.csv", b"a,a\n1,2\n", "names a column twice: a, a"),
        ("a.csv", b"a,b\n\xff,2\n", "is not UTF-8: byte 0xff"),
        ("a.arrow", b"ARROW1\0\0nonsense", "is not an Arrow file that can be read"),
        ("a.parquet", b"version https://git-lfs.github.com/spec/v1\noid sha256:00\n", "a Git LFS pointer"),
    ],
)
def test_a_broken_file_is_one_error(name: str, content: bytes, says: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(DataError) as raised:
        file_rows(path, None)
    assert says in str(raised.value)


def test_a_line_of_csv_with_too_few_fields_is_a_bad_row(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a,b\n1,2\n3\n\n4,5\n")
    rows = file_rows(path, None)
    assert [row.value for row in rows if not isinstance(row.value, BadRow)] == [
        {"a": "1", "b": "2"},
        {"a": "4", "b": "5"},
    ]
    assert [str(row.value) for row in rows if isinstance(row.value, BadRow)] == ["has 1 fields; the first line names 2"]
