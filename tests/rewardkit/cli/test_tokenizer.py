"""Rows that hold text only, and the tokenizer that gives them token ids."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("tokenizers", reason="needs tokenizers: pip install 'rewardkit-rl[tokenizer]'")

Run = Callable[..., subprocess.CompletedProcess[str]]

ROWS = [
    {"input": "q", "output": "one two three", "gts": "3", "score": 0.0, "step": 1, "uid": "u_0_0"},
    {"input": "q", "output": "one two three four five #### 3", "gts": "3", "score": 1.0, "step": 1, "uid": "u_1_0"},
    {"input": "q", "output": "", "gts": "3", "score": 0.0, "step": 1, "uid": "u_2_0"},
]
FORMULA = "gsm8k() + overlong(4, 2)"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A folder with a tokenizer of words, which knows a special token that no text is given."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace
    from tokenizers.processors import TemplateProcessing

    words = ["<s>", "[UNK]", "one", "two", "three", "four", "five", "####", "3"]
    tokenizer = Tokenizer(WordLevel({word: i for i, word in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.post_processor = TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)])
    folder = tmp_path_factory.mktemp("model")
    tokenizer.save(str(folder / "tokenizer.json"))
    return str(folder)


@pytest.fixture
def dump(tmp_path: Path) -> str:
    path = tmp_path / "1.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return str(path)


def scores(rewardkit: Run, *arguments: str) -> list[float]:
    done = rewardkit("score", *arguments)
    assert done.returncode == 0, done.stderr
    return [json.loads(line)["score"] for line in done.stdout.splitlines()]


def test_a_dump_without_tokens_is_scored_by_the_tokenizer(rewardkit: Run, model: str, dump: str) -> None:
    """The tokenizer's own start token is no part of a response."""
    assert scores(rewardkit, FORMULA, dump, "--tokenizer", model) == pytest.approx([-0.5, 0.0, 0.0])
    assert scores(rewardkit, FORMULA, dump, "--tokenizer", f"{model}/tokenizer.json") == pytest.approx([-0.5, 0.0, 0.0])
    refused = rewardkit("score", FORMULA, dump)
    assert refused.returncode == 2
    assert "has no `tokens`" in refused.stderr and "--tokenizer MODEL" in refused.stderr


def test_tokens_that_a_row_has_are_its_own(rewardkit: Run, model: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"response": "one", "tokens": [1, 1, 1, 1]}\n{"response": "one two"}\n')
    assert scores(rewardkit, "length(unit='tokens')", str(path), "--tokenizer", model) == [4.0, 2.0]


def test_half_a_surrogate_pair_is_encoded_all_the_same(rewardkit: Run, model: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"response": "one \\ud800 two"}\n')
    assert scores(rewardkit, "length(unit='tokens')", str(path), "--tokenizer", model) == [3.0]


@pytest.mark.parametrize("command", ["compare", "simulate", "report", "explain", "audit"])
def test_every_command_that_scores_rows_takes_it(
    rewardkit: Run, command: str, model: str, dump: str, tmp_path: Path
) -> None:
    row = tmp_path / "row.json"
    row.write_text(json.dumps({"response": ROWS[0]["output"], "ground_truth": "3", "input": "q"}))
    rows = tmp_path / "problems.jsonl"
    rows.write_text("".join(json.dumps({"prompt": "q", "ground_truth": str(n)}) + "\n" for n in range(3, 9)))
    arguments = {
        "compare": [FORMULA, "gsm8k()", dump],
        "simulate": [FORMULA, dump],
        "report": [dump, "--reward", FORMULA],
        "explain": [FORMULA, "--on", str(row)],
        "audit": [FORMULA, str(rows), "--budget", "0", "--rows", "1", "--fail-on", "never"],
    }[command]
    done = rewardkit(command, *arguments, "--tokenizer", model, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    if command == "compare":
        assert found["terms"]["overlong(4, 2)"]["old"] == pytest.approx(-1.5 / 3)
    if command == "report":
        assert "overlong" in str(found["terms"])


def test_no_tokenizer_there_is_said_before_anything_is_read(rewardkit: Run, dump: str, tmp_path: Path) -> None:
    for wrong, says in (
        (str(tmp_path), "no tokenizer.json there"),
        (str(tmp_path / "none"), "no tokenizer.json there"),
    ):
        done = rewardkit("score", FORMULA, dump, "--tokenizer", wrong)
        assert done.returncode == 2 and says in done.stderr
    (tmp_path / "tokenizer.json").write_text("{}")
    done = rewardkit("score", FORMULA, dump, "--tokenizer", str(tmp_path))
    assert done.returncode == 2 and "can't be read" in done.stderr
