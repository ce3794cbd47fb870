"""`rewardkit test`: the laws as pytest runs them, and what the examples of a reward do not notice."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.rewardkit.cli.conftest import ROOT, Done

Run = Callable[..., Done]
FAST = ("--examples", "10")


def test_a_sound_reward_keeps_every_law(rewardkit: Run) -> None:
    done = rewardkit("test", "gsm8k", "--law", "dominates(gsm8k())", *FAST)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("kept") == 10
    assert "9 of 9 laws kept" in done.stdout


def test_a_broken_law_shows_the_smallest_rows(rewardkit: Run) -> None:
    done = rewardkit("test", "length(0.1) + gsm8k()", "--law", "bounded_by_length(1)", *FAST)
    assert done.returncode == 1
    assert "BROKEN" in done.stdout and "Sample(''" in done.stdout
    assert done.stderr == ""


def test_json(rewardkit: Run) -> None:
    done = rewardkit("test", "length(0.1)", "--law", "bounded_by_length(1)", "--json", *FAST)
    assert done.returncode == 1
    printed = json.loads(done.stdout)
    assert printed["reward"] == "length(0.1)"
    broken = [law for law in printed["laws"] if not law["kept"]]
    assert [law["law"] for law in broken] == ["bounded_by_length(1)"]
    assert broken[0]["counterexample"][0]["response"] == ""


def test_the_written_test_file_runs(rewardkit: Run, tmp_path: Path) -> None:
    data = tmp_path / "rows.jsonl"
    data.write_text(json.dumps({"question": "How many?", "answer": "#### 42"}) + "\n")
    (tmp_path / "mine.py").write_text("from rewardkit import gsm8k\nreward = gsm8k()\n")
    done = rewardkit(
        "test",
        "mine.py",
        "--law",
        "dominates(gsm8k())",
        "--law",
        "ignores(rstrip)",
        "--data",
        str(data),
        "--write",
        *FAST,
    )
    assert done.returncode == 0, done.stderr
    (tmp_path / "test_mine.py").write_text(done.stdout)
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_mine.py"],
        cwd=tmp_path, env={"PYTHONPATH": str(ROOT), "PATH": "/bin"}, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout
    assert "10 passed" in ran.stdout


def test_mutants_of_a_ready_made_reward(rewardkit: Run) -> None:
    done = rewardkit("test", "gsm8k_shaped", "--mutants")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "12 of 12 slips are noticed" in done.stdout


def test_a_mutant_that_survives(rewardkit: Run, tmp_path: Path) -> None:
    data = tmp_path / "examples.jsonl"
    data.write_text(json.dumps({"response": "#### 42", "ground_truth": "42", "score": 1.0}) + "\n")
    done = rewardkit("test", "gsm8k() + 0.1 * ends_with('.')", "--mutants", "--data", str(data), "--json")
    assert done.returncode == 1
    printed = json.loads(done.stdout)
    assert {m["slip"] for m in printed["survived"]} == {"drop 0.1 * ends_with('.')", "double ends_with('.')"}
    assert printed["examples_failed"] == []


def test_wrong_use_is_2(rewardkit: Run) -> None:
    for arguments, message in (
        (("gsm8k() +",), "not a formula"),
        (("gsm8k", "--law", "dominate(gsm8k())"), "did you mean 'dominates'"),
        (("gsm8k()", "--mutants"), "EXAMPLES"),
        (("gsm8k", "--data", "none.jsonl"), "no file"),
    ):
        done = rewardkit("test", *arguments)
        assert done.returncode == 2, arguments
        assert message in done.stderr
        assert "Traceback" not in done.stderr
