"""`rewardkit data gsm8k` as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rewardkit.cli import run

pytest.importorskip("pyarrow")


def test_it_writes_and_says_what(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "rows.jsonl"
    source.write_text(json.dumps({"question": "1 + 1?", "answer": "#### 2"}) + "\n")
    assert run(["data", "gsm8k", "--from", str(source), "--out", str(tmp_path / "out")]) == 0
    assert capsys.readouterr().out == f"{tmp_path / 'out' / 'train.parquet'}: 1 rows\n"


def test_bad_rows_are_exit_code_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "rows.jsonl"
    source.write_text("nonsense\n")
    assert run(["data", "gsm8k", "--from", str(source), "--out", str(tmp_path / "out")]) == 2
    captured = capsys.readouterr()
    assert f"{source}:1: is not JSON" in captured.err
    assert captured.out == ""
    assert not (tmp_path / "out").exists()
