"""Rows come from the files that people have."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rewardkit.audit import read_problems
from rewardkit.errors import DataError


def written(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(r) + "\n" for r in rows))
    return path


def test_question_and_answer(tmp_path: Path) -> None:
    (p,) = read_problems(written(tmp_path / "d.jsonl", {"question": "How many?", "answer": "6*12\n#### 72"}), 6)
    assert (p.prompt, p.truth.text, p.ground_truth, p.solution) == ("How many?", "72", "72", "6*12\n#### 72")
    assert p.response is None


@pytest.mark.parametrize("text", ["", "\n\n"])
def test_an_empty_file_is_called_one(text: str, tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_text(text)
    with pytest.raises(DataError, match=r"empty\.jsonl has no rows$"):
        read_problems(tmp_path / "empty.jsonl", 6)


def test_verls_parquet_without_responses(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    row = {
        "data_source": "openai/gsm8k",
        "prompt": [{"role": "user", "content": "How many?"}],
        "reward_model": {"style": "rule", "ground_truth": "72"},
        "extra_info": {"index": 3},
    }
    pq.write_table(pa.Table.from_pylist([row]), tmp_path / "d.parquet")
    (p,) = read_problems(tmp_path / "d.parquet", 6)
    assert (p.prompt, p.ground_truth, p.data_source, p.extra_info) == ("How many?", "72", "openai/gsm8k", {"index": 3})


def test_rows_are_spread_and_ground_truths_differ(tmp_path: Path) -> None:
    rows = [{"prompt": "?", "ground_truth": str(i // 10)} for i in range(100)]
    read = read_problems(written(tmp_path / "d.jsonl", *rows), 5)
    assert len({p.truth.text for p in read}) == 5
    assert max(int(p.truth.text) for p in read) >= 7


def test_no_ground_truth_is_an_error_that_says_how_to_name_it(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="`text`") as e:
        read_problems(written(tmp_path / "d.jsonl", {"text": "How many?"}), 5)
    assert "ground_truth" in str(e.value)
    with pytest.raises(DataError, match="no file"):
        read_problems(tmp_path / "none.jsonl", 5)
