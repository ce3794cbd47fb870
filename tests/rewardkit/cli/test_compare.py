"""`rewardkit compare` as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rewardkit.cli import run


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "rows.jsonl"
    texts = ["#### 4", "#### 5 [b]", "x" * 500 + "\n#### 4"]
    path.write_text("".join(json.dumps({"response": t, "ground_truth": "4", "group": 1}) + "\n" for t in texts))
    return path


def test_it_shows_rows_terms_and_the_largest_differences(rows: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["compare", "gsm8k()", "length(0.1) + 0.5 * gsm8k()", str(rows)]) == 0
    out = capsys.readouterr().out
    for part in (
        "old  gsm8k()  pays 0.6667 on average, 0 to 1",
        "rows              3: 3 scored by both",
        "paid differently  3 of 3 rows (100.0%), by -0.06667 on average over all",
        "best response     changes in 0 of 1 groups (0.0%)",
        "length(0.1)",
        "'#### 5 [b]'",
        "gsm8k(): 1 -> 0.5; length(0.1): 0.2",
        "x ... xx",
    ):
        assert part in out, part


def test_fail_on_difference(rows: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["compare", "gsm8k()", "1 * gsm8k()", str(rows), "--fail-on-difference"]) == 0
    assert run(["compare", "gsm8k()", "2 * gsm8k()", str(rows)]) == 0
    assert run(["compare", "gsm8k()", "2 * gsm8k()", str(rows), "--fail-on-difference"]) == 1
    capsys.readouterr()
    assert run(["compare", "gsm8k()", "2 * gsm8k()", str(rows), "--json", "--fail-on-difference"]) == 1
    assert json.loads(capsys.readouterr().out)["paid_differently"]["rows"] == 2


def test_a_row_that_one_side_alone_scores_is_a_difference(rows: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows.write_text('{"response": "#### 4", "ground_truth": null}\n{"response": "", "ground_truth": "4"}\n')
    assert run(["compare", "gsm8k()", "0 * length()", str(rows), "--fail-on-difference"]) == 1
    assert "1 scored by both, 1 by new only" in capsys.readouterr().out
