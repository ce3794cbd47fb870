"""The page on adding an operation and a term, followed word for word in a copy of the tree."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```\w+\n# (?P<path>\S+?)(?:, (?P<where>[^\n]+))?\n(?P<code>.*?)^```$", re.M | re.S)


def blocks() -> list[re.Match[str]]:
    return list(BLOCK.finditer((ROOT / "docs" / "adding.md").read_text()))


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for folder in ("rewardkit", "tests", "docs"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def follow(tree: Path, *, but: str = "nothing") -> None:
    """Put every block of the page where it says, but for those of one file, or one rule."""
    for block in blocks():
        path, where, code = tree / block["path"], block["where"], block["code"]
        if but == block["path"]:
            continue
        code = re.sub(rf"    def {but}\(self.*?(?=\n    def |\n\n\n)", "", code, flags=re.S)
        if where is None:
            path.write_text(code)
        elif where == "at the end":
            path.write_text(path.read_text() + ("\n\n" if "class " in code else "") + code)
        else:
            place = where.removeprefix("after ")
            before, line, after = re.split(rf"^({re.escape(place)}.*\n)", path.read_text(), maxsplit=1, flags=re.M)
            path.write_text(before + line + code + after)


def run(tree: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """A command in the copy, whose rewardkit comes first."""
    environment = os.environ | {"PYTHONPATH": str(tree)}
    return subprocess.run([sys.executable, *command], cwd=tree, env=environment, capture_output=True, text=True)


def pytest_in(tree: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run(tree, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments)


def test_an_operation_is_one_class_and_a_line_of_export(tree: Path) -> None:
    sources = {b["path"] for b in blocks() if "group_range" in b["code"] and b["path"].startswith("rewardkit")}
    assert sources == {"rewardkit/algebra/operations/groups.py", "rewardkit/algebra/operations/__init__.py"}
    follow(tree)
    result = pytest_in(tree, "tests/rewardkit/algebra/test_operations.py", "-k", "group_range or second or needs")
    assert result.returncode == 0, result.stdout[-3000:]
    assert int(re.search(r"(\d+) passed", result.stdout)[1]) >= 7
    code = """
from rewardkit import Batch, Sample, Score, Status, compile, group_range, parse, term
@term(bounds=(-9, 9), optional=True)
def value(sample: Sample) -> Score:
    text = sample.response
    return Score(status=Status[text]) if text.isupper() else Score(float(text))
program = compile(group_range(value()))
assert parse(repr(program.reward), {"value": value}) == program.reward
assert (program.bounds.low, program.bounds.high) == (0, 18)
rows = ["1", "2", "2", "5", "7", "1", "3", "NOT_APPLICABLE", "ERROR", "NO_ANSWER"]
scores = program(Batch(rows, groups=["a"] * 4 + ["one"] + ["b"] * 4 + ["failed"]))
print(scores.total.tolist(), [Status(int(s)).name for s in scores.status[-3:]])
"""
    shown = run(tree, "-c", code)
    totals = "[4.0, 4.0, 4.0, 4.0, 0.0, 2.0, 2.0, nan, nan, 0.0]"
    assert shown.stdout.strip() == f"{totals} ['NOT_APPLICABLE', 'ERROR', 'NO_ANSWER']", shown.stderr[-2000:]


def test_a_term_is_one_file_and_a_line_of_export(tree: Path) -> None:
    sources = {b["path"] for b in blocks() if "sentence" in b["code"] and b["path"].startswith("rewardkit")}
    assert sources == {"rewardkit/terms/sentences.py", "rewardkit/terms/__init__.py"}
    follow(tree)
    result = pytest_in(tree, "tests/rewardkit/terms/test_vocabulary.py", "-k", "sentence or every_term")
    assert result.returncode == 0, result.stdout[-3000:]
    assert run(tree, "docs/make_terms.py").returncode == 0
    page = (tree / "docs" / "terms.md").read_text()
    assert "sentence_count" in page
    assert "group_range" in page
    shown = run(tree, "-c", "from rewardkit import sentence_count, group_range as r; print(r(sentence_count(cap=2)))")
    assert shown.stdout.strip() == "group_range(sentence_count(cap=2))", shown.stderr[-2000:]


def test_a_rule_that_is_left_out_is_an_error_at_import(tree: Path) -> None:
    follow(tree, but="bounds")
    result = run(tree, "-c", "from rewardkit import length; length()")
    assert "the operation GroupRange lacks its rule `bounds`" in result.stderr


@pytest.mark.parametrize("path", ["tests/strategies.py", "tests/reference.py"])
def test_a_strategy_or_second_meaning_that_is_left_out_fails_a_test(tree: Path, path: str) -> None:
    follow(tree, but=path)
    result = pytest_in(tree, "tests/rewardkit/algebra/test_operations.py", "-k", "second_implementation")
    assert result.returncode == 1
    assert "group_range" in result.stdout
