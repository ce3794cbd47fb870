"""A whole run of a tiny model that is paid by unit tests: what becomes of its programs is in the metrics, by status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("verl", reason="needs verl installed: pip install 'rewardkit-rl[verl]'")

from rewardkit.cli import run as rewardkit
from tests.trainer_glue.verl.launch.test_real_run import start, steps_in, wait_until_gone

pytestmark = pytest.mark.run

FORMULA = "code_tests(pay='share') + 0.5 * code_tests(fenced=False, cpu_seconds=1).named('bare') + length(0.1, cap=1)"
TASK = {"text": "Write a function to add two numbers.", "test_list": ["assert add(1, 2) == 3", "assert add(0, 1) == 1"]}


def test_three_steps_paid_by_unit_tests(tmp_path: Path) -> None:
    source = tmp_path / "mbpp.jsonl"
    rows = [{**TASK, "task_id": i, "text": f"{TASK['text']} ({i})"} for i in range(48)]
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert rewardkit(["data", "mbpp", "--from", str(source), "--out", str(tmp_path), "--split", "train"]) == 0
    files = [f"data.{kind}_files={tmp_path / 'train.parquet'}" for kind in ("train", "val")]
    limits = ("trainer.total_training_steps=3", "data.max_prompt_length=256")
    process = start(tmp_path, "--reward", FORMULA, *files, *limits)
    text, _ = process.communicate(timeout=900)
    print(text)
    assert process.returncode == 0
    run = tmp_path / "runs" / "tiny"
    steps = steps_in(run)
    assert list(steps) == [1, 2, 3]
    for step, values in steps.items():
        shown = {name: value for name, value in values.items() if "/status/" in name or name.startswith("reward/")}
        print(step, shown)
        # words are no program: without a code block there is no answer, and taken for a program they are wrong
        assert values["reward/code_tests/status/no_answer"] == 1.0 and values["reward/code_tests/mean"] == 0.0
        assert values["reward/bare/status/scored"] + values["reward/bare/status/no_answer"] == pytest.approx(1.0)
        assert values["reward/bare/status/scored"] > 0.5
        assert values["critic/score/mean"] == pytest.approx(values["reward/total/mean"], abs=1e-4)
    wait_until_gone(run)
