"""`rewardkit audit`: what it prints, what it writes, and its exit codes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.rewardkit.audit.rows import ROWS
from tests.rewardkit.cli.conftest import Done

Run = Callable[..., Done]
LONG = "length(0.1) + ends_with('.?!') + 2*gsm8k()"


@pytest.fixture
def data(tmp_path: Path) -> str:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return str(path)


def test_a_hole_is_1_and_is_shown_with_a_formula_that_has_none(rewardkit: Run, data: str) -> None:
    done = rewardkit("audit", LONG, data, "--budget", "0")
    assert done.returncode == 1, done.stderr
    out = done.stdout
    assert "error   [outscores-right/format] a wrong answer is paid" in out
    assert "for length(0.1)" in out
    assert "instead     when(gsm8k(), 2 + length(0.1, cap=0.5) + ends_with('.?!'), 0)" in out
    assert "who answers like this" in out and "control     a reference grader, gsm8k(): nothing" in out
    assert "\x1b" not in out and done.stderr == ""


def test_nothing_found_is_0(rewardkit: Run, data: str) -> None:
    done = rewardkit("audit", "gsm8k", data, "--budget", "0")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "nothing found" in done.stdout


def test_fail_on(rewardkit: Run, data: str) -> None:
    assert rewardkit("audit", LONG, data, "--budget", "0", "--fail-on", "never").returncode == 0
    capped = "gsm8k() + length(0.01, cap=0.5)"
    assert rewardkit("audit", capped, data, "--budget", "0").returncode == 0
    assert rewardkit("audit", capped, data, "--budget", "0", "--fail-on", "note").returncode == 1
    old = rewardkit("audit", capped, data, "--budget", "0", "--fail-on", "low")
    assert (old.returncode, old.stderr) == (1, "warning: --fail-on low is now: --fail-on note\n")
    refused = rewardkit("audit", capped, data, "--fail-on", "bad")
    assert refused.returncode == 2 and "not one of error, warning, note, never" in refused.stderr


def test_json_and_html(rewardkit: Run, data: str, tmp_path: Path) -> None:
    done = rewardkit("audit", LONG, data, "--budget", "0", "--json", "--html", "audit.html")
    assert done.returncode == 1
    printed = json.loads(done.stdout)
    assert printed["diagnostics"][0]["code"] == "outscores-right"
    assert printed["diagnostics"][0]["evidence"]["pay"] > printed["diagnostics"][0]["evidence"]["honest_pay"]
    assert printed["answer_form"] and printed["controls"][0]["as_expected"]
    html = (tmp_path / "audit.html").read_text()
    assert html.startswith("<!doctype html>") and "<script" not in html
    assert "outscores-right" in html


def test_a_function_of_the_user_s(rewardkit: Run, data: str, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "def compute_score(data_source, solution_str, ground_truth, extra_info=None):\n"
        "    return float(str(ground_truth) in solution_str)\n"
    )
    done = rewardkit("audit", "mine.py:compute_score", data, "--budget", "0")
    assert done.returncode == 1, done.stderr
    assert "a Python function: its total is all that can be seen" in done.stdout
    assert "paid-as-right/enumeration" in done.stdout and "paid-as-right/negation" in done.stdout
    assert "instead     gsm8k()" in done.stdout


def test_wrong_use_is_2(rewardkit: Run, data: str, tmp_path: Path) -> None:
    (tmp_path / "other.py").write_text("def f(x):\n    return 1\n")
    (tmp_path / "no_gold.jsonl").write_text('{"text": "hello"}\n')
    for arguments, message in (
        (("gsm8k() +", data), "not a formula"),
        (("gsm8k", "none.jsonl"), "no file"),
        (("gsm8k", "no_gold.jsonl"), "no row of no_gold.jsonl has a ground truth"),
        (("other.py:f", data), "takes (x)"),
        (("gsm8k", data, "--html", "none/a.html", "--budget", "0"), "no folder"),
    ):
        done = rewardkit("audit", *arguments)
        assert done.returncode == 2, (arguments, done.stdout)
        assert message in done.stderr
        assert "Traceback" not in done.stderr


def test_on_a_terminal_it_has_colour(on_terminal: Callable[..., str], data: str) -> None:
    out = on_terminal("audit", "gsm8k", data, "--budget", "0")
    assert "\x1b[" in out and "nothing found" in out
