"""`rewardkit report` as a user runs it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from rewardkit.cli import run
from tests.rewardkit.report.dumps import hacked, verl_dump, verl_row, write_lines


def test_the_summary_says_what_to_look_at_first(rewardkit: Callable, tmp_path: Path) -> None:
    done = rewardkit("report", str(hacked(tmp_path / "rollouts")))
    assert done.returncode == 0, done.stderr
    assert "verl dump: 192 rows in 12 files, steps 1 to 12" in done.stdout
    assert done.stdout.index("near-duplicates") < done.stdout.index("mean")
    assert "groups are dead" in done.stdout
    assert "best paid" in done.stdout
    assert done.stderr == ""


def test_a_terminal_is_not_obeyed_by_texts(on_terminal: Callable[..., str], tmp_path: Path) -> None:
    rows = [verl_row(1, 0, k, "\x1b]0;owned\x07\x1b[2Jtext [red]x[/red]", float(k)) for k in range(2)]
    shown = on_terminal("report", str(verl_dump(tmp_path / "d", {1: rows})))
    assert "\x1b]0;" not in shown
    assert "\x1b[2J" not in shown
    assert "[red]x" in shown


def test_json_is_json_without_nan_whatever_the_texts(rewardkit: Callable, tmp_path: Path) -> None:
    rows = [verl_row(1, 0, k, "\ud800 <b>", float("nan") if k else 1.0) for k in range(2)]
    done = rewardkit("report", str(verl_dump(tmp_path / "d", {1: rows})), "--json")
    assert done.returncode == 0, done.stderr

    def refuse(text: str) -> float:
        raise AssertionError(text)

    printed = json.loads(done.stdout, parse_constant=refuse)
    assert (printed["rows"], printed["unscored"], printed["layout"]) == (2, 0.5, "verl dump")
    assert printed["best"][0]["text"] == "? <b>"


def test_the_page_is_written_whole(rewardkit: Callable, tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    done = rewardkit("report", str(hacked(tmp_path / "rollouts")), "--html", "page.html", "--reward", "length(0.05)")
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "page.html").read_text()
    assert page.startswith("<!doctype html>")
    assert page.rstrip().endswith("</html>")
    assert "<code>length(0.05)</code>" in page


def test_scores_and_their_data_are_read_together(rewardkit: Callable, tmp_path: Path) -> None:
    rows = [{"response": f"the answer is {k}\n#### {k}", "ground_truth": "2", "group": "g"} for k in range(4)]
    write_lines(tmp_path / "data.jsonl", rows)
    assert rewardkit("score", "gsm8k()", "data.jsonl", "--out", "scores.jsonl").returncode == 0
    done = rewardkit("report", "scores.jsonl", "--data", "data.jsonl")
    assert done.returncode == 0, done.stderr
    assert "the answer is 2" in done.stdout
    assert "scores have no texts" in rewardkit("report", "scores.jsonl").stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing"], "no file or folder nothing"),
        (["rollouts", "--html", "no/page.html"], "no folder no"),
        (["rollouts", "--html", "."], "is a folder"),
        (["rollouts", "--reward", "gsm9k()"], "gsm9k"),
        (["rollouts", "--weights", "a"], "--weights got 'a'"),
        (["rollouts", "--weights", "a=x"], "--weights got 'a=x'"),
        (["rollouts", "--weights", "a=1"], "--weights goes with TRL's completions"),
    ],
)
def test_bad_input_is_one_message_and_exit_code_2(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    verl_dump(tmp_path / "rollouts", {1: [verl_row(1, 0, 0, "x", 1.0)]})
    monkeypatch.chdir(tmp_path)
    assert run(["report", *arguments]) == 2
    said = capsys.readouterr()
    assert message in said.err
    assert "Traceback" not in said.err
    assert said.out == ""
    assert [file.name for file in tmp_path.iterdir()] == ["rollouts"]
