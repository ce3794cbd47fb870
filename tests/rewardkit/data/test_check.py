"""`rewardkit data check`: what can't be graded is found before a run, by line and reason."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rewardkit
from rewardkit import Batch, Status
from rewardkit.cli import run
from rewardkit.data.check import Checked, RowDiagnostic, check_file
from rewardkit.errors import DataError

ROUTED = "route({'gsm8k': gsm8k(), 'math': math_equal()}) + length(0.1)"


def _write(path: Path, rows: Sequence[object]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def _check(path: Path, formula: str, limit: int | None = None) -> tuple[list[RowDiagnostic], Checked]:
    faults: list[RowDiagnostic] = []
    checked = check_file(rewardkit.parse(formula), path, faults.append, limit=limit)
    return faults, checked


@pytest.mark.parametrize(
    ("formula", "ground_truth", "reason"),
    [
        ("gsm8k()", "18", None),
        ("gsm8k()", "She has 9 * 2 = 18.\n#### 18", None),
        ("gsm8k()", 18, None),
        ("gsm8k()", ["none", "18"], None),
        ("gsm8k()", None, "no ground truth; expected a number, or a solution that ends in `#### N`"),
        ("gsm8k()", "", "unusable ground truth ''; expected a number, or a solution that ends in `#### N`"),
        ("gsm8k()", "3 to 5", "unusable ground truth '3 to 5'; expected a number"),
        ("gsm8k(mode='verl-strict')", {"answer": 3}, "unusable ground truth {'answer': 3}"),
        ("numeric(tolerance=0.1)", "pi", "unusable ground truth 'pi'; expected a number"),
        ("choice()", "C", None),
        ("choice()", "(C) Paris", None),
        ("choice()", "between them", "unusable ground truth 'between them'; expected an option's letter"),
        ("exact()", "Paris", None),
        ("exact()", 7, "unusable ground truth 7; expected text, or a list of texts"),
        ("math_equal()", r"\frac{1}{2}", None),
        ("math_equal()", r"\text{Monday}", None),
        ("math_equal()", r"so $x = \boxed{3}$", None),
        ("math_equal()", r"\frac{1}{2", r"the ground truth '\\frac{1}{2' is neither a formula that can be read"),
        ("math_equal()", "9^{9^{9}}", "the ground truth '9^{9^{9}}' is over the limit on exponent"),
        ("token_f1()", " ", "no text of at most 200000 characters"),
        ("1 - 0.5 * gsm8k()", "none", "unusable ground truth 'none'"),
        ("length(0.1)", None, None),
    ],
)  # fmt: skip
def test_a_ground_truth_and_what_is_wrong_with_it(
    formula: str, ground_truth: object, reason: str | None, tmp_path: Path
) -> None:
    path = _write(tmp_path / "rows.jsonl", [{"ground_truth": "1"}, {"ground_truth": ground_truth}])
    faults, checked = _check(path, formula)
    mine = [f for f in faults if f.row == 2]
    assert [f.where for f in mine] == ([] if reason is None else [f"{path}:2"])
    assert checked.rows == 2
    for fault in mine:
        assert fault.message.startswith(str(reason))


def test_a_row_is_checked_by_its_route_and_only_by_it(tmp_path: Path) -> None:
    path = _write(
        tmp_path / "rows.jsonl",
        [
            {"data_source": "gsm8k", "ground_truth": "x^2"},
            {"data_source": "math", "ground_truth": "x^2"},
            {"data_source": "code", "ground_truth": "x^2"},
            {"ground_truth": "7"},
        ],
    )
    faults, checked = _check(path, ROUTED)
    assert [(f.row, f.term) for f in faults] == [(1, "gsm8k"), (3, "route"), (4, "route")]
    assert faults[1].message == "no route for data_source='code', and no `otherwise`; routes: 'gsm8k', 'math'"
    assert checked == Checked(rows=4, faulty=3)
    assert _check(path, "route({'gsm8k': gsm8k()}, otherwise=math_equal())")[1].faulty == 1


def test_routes_within_routes_and_by_extra_info(tmp_path: Path) -> None:
    formula = "route({'a': route({'easy': gsm8k()}, by='level')}, otherwise=length(0.1))"
    rows = [
        {"data_source": "a", "extra_info": {"level": "easy"}, "ground_truth": "none"},
        {"data_source": "a", "extra_info": {"level": "hard"}, "ground_truth": "7"},
        {"data_source": "b", "ground_truth": "none"},
    ]
    faults, _ = _check(_write(tmp_path / "rows.jsonl", rows), formula)
    assert [(f.row, f.term) for f in faults] == [(1, "gsm8k"), (2, "route")]


def test_a_fault_of_two_terms_of_one_name_is_said_once(tmp_path: Path) -> None:
    path = _write(tmp_path / "rows.jsonl", [{"ground_truth": "none"}])
    assert len(_check(path, "gsm8k() + gsm8k(mode='strict')")[0]) == 1


GROUND_TRUTHS = st.one_of(
    st.none(), st.integers(), st.floats(), st.text("0123456789#.,-/ $\n", max_size=12), st.lists(st.text(max_size=3))
)


@given(st.lists(GROUND_TRUTHS.filter(lambda ground_truth: ground_truth is not None), min_size=1, max_size=8))
def test_what_is_reported_is_what_scoring_calls_a_bad_gold(ground_truths: list[Any]) -> None:
    from rewardkit.data.check import _found

    reward = rewardkit.parse("gsm8k()")
    scores = rewardkit.compile(reward)(Batch(["#### 1"] * len(ground_truths), ground_truths=ground_truths))
    bad = [i for i, status in enumerate(scores.statuses["gsm8k"]) if status == Status.BAD_GOLD]
    assert sorted(i for i, _, _ in _found(reward, {"ground_truth": ground_truths}, len(ground_truths))) == bad


def test_parquet_of_verl_is_named_by_row(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet")
    rows = [
        {
            "data_source": "gsm8k",
            "reward_model": {"style": "rule", "ground_truth": ground_truth},
            "extra_info": {"index": i},
        }
        for i, ground_truth in enumerate(["1", "none", None])
    ]
    path = tmp_path / "train.parquet"
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    assert [f.where for f in _check(path, ROUTED)[0]] == [f"{path}:row 2", f"{path}:row 3"]
    pyarrow.parquet.write_table(pyarrow.table({"data_source": ["gsm8k"]}), path)
    with pytest.raises(DataError, match="none of the first 1 rows"):
        _check(path, ROUTED)


def test_faults_are_told_as_they_are_found(tmp_path: Path) -> None:
    """A line far down that can't be read does not take back what stands before it; nor is it reached under a limit."""
    path = _write(tmp_path / "rows.jsonl", [{"ground_truth": "none"}] + [{"ground_truth": "1"}] * 20_000)
    with path.open("a") as file:
        file.write("{\n")
    faults: list[RowDiagnostic] = []
    with pytest.raises(DataError, match=r"rows\.jsonl:20002"):
        check_file(rewardkit.parse("gsm8k()"), path, faults.append)
    assert [f.row for f in faults] == [1]
    assert _check(path, "gsm8k()", limit=100)[1] == Checked(rows=100, faulty=1)


def test_a_file_without_ground_truths_is_one_error(tmp_path: Path) -> None:
    path = _write(tmp_path / "rows.jsonl", [{"question": "1 + 1?", "solution": "2"}])
    with pytest.raises(
        DataError, match=r"(?s)first row's fields are `question`, `solution`.*`reward_model\.ground_truth`"
    ):
        _check(path, "gsm8k()")


def test_the_command_and_its_exit_codes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = _write(tmp_path / "rows.jsonl", [{"ground_truth": "1"}, {"ground_truth": "none"}])
    assert run(["data", "check", str(path), "--reward", "gsm8k()", "--json"]) == 1
    out, err = capsys.readouterr()
    assert json.loads(out)["row"] == 2
    assert err == "2 rows, 1 can't be scored\n"
    assert run(["data", "check", str(path), "--reward", "gsm8k()"]) == 1
    assert capsys.readouterr().out.startswith(
        f"error   [bad-ground-truth] {path}:2: gsm8k: unusable ground truth 'none'"
    )
    assert run(["data", "check", str(path), "--reward", "exact()"]) == 0
    assert capsys.readouterr().err == "2 rows, all can be scored\n"
    assert run(["data", "check", str(path / "absent"), "--reward", "gsm8k()"]) == 2
