"""What all subcommands' outputs have in common: plain in a pipe, styled on a terminal without NO_COLOR; exit codes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rewardkit.cli import COMMANDS, run
from tests.rewardkit.report.dumps import hacked

ESC = "\x1b"
RESPONSES = [
    {"response": "6 * 7 = 42\n#### 42", "ground_truth": "42", "prompt": "6 * 7?"},
    {"response": "It is 43.", "ground_truth": "42", "prompt": "6 * 7?"},
]
QUESTIONS = [{"question": f"What is {n} + {n}?", "answer": f"{n} + {n} = {2 * n}\n#### {2 * n}"} for n in range(10, 17)]
REWARD = """from rewardkit import gsm8k
reward = gsm8k()
EXAMPLES = [("#### 42", "42", 1.0), ("#### 41", "42", 0.0)]
"""
EXISTING = """def compute_score(data_source, solution_str, ground_truth, extra_info=None):
    return 1.0 if solution_str.endswith(".") else 0.0
"""
NEED_VERL = ("train", "doctor", "recipes", "validate", "schema", "migrate", "verl-args")

CODES: list[tuple[str, int]] = [
    ("--help", 0),
    ("--version", 0),
    ("", 2),
    ("scroe", 2),
    ("--no-such-option", 2),
    ("terms length", 0),
    ("terms lenght", 2),
    ("rewards", 0),
    ("explain gsm8k()", 0),
    ("explain gsm8k(", 2),
    ("explain no_such.py", 2),
    ("score gsm8k() responses.jsonl", 0),
    ("score gsm8k() no_such.jsonl", 2),
    ("score gsm8k() questions.jsonl", 2),
    ("score gsm8k()", 2),
    ("test gsm8k() --examples 1", 0),
    ("test 1/length()", 2),
    ("test gsm8k()+length(1) --law dominates(gsm8k()) --examples 5", 1),
    ("test my_reward.py --mutants", 0),
    ("test gsm8k() --mutants", 2),
    ("audit gsm8k() questions.jsonl --budget 0 --rows 1", 0),
    ("audit length(1)+gsm8k() questions.jsonl --budget 0 --rows 1", 1),
    ("audit gsm8k() no_such.jsonl", 2),
    ("serve lenght()", 2),
    ("report rollouts", 0),
    ("report no_such", 2),
    ("data gsm8k --from questions.jsonl --out data --split train", 0),
    ("data gsm8k --from responses.jsonl --out other --split train", 2),
    ("data check responses.jsonl --reward gsm8k()", 0),
    ("data check no_gold.jsonl --reward gsm8k()", 1),
    ("config recipes", 0),
    ("config recipes copy tiny --to copied.yaml", 0),
    ("config recipes copy tinny", 2),
    ("config validate tiny --no-verl", 0),
    ("config validate tiny --no-verl rollout.m=3", 2),
    ("config validate tiny --no-verl data.train_files=no_such.parquet", 2),
    ("config schema --field rollout.n", 0),
    ("config schema --field rollout.no_such", 2),
    ("config migrate no_such.yaml --out new.yaml", 2),
    ("doctor tiny", 0),
    ("doctor tinny", 2),
    ("doctor tiny data.train_files=no_such.parquet", 2),
    ("train tiny --dry-run", 0),
    ("train tiny --dry-run trainer.no_such=1", 2),
    ("config verl-args gsm8k()", 0),
    ("config verl-args gsm8k", 0),
    ("config verl-args no_such", 2),
    ("convert no_such out", 2),
    ("convert rollouts out", 2),
    ("config", 2),
    ("compare gsm8k() exact() responses.jsonl", 0),
    ("simulate gsm8k() responses.jsonl --estimator ppo", 2),
    ("compare existing.py gsm8k() responses.jsonl --fail-on-difference", 1),
    ("compare existing.py gsm8k() no_such.jsonl", 2),
    ("compare existing.py gsm8k(", 2),
]
"""Command lines, words parted by blanks, and how they end."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Small files of every kind, in the working folder."""

    def lines(name: str, rows: list[dict[str, Any]]) -> None:
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows))

    lines("responses.jsonl", RESPONSES)
    lines("questions.jsonl", QUESTIONS)
    lines("no_gold.jsonl", [{"response": "#### 42", "ground_truth": ground_truth} for ground_truth in ("42", None)])
    (tmp_path / "my_reward.py").write_text(REWARD)
    (tmp_path / "existing.py").write_text(EXISTING)
    hacked(tmp_path / "rollouts")
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def needs(line: str) -> None:
    command = line.partition(" ")[0]
    if command in NEED_VERL:
        pytest.importorskip("verl")
    if command == "convert":
        pytest.importorskip("torch")
    if command == "data":
        pytest.importorskip("pyarrow")


def test_every_subcommand_is_tried() -> None:
    tried = {line.split(" ")[0] for line, _ in CODES}
    assert tried >= set(COMMANDS)


@pytest.mark.parametrize(("line", "code"), CODES)
def test_its_exit_code_and_plain_output(line: str, code: int, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    needs(line)
    assert run(line.split(" ") if line else []) == code, capfd.readouterr()
    came = capfd.readouterr()
    assert ESC not in came.out + came.err
    assert "Traceback" not in came.err
    if code == 2 and line:
        assert came.err.startswith(("rewardkit: ", "Usage: ")) or "error" in came.out + came.err


@pytest.mark.parametrize("line", ["explain gsm8k()", "terms", "rewards", "report rollouts"])
def test_styles_on_a_terminal_only_without_no_color(
    line: str, folder: Path, on_terminal: Callable[..., str], rewardkit: Callable[..., Any]
) -> None:
    words = line.split(" ")
    assert ESC in on_terminal(*words)
    shown = on_terminal(*words, NO_COLOR="1")
    assert f"{ESC}[1m" not in shown and f"{ESC}[3" not in shown
    assert ESC in rewardkit(*words, FORCE_COLOR="1", NO_COLOR="").stdout


@pytest.mark.parametrize(
    ("typed", "meant"), [("scroe", "score"), ("recipe", "config recipes"), ("verl_args", "config verl-args")]
)
def test_a_slip_in_a_subcommand_is_answered_by_the_nearest(
    typed: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([typed]) == 2
    assert f"Did you mean {meant!r}" in capsys.readouterr().err


def test_a_slip_in_an_option_is_answered_by_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["train", "--dryrun"]) == 2
    assert "--dry-run" in capsys.readouterr().err
