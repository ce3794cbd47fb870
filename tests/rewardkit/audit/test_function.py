"""A Python function is audited by its signature, and may do what it likes."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rewardkit.audit import FormulaSubject, FunctionSubject, audit, load_subject
from rewardkit.diagnostics import Severity
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


def trl_of_texts(completions: list[str], **columns: Any) -> list[float]:
    return [float(c.endswith(a)) for c, a in zip(completions, columns["ground_truth"], strict=True)]


def trl_of_prompts(prompts: list[str], completions: list[str], answer: list[str]) -> list[float]:
    assert all(isinstance(p, str) for p in prompts)
    return [float(c.endswith(a)) for c, a in zip(completions, answer, strict=True)]


async def awaited(solution_str: str, ground_truth: str) -> float:
    return float(solution_str.endswith(ground_truth))


def starred(*_: Any, **columns: Any) -> float:
    assert set(columns) == {"data_source", "solution_str", "ground_truth", "extra_info"}
    return float(columns["solution_str"].endswith(columns["ground_truth"]))


def by_place(*given: Any) -> float:
    _, text, truth, _ = given
    return float(text.endswith(truth))


@pytest.mark.parametrize("function", [verl, trl, plain, trl_of_texts, trl_of_prompts, awaited, starred, by_place])
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
    from rewardkit.audit import apart

    def hangs(completion: str, answer: str) -> float:
        while "(((" in completion:
            time.sleep(0.01)
        return float(completion.endswith(f"#### {answer}"))

    monkeypatch.setattr(apart, "DEADLINE_S", 0.3)
    report = audit(FunctionSubject(hangs, "hangs"), problems(), budget=0)
    slow = [f for f in report.diagnostics if f.code == "slow"]
    assert len(slow) == 1
    assert "was stopped" in slow[0].message
    assert slow[0].evidence is not None and "(((" in slow[0].evidence.text


def test_a_bonus_for_each_occurrence_is_repeated_up_to_the_limit() -> None:
    def counts(completion: str, answer: str) -> float:
        return 0.002 * completion.count("<tool_call>") + float(completion.endswith(f"#### {answer}"))

    report = audit(FunctionSubject(counts, "counts"), problems(), budget=0)
    worst = report.diagnostics[0]
    assert (worst.code, worst.severity) == ("outscores-right", Severity.ERROR)
    assert worst.evidence is not None and worst.evidence.text.count("<tool_call>") > 500


@pytest.mark.parametrize("remembers", [False, True])
def test_a_function_that_changes_its_mind_is_not_said_to_pay_wrong_answers(remembers: bool) -> None:
    seen: dict[str, float] = {}

    def moody(completion: str, answer: str) -> float:
        if remembers:
            return seen.setdefault(answer, float(completion.endswith(f"#### {answer}")))
        return float(random.random() < 0.1 or completion.endswith(f"#### {answer}"))

    report = audit(FunctionSubject(moody, "moody"), problems(), budget=0)
    assert "not-deterministic" in {f.code for f in report.diagnostics}
    assert not report.reaches(Severity.ERROR)


def test_a_hole_behind_noise_is_found_beside_it() -> None:
    def noisy(completion: str, answer: str) -> float:
        return float(answer in completion) + random.uniform(-0.01, 0.01)

    codes = {f.code for f in audit(FunctionSubject(noisy, "noisy"), problems(), budget=0).diagnostics}
    assert "not-deterministic" in codes and codes & {"paid-as-right", "outscores-right"}


def test_values_in_another_order_than_the_responses() -> None:
    def turned(completions: list[str], answer: list[str]) -> list[float]:
        right = [float(c.endswith(f"#### {a}")) for c, a in zip(completions, answer, strict=True)]
        return right[-1:] + right[:-1]

    report = audit(FunctionSubject(turned, "turned"), problems(), budget=0)
    assert ("outscores-right", "group") in {(f.code, f.family) for f in report.diagnostics}
