"""Scoring in chunks gives what scoring at once would: no cut shows in the rows, the groups or the summary."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit import Batch, compile
from rewardkit.errors import DataError
from rewardkit.scoring import groups as grouping
from rewardkit.scoring import reading, score_file
from rewardkit.scoring.groups import first_rows, whole_groups
from rewardkit.scoring.reading import Chunk, Rows
from rewardkit.scoring.tally import Tally


@given(st.lists(st.lists(st.sampled_from(["one two.", "", "a", "w " * 1000]), min_size=1), min_size=1, max_size=5))
def test_the_tally_of_chunks_is_that_of_all_rows(chunks: list[list[str]]) -> None:
    program = compile("0.1 * length() + ends_with('.') - 1000")
    tally = Tally()
    for chunk in chunks:
        tally.add(program(Batch(chunk)))
    whole = program(Batch([text for chunk in chunks for text in chunk]))
    of_chunks = tally.as_dict()
    summary = whole.summary()
    assert of_chunks["rows"] == len(whole)
    for name, moments in {"total": of_chunks["total"], **of_chunks["terms"]}.items():
        np.testing.assert_allclose(moments["mean"], summary[f"{name}/mean"], rtol=1e-12)
        np.testing.assert_allclose(moments["std"], summary[f"{name}/std"], rtol=1e-9, atol=1e-9)
    assert of_chunks["total"]["min"] == whole.total.min()
    assert of_chunks["total"]["max"] == whole.total.max()


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Rows:
    path = tmp_path_factory.mktemp("data") / "rows.jsonl"
    path.write_text("{}\n")
    return Rows(path, ("response", "group"))


sizes = st.lists(st.integers(1, 6), min_size=1, max_size=8)


@given(sizes, st.lists(st.integers(1, 9), min_size=1), st.none() | st.integers(1, 30))
def test_groups_stay_whole_and_rows_in_order(source: Rows, of: list[int], cuts: list[int], limit: int | None) -> None:
    rows = [{"group": f"g{g}", "i": i} for g, n in enumerate(of) for i in range(n)]
    chunks, at = [], 0
    while at < len(rows):
        size = cuts[len(chunks) % len(cuts)]
        chunks.append(Chunk(rows[at : at + size], range(at + 1, at + 1 + size), 0.0))
        at += size
    whole_chunks = list(whole_groups(source, chunks, limit))
    seen = [row for chunk in whole_chunks for row in chunk.rows]
    ends = [int(e) for e in np.cumsum(of)]
    assert seen == rows[: next((e for e in ends if limit is not None and e >= limit), len(rows))]
    assert [n for chunk in whole_chunks for n in chunk.numbers] == list(range(1, len(seen) + 1))
    for chunk in whole_chunks:
        assert chunk.rows[0]["i"] == 0  # begins with a group's first row
    cut = list(first_rows(chunks, limit))
    assert [row for chunk in cut for row in chunk.rows] == rows[:limit]


def test_a_chunk_ends_by_bytes_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "long.jsonl"
    path.write_text("".join(json.dumps({"response": "w" * 500}) + "\n" for _ in range(20)))
    monkeypatch.setattr(reading, "CHUNK_BYTES", 1_000)
    chunks = list(Rows(path, ("response",)).chunks())
    assert [len(chunk.rows) for chunk in chunks] == [2] * 10
    assert chunks[-1].numbers == [19, 20] and chunks[-1].done == 1.0


def test_a_line_over_the_limit_is_an_error_before_it_is_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "array.jsonl"
    path.write_text(json.dumps([{"response": "w"}] * 1000))
    monkeypatch.setattr(reading, "MAX_LINE_BYTES", 1_000)
    with pytest.raises(DataError, match=r"array\.jsonl:1: is longer than 1,000 bytes"):
        list(Rows(path, ("response",)).chunks())


def test_a_group_that_is_the_whole_file_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "one.jsonl"
    path.write_text('{"response": "a", "group": 1}\n' * 50)
    monkeypatch.setattr(grouping, "MAX_GROUP_ROWS", 20)
    monkeypatch.setattr(reading, "CHUNK_ROWS", 8)
    with pytest.raises(DataError, match="the group 1 has over 20 rows"):
        score_file(compile("group_rank(length())"), path, lambda text: None)


def test_parquet_chunks_fit_the_size_of_its_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    texts = [f"{i} " + "w" * 2_000 for i in range(100)]
    parquet.write_table(pa.table({"response": texts, "unread": texts}), tmp_path / "d.parquet", compression="none")
    monkeypatch.setattr(reading, "CHUNK_BYTES", 40_000)
    chunks = list(Rows(tmp_path / "d.parquet", ("response",)).chunks())
    assert len(chunks) > 5
    assert [row for chunk in chunks for row in chunk.rows] == [{"response": text} for text in texts]
    assert chunks[-1].numbers[-1] == 100


@pytest.mark.parametrize("rows", [3, 5_000])
def test_a_file_is_one_batch_however_many_chunks_it_has(rows: int, tmp_path: Path) -> None:
    texts = ["w " * (i % 7) for i in range(rows)]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps({"response": t}) + "\n" for t in texts))
    written: list[str] = []
    score_file(compile("batch_zscore(length())"), path, written.append)
    scores = [json.loads(line)["score"] for line in "".join(written).splitlines()]
    expected = compile("batch_zscore(length())")(Batch(texts)).total
    np.testing.assert_allclose(scores, expected, rtol=1e-9, atol=1e-9)


def test_a_file_that_is_no_batch_of_a_trainer_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(grouping, "MAX_BATCH_ROWS", 3)
    path = tmp_path / "rows.jsonl"
    path.write_text('{"response": "a"}\n' * 4)
    with pytest.raises(DataError, match=r"compares all rows of a file with each other, and there are over 3"):
        score_file(compile("batch_zscore(length())"), path, print)
