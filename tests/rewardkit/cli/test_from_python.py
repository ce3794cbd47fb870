"""`rewardkit from-python` as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rewardkit.cli import run
from tests.rewardkit.translate.sources import CASES


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "compute_score.py"
    path.write_text(CASES["compared texts"].source)
    return path


def test_it_prints_the_formula_and_what_differs_by_line(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["from-python", str(file)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split(maxsplit=1) == ["formula", CASES["compared texts"].formula]
    assert lines[2].startswith("total     similar")
    at = next(i for i, line in enumerate(lines) if line.lstrip().startswith("8  similar  match.group(1)"))
    assert lines[at + 1].strip() == "-> exact()" and "folds blanks" in lines[at + 2]


def test_what_is_left_out_is_exit_code_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "reward.py"
    file.write_text(CASES["a part that no term says"].source)
    assert run(["from-python", str(file), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["formula"] == "0.5 * contains('please')" and found["level"] == "left_out"
    assert [n["line"] for n in found["notes"] if n["level"] == "left_out"] == [6]


def test_rows_show_where_the_two_differ(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = tmp_path / "rows.jsonl"
    texts = ["<answer>4  2</answer>", "<answer>42</answer>", "42", "<answer>43</answer>"]
    golds = ["4 2", "42", "42", "42"]
    rows.write_text(
        "".join(json.dumps({"response": t, "ground_truth": g}) + "\n" for t, g in zip(texts, golds, strict=True))
    )
    assert run(["from-python", str(file), "--check", str(rows)]) == 0
    out = capsys.readouterr().out
    assert "checked on 4 rows: 1 differ" in out
    assert f"{rows}:1: 0 by the file, 1 by the formula; gold '4 2'" in out.replace("\n", "")


def test_a_function_that_is_not_there(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["from-python", str(file), "--function", "compute_scores"]) == 2
    assert "did you mean 'compute_score'" in capsys.readouterr().err
    assert run(["from-python", str(file.with_name("none.py"))]) == 2
