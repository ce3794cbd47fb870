"""A Python function is audited by its signature, and may do what it likes."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rewardkit.audit import FormulaSubject, FunctionSubject, audit, load_subject
from rewardkit.errors import ConfigError
from tests.rewardkit.audit.rows import problems


def verl(data_source: str, solution_str: str, ground_truth: str, extra_info: dict[str, Any]) -> dict[str, float]:
    print("noise")
    return {"score": float(solution_str.endswith(ground_truth)), "acc": 1.0}


def trl(completions: list[Any], solution: list[str], **columns: Any) -> list[float | None]:
    assert set(columns) >= {"prompts", "completion_ids"}
    return [float(c[0]["content"].endswith(s)) for c, s in zip(completions, solution, strict=True)]


def plain(completion: str, answer: str) -> float:
    return float(completion.endswith(answer))


@pytest.mark.parametrize("function", [verl, trl, plain])
def test_signatures(function: Callable[..., Any], capsys: pytest.CaptureFixture[str]) -> None:
    subject = FunctionSubject(function, function.__name__)
    row = problems()[0]
    assert subject.pay([row.sample("#### 72"), row.sample("#### 73")]).total.tolist() == [1.0, 0.0]
    assert subject.parts([row.sample("")]) == {}
    assert capsys.readouterr().out == ""


def test_failures_are_nan_with_a_reason() -> None:
    def fails(completion: str) -> float:
        return {"a": float("nan"), "b": float("inf")}.get(completion) or 1 / len(completion)

    row = problems()[0]
    paid = FunctionSubject(fails, "fails").pay([row.sample(t) for t in ("a", "b", "", "xx")])
    assert np.isnan(paid.total[:3]).all() and paid.total[3] == 0.5
    assert "it paid nan" in paid.reasons[0] and "it paid inf" in paid.reasons[1]
    assert "ZeroDivisionError" in paid.reasons[2]


def test_a_function_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("def compute_score(solution_str, ground_truth):\n    return float(ground_truth in solution_str)\n")
    assert isinstance(load_subject(str(file)), FunctionSubject)
    assert isinstance(load_subject(f"{file}:compute_score"), FunctionSubject)
    file.write_text("from rewardkit import gsm8k\nreward = gsm8k()\nterm = gsm8k\n")
    assert isinstance(load_subject(str(file)), FormulaSubject)
    with pytest.raises(ConfigError, match="Term"):
        load_subject(f"{file}:term")
    file.write_text("def other(x):\n    return 1\n")
    with pytest.raises(ConfigError, match=r"takes \(x\)"):
        load_subject(f"{file}:other")
    with pytest.raises(ConfigError, match="no file"):
        load_subject(str(tmp_path / "none.py"))


def test_a_function_that_hangs_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    from rewardkit.audit import resources

    def hangs(completion: str, answer: str) -> float:
        while "(((" in completion:
            time.sleep(0.01)
        return float(completion.endswith(f"#### {answer}"))

    monkeypatch.setattr(resources, "DEADLINE_S", 0.3)
    report = audit(FunctionSubject(hangs, "hangs"), problems(), budget=0)
    slow = [f for f in report.findings if f.code == "slow"]
    assert len(slow) == 1
    assert "was stopped" in slow[0].message
    assert slow[0].evidence is not None and "(((" in slow[0].evidence.text
