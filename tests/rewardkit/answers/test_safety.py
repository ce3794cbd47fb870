"""Model text is never executed, and never costs more than it may."""

from __future__ import annotations

import ast
import random
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rewardkit.answers
from rewardkit import Batch, compile
from rewardkit.answers import (
    MODES,
    compare_math,
    extract,
    grade_gsm8k,
    grade_math,
    grade_math_many,
)
from rewardkit.answers.latex import symbolic
from rewardkit.answers.latex.atoms import FUNCTIONS
from rewardkit.answers.latex.parser import parse
from rewardkit.answers.latex.tree import encoded
from rewardkit.batch import Status
from rewardkit.processes.worker_pool import Outcome, Pool
from tests.quality import hostile
from tests.rewardkit.answers.fuzz import nested_formula
from tests.rewardkit.processes import PROBE

PACKAGE = Path(rewardkit.answers.__file__).parent
FORBIDDEN = {"eval", "exec", "compile", "sympify", "parse_expr", "parse_latex", "S", "__import__", "lambdify"}


def test_no_source_file_names_an_evaluator() -> None:
    for path in [*PACKAGE.rglob("*.py"), *(PACKAGE.parent / "processes").glob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
                owner = getattr(getattr(node.func, "value", None), "id", "")
                if name == "compile" and owner in ("re", "regex"):
                    continue
                assert name not in FORBIDDEN, f"{path}:{node.lineno} calls {name}"


QUESTIONS = [
    ("equal", r"\sin^2 x + \cos^2 x", "1"),
    ("equal", r"\log_2 8", "3"),
    ("same-region", r"1 \le |z| \le 2", r"[-2,-1]\cup[1,2]"),
]


def test_no_text_reaches_sympys_parsers(monkeypatch: pytest.MonkeyPatch) -> None:
    def answers() -> list[bool]:
        return [symbolic.answer(q, encoded(parse(g)), encoded(parse(a)), True) for q, g, a in QUESTIONS]

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a text was parsed as Python")

    assert answers() == [True] * 3  # sympy's own modules parse names of theirs when they are first imported
    monkeypatch.setattr("sympy.parsing.sympy_parser.parse_expr", refuse)
    monkeypatch.setattr("sympy.parsing.sympy_parser.eval_expr", refuse)
    assert answers() == [True] * 3


@pytest.mark.parametrize(
    "payload",
    [
        "__import__('pathlib').Path('{marker}').touch()",
        "__import__('os').system('touch {marker}') or 0",
        "().__class__.__base__.__subclasses__()",
        "(lambda: open('{marker}', 'w'))() or 0",
        "exec(\"open('{marker}','w')\")",
        "x.subs(x, __import__('os').system('touch {marker}'))",
        "\\text{{__import__('os').system('touch {marker}')}}",
        "sin(open('{marker}','w'))",
    ],
)
def test_payloads_are_neither_run_nor_paid(payload: str, tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    code = payload.format(marker=marker)
    for response in (code, f"\\boxed{{{code}}}", f"#### {code}", f"<answer>{code}</answer>", f"The answer is {code}"):
        for truth in ("0", "x", "1"):
            assert grade_math(response, truth).value == 0, response
            assert grade_gsm8k(response, truth).value != 1, response
    assert not marker.exists()


HOSTILE = hostile.answers()


@pytest.mark.parametrize("name", HOSTILE)
def test_any_megabyte_is_graded(name: str) -> None:
    """What it costs is measured by tests/quality/hostile.py."""
    for grader, grade in hostile.graders().items():
        verdict = grade(HOSTILE[name])
        assert verdict.value in (0.0, 1.0) and verdict.status not in (Status.ERROR, Status.TIMEOUT), (
            f"{grader}: {verdict}"
        )


BOMB = r"(\sin^2 x + \cos^2 x)(a+b+c+d)^{60}"


def test_an_answer_that_uses_up_its_time_is_a_timeout_and_scored_zero() -> None:
    pool = Pool(1, preload="rewardkit.answers.latex.symbolic:warm")
    grade = grade_math(rf"\boxed{{{BOMB}}}", "(a+b+c+d)^{60}", cpu_seconds=0.3, pool=pool)
    assert (grade.value, grade.status) == (0.0, Status.TIMEOUT)
    pool.close()


def test_bombs_change_no_other_verdict() -> None:
    """Every eighth response is a tower, a factorial or a slow identity; the rest must come out as without them."""
    clean = [
        (r"\boxed{\sin^2 x + \cos^2 x}", "1"),
        (r"\boxed{\log_2 8}", "3"),
        (r"\boxed{2}", "3"),
        (r"\boxed{2x}", "x+x"),
    ] * 7
    bombs = [r"\boxed{9^{9^{9^9}}}", r"\boxed{((9!)!)!}", rf"\boxed{{{BOMB}}}", "#### " + "9" * 100_000]
    mixed: list[tuple[str, str]] = []
    for i, case in enumerate(clean):
        mixed.append(case)
        if i % 7 == 6:
            mixed.append((bombs[i // 7], "(a+b+c+d)^{60}"))
    pool = Pool(2, preload="rewardkit.answers.latex.symbolic:warm")
    expected = [g.value for g in grade_math_many(*zip(*clean, strict=True), pool=pool)]  # type: ignore[misc]
    grades = grade_math_many([r for r, _ in mixed], [g for _, g in mixed], cpu_seconds=0.5, pool=pool)
    pool.close()
    assert [g.value for g, (r, _) in zip(grades, mixed, strict=True) if r not in bombs] == expected
    assert [g.value for g, (r, _) in zip(grades, mixed, strict=True) if r in bombs] == [0.0] * 4


def test_a_ground_truth_that_uses_up_the_time_is_unusable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the answer, a question about this ground truth never comes back."""
    pool = Pool(1)
    real = pool.run_many

    def out_of_time(function: str, calls: object, *, cpu_seconds: float, budget_seconds: float | None = None) -> object:
        return real(PROBE, [["spin", 9]] * len(calls), cpu_seconds=0.05)  # type: ignore[arg-type]

    monkeypatch.setattr(pool, "run_many", out_of_time)
    assert grade_math(r"$\sin(x)^2+\cos(x)^2$", "1", pool=pool).status is Status.BAD_GOLD
    pool.close()


def test_rows_that_the_budget_does_not_reach_are_unscored_not_wrong() -> None:
    pool = Pool(1)
    grades = grade_math_many([r"$\sin(x)^2+\cos(x)^2$", "1"], ["1", "1"], budget_seconds=0.0, pool=pool)
    pool.close()
    assert grades[0].status is Status.ERROR
    assert Outcome.EXPIRED.value in grades[0].reason
    assert grades[1].value == 1


def test_a_thread_gives_the_main_threads_verdicts() -> None:
    cases = [
        (r"\boxed{\sin^2 x + \cos^2 x}", "1"),
        (r"\boxed{\log_2 8}", "3"),
        (r"\boxed{2}", "3"),
        (r"\boxed{\frac{36}{2}}", "18"),
    ]
    here = [grade_math(r, g).value for r, g in cases]
    there: list[float] = []
    thread = threading.Thread(target=lambda: there.extend(grade_math(r, g).value for r, g in cases))
    thread.start()
    thread.join()
    assert here == there == [1.0, 1.0, 0.0, 1.0]


def test_words_between_many_blanks_are_read_at_once() -> None:
    """Units are looked for in short texts only, and five of them with 26 blanks between once took minutes."""
    text = ("####" + "                          answer^3" * 9)[:300]
    assert not compare_math(text, "\\)3 x 10^3\\end{pmatrix}\\leftanswer", cpu_seconds=0.5).equal
    assert not compare_math("3" + text[4:], "x", cpu_seconds=0.5).equal


@pytest.mark.parametrize("name", sorted({name.removeprefix("\\") for name in FUNCTIONS}))
def test_a_function_of_any_number_of_arguments_is_read_or_is_text(name: str) -> None:
    """``sqrt()`` took the whole batch down with it."""
    for text in (f"{form}({','.join('123'[:n])})" for form in (name, f"\\{name}") for n in range(4)):
        assert compare_math(text, text).equal
        assert compare_math(text, "x + 2x").equal == compare_math("x + 2x", text).equal
        assert grade_math(f"\\boxed{{4{text}}}", "1x + 2x").status in (Status.SCORED, Status.NO_ANSWER)


@pytest.mark.parametrize("tower", ["e^{e^{e^{e^{10}}}}", r"\sin(e^{e^{e^{e^{9}}}})"])
@pytest.mark.parametrize("truth", ["7", "x+1", r"\sqrt{2}"])
def test_a_number_too_large_for_sympy_is_over_a_limit_and_dodges_no_penalty(tower: str, truth: str) -> None:
    scores = compile("when(math_equal(), 1, -1)")(Batch([f"\\boxed{{{tower}}}"], ground_truths=[truth]))
    assert scores.statuses["math_equal"].tolist() == [Status.LIMIT]
    assert scores.total.tolist() == [-1]
    assert grade_math(f"\\boxed{{{truth}}}", tower).status is Status.BAD_GOLD


def test_no_formula_ends_in_an_error_as_a_response_or_as_a_ground_truth() -> None:
    rng = random.Random(7)
    formulas = [nested_formula(rng, rng.randint(1, 5)) for _ in range(120)]
    truths = [*formulas[1:], "7"]
    grades = grade_math_many([rf"\boxed{{{text}}}" for text in formulas], truths, cpu_seconds=0.3)
    assert not [
        (f, g, grade) for f, g, grade in zip(formulas, truths, grades, strict=True) if grade.status is Status.ERROR
    ]


def test_a_text_that_fails_a_grader_costs_its_row_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(text: str, *args: object, **options: object) -> object:
        if "boom" in text:
            raise IndexError("a fault of ours")
        return extract(text)

    monkeypatch.setattr("rewardkit.answers.gsm8k.extract", failing)
    monkeypatch.setattr("rewardkit.answers.math_grade.extract_math", failing)
    batch = Batch(["#### 42", "boom", "#### 41"], ground_truths=["42"] * 3)
    for formula in ("gsm8k()", "math_equal()"):
        scores = compile(formula)(batch)
        assert scores.status.tolist() == [Status.SCORED, Status.LIMIT, Status.SCORED]
        assert scores.total.tolist() == [1, 0, 0]


def test_a_ground_truth_that_fails_a_grader_is_unusable(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(truth: object) -> object:
        raise IndexError("a fault of ours")

    monkeypatch.setattr("rewardkit.answers.gsm8k.truth_number", failing)
    monkeypatch.setattr("rewardkit.answers.math_grade.truth_texts", failing)
    for formula in ("gsm8k()", "math_equal()"):
        scores = compile(formula)(Batch(["#### 42"], ground_truths=["42"]))
        assert scores.status.tolist() == [Status.BAD_GOLD]


@pytest.mark.parametrize("grader", [grade_gsm8k, grade_math])
@pytest.mark.parametrize("truth", [np.float64(2.5), np.array(2.5), np.array([2.5]), [np.float64(2.5)], 2.5])
def test_ground_truths_of_numpy_are_the_numbers_they_are(grader: Any, truth: object) -> None:
    assert grader("#### 2.5", truth).value == 1.0
    assert grader("#### 2", truth).value == 0.0


@pytest.mark.parametrize("truth", [{"answer": "1"}, {"1"}, b"1"], ids=["dict", "set", "bytes"])
def test_a_ground_truth_that_is_no_answer_is_unusable(truth: object) -> None:
    assert grade_math(r"\boxed{1}", truth).status is grade_gsm8k("#### 1", truth).status is Status.BAD_GOLD


class _Mute:
    def __repr__(self) -> str:
        raise RuntimeError("nothing to show")

    __str__ = object.__str__


@pytest.mark.parametrize("mode", [mode for mode in MODES if mode != "trl"])
def test_a_ground_truth_that_can_t_be_shown_is_unusable_and_no_exception(mode: str) -> None:
    status = Status.SCORED if mode in ("flexible", "strict") else Status.BAD_GOLD
    assert grade_gsm8k("#### 1", 10**5000, mode=mode).status is status
    assert grade_gsm8k("#### 1", _Mute(), mode=mode).status is Status.BAD_GOLD
    assert grade_math(r"\boxed{1}", 10**5000).status is Status.BAD_GOLD
