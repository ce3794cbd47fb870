"""Agreement with cases and with other graders' own test suites, where that material is at hand."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from rewardkit.answers import grade_choice, grade_exact, grade_gsm8k, grade_math
from rewardkit.batch import Status

APART = {
    # rows whose suite means mathematics
    "inspect_ai-036": "1,001 boxes with nothing between them: an enumeration, and over MAX_MARKERS",
    # rows that follow from a suite's own rule
    "areal-052": "two decimals are compared exactly; numeric(tolerance=...) is for tolerances",
    "forge-017": "the last <answer> is the claim, not the first",
    "forge-021": "flexible extraction needs no <answer> tag",
    "lighteval-012": "options are graded by grade_choice, which agrees",
    "lighteval-014": "options are graded by grade_choice, which agrees",
    "lighteval-027": "the last number of an unmarked sentence, here of a date, is the claim",
    "inspect_ai-123": "number words are not read",
    "math-verify-003": "a plain blank groups no digits: 1 000 may be a list",
    "math-verify-006": "a comma is no decimal point",
    "math-verify-029": "inline math may span lines",
    "math-verify-059": "the ground truth's box and the response's two formulas can't be brought together",
    "math-verify-121": "four digits don't stand for one third; MathRules(digits=4) makes them",
    "math-verify-129": "two digits don't stand for one third",
    "math-verify-183": "an inequality and its interval are one answer (two other rows of that suite say so)",
    "math-verify-247": "f(x) and f(y) differ",
    "reasoning-gym-016": "no tolerance: numeric(tolerance=...) has one",
    "reasoning-gym-024": "no tolerance: numeric(tolerance=...) has one",
    "reward-kit-004": "no tolerance: numeric(tolerance=...) has one",
    "rl-003": "flexible extraction needs no <answer> tag",
    "rllm-007": "flexible extraction needs no box; mode='strict' does",
    "skyrl-003": "flexible extraction needs no ####; gsm8k(mode='strict') does",
    "skyrl-008": "one half is 0.5",
    "slime-014": "flexible extraction needs no marker",
    "tunix-001": "four digits don't stand for a repeating decimal",
    "tunix-002": "three digits don't stand for a repeating decimal",
    "tunix-004": "malformed LaTeX is compared as text only",
    # rows whose suite asserts something that is wrong
    "areal-058": "sqrt(2) in a ground truth's prose is the square root of two",
    "inspect_ai-102": "the number wanted is an operand in the middle of the response",
    "ms-swift-021": "the last <answer> is the claim, not the first",
    "reward-kit-003": "the suite's grader ignores letters on purpose",
    "reward-kit-029": "a ground truth with two options",
}


def _rows(folder: Path, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / name).read_text(encoding="utf-8").splitlines()]


def test_answer_cases(shared_data: Path) -> None:
    grade_math(r"$\sin^2 x + \cos^2 x$", "1")  # the limits are for grading, not for starting the first worker
    wrong: list[str] = []
    for row in _rows(shared_data, "answer_cases.jsonl"):
        response = row.get("response")
        if response is None:
            response = "".join(text * times for text, times in row["response_gen"])
        grader = grade_gsm8k if row["kind"] == "gsm8k" else grade_math
        grade = grader(response, row["gold"])
        expected = {"accept": grade.value == 1, "reject": grade.value == 0, "skip": grade.status is Status.BAD_GOLD}
        if not expected.get(row["expect"], True):
            wrong.append(f"{row['id']}: {row['expect']}, {grade}")
    assert not wrong


def _grade(row: dict[str, Any]) -> float:
    text = "" if row["pred"] is None else str(row["pred"])
    if row["category"] == "choice":
        return grade_choice(text, row["gold"]).value
    if row["category"] == "text":
        return max(grade_exact(text, row["gold"], normalize=n).value for n in ("words", "letters"))  # type: ignore[arg-type]
    return grade_math(text, row["gold"]).value


def test_answer_triples(shared_data: Path) -> None:
    rows = _rows(shared_data, "answer_triples.jsonl")
    apart = {row["id"] for row in rows if (_grade(row) == 1) != bool(row["expected"])}
    assert apart <= set(APART), sorted(apart - set(APART))
    assert set(APART) - apart <= {"lighteval-012", "lighteval-014"}, "a row of the list agrees now: take it out"
    semantic = [row for row in rows if row["category"] == "semantic"]
    assert sum(row["id"] in apart for row in semantic) <= 0.02 * len(semantic)
    assert not any(row["id"] in apart for row in rows if row["category"] == "adversarial")


@pytest.mark.verl
def test_gsm8k_solutions_grade_as_verl_grades_them(shared_data: Path) -> None:
    verl = pytest.importorskip("verl.utils.reward_score.gsm8k")
    for row in _rows(shared_data, "gsm8k_test.jsonl"):
        truth = row["answer"].rpartition("#### ")[2].replace(",", "")
        for response in (row["answer"], row["answer"].replace("#### ", "####  "), row["question"]):
            for method in ("strict", "flexible"):
                expected = float(verl.compute_score(response, truth, method=method))
                assert grade_gsm8k(response, truth, mode=f"verl-{method}").value == expected


def test_gsm8k_solutions_are_right_and_questions_are_no_answers(shared_data: Path) -> None:
    for row in _rows(shared_data, "gsm8k_test.jsonl"):
        assert grade_gsm8k(row["answer"], row["answer"]).value == 1
        assert grade_gsm8k(row["question"], row["answer"], prompt=row["question"]).value == 0, row["question"]


def test_solutions_without_their_marker_are_read_better_than_by_their_last_number(shared_data: Path) -> None:
    """GSM8K's own test solutions, cut before `####`, and without their calculator notes."""
    right = {"flexible": 0, "lm-eval-flexible": 0}
    rows = [json.loads(line) for line in (shared_data / "gsm8k_test.jsonl").open(encoding="utf-8")]
    for row in rows:
        solution, _, truth = row["answer"].partition("\n#### ")
        text = re.sub("<<.*?>>", "", solution)
        for mode in right:
            right[mode] += grade_gsm8k(text, truth, mode=mode).value == 1
    assert right["flexible"] >= 0.985 * len(rows)
    assert right["flexible"] > right["lm-eval-flexible"]
