"""Whatever data comes in, every row of it is read, or one error says why not."""

from __future__ import annotations

import bz2
import datetime
import gzip
import json
import lzma
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from rewardkit.audit import read_problems
from rewardkit.cli import run
from rewardkit.data.convert import convert
from rewardkit.errors import DataError
from rewardkit.report import report_on
from rewardkit.scoring import reading
from rewardkit.scoring.reading import Rows

ROWS = [{"response": f"{i} " + "w" * 80, "ground_truth": "4", "i": i} for i in range(1_000)]
TEXT = "".join(json.dumps(row) + "\n" for row in ROWS).encode()
ROOT = Path(__file__).resolve().parents[3]


def zstd(data: bytes) -> bytes:
    pa = pytest.importorskip("pyarrow")
    return bytes(pa.Codec("zstd").compress(data, asbytes=True))


def parquet(data: bytes) -> bytes:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist([json.loads(line) for line in data.splitlines()]), sink)
    return bytes(sink.getvalue())


FORMS: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "gzip": gzip.compress,
    "two members of gzip": lambda data: gzip.compress(data[:50_000]) + gzip.compress(data[50_000:]),
    "zstd": zstd,
    "two frames of zstd": lambda data: zstd(data[:50_000]) + zstd(data[50_000:]),
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "parquet": parquet,
    "parquet in gzip": lambda data: gzip.compress(parquet(data)),
}


@contextmanager
def fifo(path: Path, data: bytes, sizes: tuple[int, ...] = ()) -> Iterator[Path]:
    """A FIFO into which bytes are written, the first ones in pieces of these sizes."""
    os.mkfifo(path)

    def write() -> None:
        try:
            with path.open("wb", buffering=0) as pipe:
                at = 0
                for size in sizes:
                    pipe.write(data[at : at + size])
                    at += size
                view = memoryview(data)[at:]
                while view:
                    view = view[pipe.write(view) :]
        except BrokenPipeError:
            pass  # the reader had enough

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    yield path
    writer.join(20)
    assert not writer.is_alive()


def read(path: Path) -> list[Any]:
    return [row["i"] for chunk in Rows(path, None).chunks() for row in chunk.rows]


@pytest.mark.parametrize("form", FORMS)
def test_a_file_and_a_pipe_give_every_row(form: str, tmp_path: Path) -> None:
    data = FORMS[form](TEXT)
    (tmp_path / "file").write_bytes(data)
    assert read(tmp_path / "file") == list(range(1_000))
    with fifo(tmp_path / "pipe", data, (1, 2, 3)) as pipe:
        assert read(pipe) == list(range(1_000))


def test_standard_input_is_a_dash(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "rewardkit", "score", "length()", "-"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    for data, code, said in ((gzip.compress(TEXT), 0, b"1,000 rows"), (TEXT + b"{\n", 2, b"<stdin>:1001: is not JSON")):
        done = subprocess.run(command, input=data, capture_output=True, env=environment, timeout=120)
        assert done.returncode == code and said in done.stderr
        assert code or done.stdout.count(b"\n") == 1_000


def test_every_command_reads_a_pipe(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with fifo(tmp_path / "check", TEXT, (5,)) as pipe:
        assert run(["data", "check", str(pipe), "--reward", "gsm8k()"]) == 0
    assert "1,000 rows" in capsys.readouterr().err
    assert run(["score", "length()", "--out", str(tmp_path / "scores"), "/dev/null"]) == 2
    (tmp_path / "data").write_bytes(gzip.compress(TEXT))
    assert run(["score", "length()", str(tmp_path / "data"), "--out", str(tmp_path / "scores")]) == 0
    with fifo(tmp_path / "report", (tmp_path / "scores").read_bytes(), (5,)) as pipe:
        assert report_on(pipe, data=tmp_path / "data").rows == 1_000
    with fifo(tmp_path / "audit", TEXT, (5,)) as pipe:
        assert len(read_problems(pipe, 6)) == 6


def test_a_data_set_is_converted_from_parquet_as_a_hub_gives_it(tmp_path: Path) -> None:
    questions = "".join(json.dumps({"question": f"{n}?", "answer": f"so\n#### {n}"}) + "\n" for n in range(9)).encode()
    (tmp_path / "test-00000-of-00001.parquet").write_bytes(parquet(questions))
    for limit in (None, 4):
        files = convert(str(tmp_path / "test-00000-of-00001.parquet"), tmp_path / "out", limit=limit).files
        assert files == {tmp_path / "out" / "test.parquet": limit or 9}


BROKEN: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "gzip cut off": (lambda data: gzip.compress(data)[:-20], "can't be read after line"),
    "gzip with a wrong checksum": (
        lambda data: gzip.compress(data)[:-8] + b"12345678",
        "its gzip data is broken or cut off",
    ),
    "zstd cut off": (lambda data: zstd(data)[:-20], "its zstd data is broken or cut off"),
    "xz cut off": (lambda data: lzma.compress(data)[:-20], "its xz data is broken or cut off"),
    "bzip2 cut off": (lambda data: bz2.compress(data)[:-20], "its bzip2 data is broken or cut off"),
    "parquet cut off": (lambda data: parquet(data)[:-20], "is not a parquet file that can be read"),
    "a zip archive": (lambda data: b"PK\x03\x04" + data, "is a zip archive; expected JSON lines"),
    "UTF-16": (lambda data: data.decode().encode("utf-16"), "is text in UTF-16"),
    "UTF-16 without a mark": (lambda data: data.decode().encode("utf-16-le"), "is text in UTF-16"),
    "nothing": (lambda data: b"", "has no rows"),
    "nothing, compressed": (lambda data: gzip.compress(b""), "has no rows"),
    "the start of a compressed file": (lambda data: gzip.compress(data)[:5], "its gzip data is broken or cut off"),
    "a key twice": (lambda data: data + b'{"response": "a", "response": "b"}\n', ":1001: has the key 'response' twice"),
    "a key twice within": (lambda data: b'{"response": "a", "extra_info": {"k": 1, "k": 2}}\n', ":1: has the key 'k'"),
    "a huge integer": (lambda data: b'{"response": "a", "group": ' + b"9" * 5_000 + b"}\n", "thousands of digits"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_what_can_not_be_read_whole_is_an_error_and_nothing_is_written(
    what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spoil, words = BROKEN[what]
    data = spoil(TEXT)
    (tmp_path / "file").write_bytes(data)
    out = tmp_path / "out.jsonl"
    assert run(["score", "length()", str(tmp_path / "file"), "--out", str(out)]) == 2
    assert words in capsys.readouterr().err
    with fifo(tmp_path / "pipe", data) as pipe:
        assert run(["score", "length()", str(pipe), "--out", str(out)]) == 2
    assert words in capsys.readouterr().err
    assert not out.exists()


def test_lines_of_other_systems_are_the_same_rows(tmp_path: Path) -> None:
    (tmp_path / "d").write_bytes(b"\xef\xbb\xbf" + TEXT.replace(b"\n", b"\r\n\r\n").rstrip())
    assert read(tmp_path / "d") == list(range(1_000))


UNREADABLE = {
    "no text": b"caf\xe9",
    "a surrogate": b"\xed\xa0\x80",
}


@pytest.mark.parametrize("what", UNREADABLE)
def test_text_in_parquet_that_is_none_is_a_bad_row(what: str, tmp_path: Path) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    raw = pa.array([b"a", UNREADABLE[what], b"b"])
    texts = pa.Array.from_buffers(pa.string(), 3, raw.buffers())
    pq.write_table(pa.table({"response": texts, "output": texts, "score": [1.0, 2.0, 3.0]}), tmp_path / "d.parquet")
    assert_bad_row_2(tmp_path / "d.parquet", r"d\.parquet:row 2: `response` is not UTF-8: byte \d is 0x")


def test_a_date_that_python_has_not_is_a_bad_row(tmp_path: Path) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    dates = pa.array([1, 2**31 - 1, 2], type=pa.int32()).view(pa.date32())
    info = pa.StructArray.from_arrays([dates], ["when"])
    pq.write_table(pa.table({"response": list("abc"), "extra_info": info}), tmp_path / "d.parquet")
    assert_bad_row_2(tmp_path / "d.parquet", r"d\.parquet:row 2: `extra_info` is a struct.* that can't be read")
    assert next(Rows(tmp_path / "d.parquet", None).chunks(1)).rows[0]["extra_info"]["when"] == datetime.date(1970, 1, 2)


def assert_bad_row_2(path: Path, words: str) -> None:
    with pytest.raises(DataError, match=words):
        list(Rows(path, None).chunks())
    source = Rows(path, None, skip_bad=True)
    assert [n for chunk in source.chunks() for n in chunk.numbers] == [1, 3]
    assert [skipped.row for skipped in source.skipped] == [2]


BAD = {2: "{", 5: '{"response": 3}', 8: '{"ground_truth": "4"}', 9: "[]", 11: '{"response": "a", "response": "b"}'}
"""By line: what is no row that can be scored."""


@pytest.mark.parametrize("size", [1, 3, 4, 4_096])
@pytest.mark.parametrize("formula", ["length()", "group_rank(length())"])
def test_skipped_rows_are_listed_and_the_rest_is_scored(
    formula: str, size: int, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "CHUNK_ROWS", size)
    good = [json.dumps({"response": "w " * (n % 3), "group": n // 6}) for n in range(1, 13)]
    (tmp_path / "d").write_text("\n".join(BAD.get(n, good[n - 1]) for n in range(1, 13)))
    (tmp_path / "good").write_text("\n".join(good[n - 1] for n in range(1, 13) if n not in BAD))
    assert run(["score", formula, str(tmp_path / "good")]) == 0
    expected = capsys.readouterr().out
    assert run(["score", formula, str(tmp_path / "d"), "--on-bad-row", "skip", "--json"]) == 0
    came = capsys.readouterr()
    assert came.out == expected
    summary = json.loads(came.err)
    assert (summary["rows"], summary["skipped"]) == (7, 5)
    assert [row["row"] for row in summary["skipped_rows"]] == list(BAD)
    assert "twice" in summary["skipped_rows"][-1]["reason"] and summary["skipped_rows"][0]["where"].endswith("d:2")
    assert run(["score", formula, str(tmp_path / "d"), "--on-bad-row", "skip", "--limit", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().err)["skipped"] == (0 if formula == "length()" else 1)
    assert run(["score", formula, str(tmp_path / "d"), "--on-bad-row", "skip"]) == 0
    assert f"{tmp_path / 'd'}:9: is a JSON list" in capsys.readouterr().err


def test_if_all_rows_are_bad_nothing_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "d").write_text("{\n" * 40)
    out = tmp_path / "out"
    assert run(["score", "length()", str(tmp_path / "d"), "--on-bad-row", "skip", "--out", str(out)]) == 2
    assert f"all 40 rows of {tmp_path / 'd'} are bad; the first: {tmp_path / 'd'}:1: is not JSON" in (
        capsys.readouterr().err
    )
    assert not out.exists()


def test_a_limit_reads_no_further(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with fifo(tmp_path / "pipe", b'{"response": "a"}\n' * 3 + b"no row\n") as pipe:
        assert run(["score", "length()", str(pipe), "--limit", "3"]) == 0
    assert capsys.readouterr().out.count("\n") == 3


def test_zstd_without_pyarrow_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "d").write_bytes(zstd(TEXT))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(Exception, match="zstd compressed needs pyarrow, which is not installed"):
        read(tmp_path / "d")


def test_parquet_from_a_pipe_without_room_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = parquet(TEXT)
    monkeypatch.setattr(tempfile, "TemporaryFile", partial(open, "/dev/full", "r+b", buffering=0))
    with fifo(tmp_path / "pipe", data) as pipe, pytest.raises(DataError, match="another TMPDIR"):
        read(pipe)
