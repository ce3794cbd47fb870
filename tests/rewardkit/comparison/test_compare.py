"""Two rewards on the same rows: what is counted, against a reckoning by hand."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from rewardkit.comparison import Comparison, compare, load_side
from rewardkit.errors import DataError

FUNCTION = """
def compute_score(data_source, solution_str, ground_truth, extra_info=None):
    if not solution_str:
        raise ValueError("nothing")
    return {"score": float(solution_str.endswith(str(ground_truth))), "acc": 1.0}
"""
ROWS = [
    {"uid": "a", "response": "#### 4", "ground_truth": "4"},
    {"uid": "a", "response": "so it is #### 4", "ground_truth": "4"},
    {"uid": "a", "response": "#### 5", "ground_truth": "4"},
    {"uid": "b", "response": "#### 7.", "ground_truth": "7"},
    {"uid": "b", "response": "", "ground_truth": "7"},
    {"uid": "b", "response": "not known", "ground_truth": "7"},
    {"uid": "c", "response": "#### 1", "ground_truth": None},
]


@pytest.fixture
def of(tmp_path: Path) -> Any:
    """Compares two sides on rows."""
    (tmp_path / "mine.py").write_text(FUNCTION)

    def run(old: str, new: str, rows: list[dict[str, Any]] | None = None, **options: Any) -> Comparison:
        (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows or ROWS))
        sides = (load_side(side.replace("mine.py", str(tmp_path / "mine.py"))) for side in (old, new))
        return compare(*sides, tmp_path / "rows.jsonl", **options)

    return run


def test_two_formulas(of: Any) -> None:
    # pays: old 1 1 0 | 1 0 0; new 1.1 1.4 0.2 | 1.2 0 0.2: the row without ground truth is scored by neither
    comparison = of("gsm8k()", "gsm8k() + length(0.1)", [*ROWS[:4], {**ROWS[4], "response": "x #### 8 9"}, *ROWS[5:]])
    assert (comparison.rows, comparison.both, comparison.only_old, comparison.only_new, comparison.neither) == (
        7,
        6,
        0,
        0,
        1,
    )
    assert (comparison.different, comparison.differs) == (6, True)
    words = [2, 5, 2, 2, 4, 2]
    assert comparison.mean_change == pytest.approx(0.1 * sum(words) / 6)
    first = comparison.largest[0]
    assert (first.where.rpartition(":")[2], first.old, first.new) == ("2", 1, pytest.approx(1.5))
    assert first.parts == {"gsm8k()": (1, 1), "length(0.1)": (None, pytest.approx(0.5))}
    right, length = comparison.terms["gsm8k()"], comparison.terms["length(0.1)"]
    assert (right.old, right.new, right.rows, right.of_difference) == (0.5, 0.5, 0, 0)
    assert (length.old, length.new, length.rows) == (None, pytest.approx(comparison.mean_change), 6)
    assert (length.of_difference, length.correlation) == (pytest.approx(1), pytest.approx(1))
    assert "no ground truth" in (comparison.reasons[0] or "") and ":7:" in (comparison.reasons[0] or "")
    groups = comparison.groups
    assert groups is not None
    assert (groups.groups, groups.rows, groups.best_changes, groups.dead_old, groups.dead_new) == (2, 6, 0, 0, 0)
    assert (groups.pairs.alike, groups.pairs.turned, groups.pairs.only_b) == (4, 0, 2)


def test_a_sign_that_turns_and_the_term_that_turns_it(of: Any) -> None:
    rows = [{"prompt": "q", "ground_truth": "4", "response": r} for r in ("#### 4", "I think #### 5", "w " * 30)]
    comparison = of("gsm8k() - length(0.0001)", "gsm8k() + length(0.1) - 0.1 * ends_with('.')", rows)
    # old 1, -, - -> advantages + - -; new 1.2, 0.4, 3: - - +
    assert comparison.groups.sign_changes == 2 and comparison.groups.best_changes == 1
    assert {label: t.sign_changes for label, t in comparison.terms.items()} == {
        "gsm8k()": 0,
        "length(0.0001) -> length(0.1)": 2,
        "ends_with('.')": 0,
    }


def test_a_reward_and_itself_with_another_scale_or_sign(of: Any) -> None:
    formula = "gsm8k() + length(0.1)"
    rows = ROWS[:6]
    same = of(formula, formula, rows)
    assert not same.differs and same.largest == () and same.spearman == 1 and same.groups.pairs.kendall == 1
    twice = of(formula, f"2 * ({formula})", rows)
    assert (twice.spearman, twice.groups.sign_changes, twice.groups.best_changes) == (1, 0, 0)
    assert set(twice.terms) == {"gsm8k()", "length(0.1)"}, "a weight makes no other term"
    turned = of("length()", "-length()", [row for row in rows if row["response"]])  # no answer: no way to turn it
    assert (turned.spearman, turned.groups.pairs.kendall) == (-1, -1)
    assert turned.groups.sign_changes == 3, "of five rows: two are a dead group"
    assert (turned.groups.dead_old, turned.groups.best_changes) == (1, 1)


def test_a_function_beside_a_formula(of: Any) -> None:
    comparison = of("mine.py", "gsm8k()")
    # the function pays 1 1 0 | 0 raises 0, and the row without ground truth 0; the formula 1 1 0 | 1 0 0 and nothing
    assert (comparison.both, comparison.only_old, comparison.only_new, comparison.neither) == (5, 1, 1, 0)
    assert "ValueError: nothing" in comparison.reasons[0]
    (only,) = comparison.largest
    assert (only.old, only.new, only.response, only.parts) == (0, 1, "#### 7.", {"gsm8k()": (None, 1)})
    term = comparison.terms["gsm8k()"]
    assert (term.old, term.new, term.where_different, term.rows, term.sign_changes) == (None, 0.6, 1, None, None)
    assert comparison.groups.dead_old == 1 and comparison.groups.appear == 2


def test_two_functions_have_no_terms(of: Any) -> None:
    comparison = of("mine.py", "mine.py:compute_score")
    assert comparison.terms == {} and not comparison.different and comparison.neither == 1


def test_parts_add_up_to_the_total_where_it_is_floored(of: Any) -> None:
    # an unanswered row in a place of mixed direction is paid the formula's floor, not its parts
    formula = "gsm8k() * (length(0.1, cap=1) - 0.5)"
    comparison = of("0 * length()", formula, [{"response": "I can't", "ground_truth": "4"}])
    for difference in comparison.largest:
        assert sum(new or 0 for _, new in difference.parts.values()) == pytest.approx(difference.new)


def test_a_group_is_found_wherever_its_rows_stand_and_within_its_step(of: Any) -> None:
    rows = [{"response": "w " * (i % 3 + 1), "prompt": f"q{i % 2}", "step": step} for step in (1, 2) for i in range(6)]
    groups = of("length()", "-length()", rows).groups
    assert (groups.groups, groups.rows, groups.best_changes) == (4, 12, 4)
    assert of("length()", "-length()", [{"response": "w"}] * 2).groups is None


def test_verls_uid_names_one_response_and_its_group_is_the_prompt_s_part(of: Any) -> None:
    rows = [{"output": "w " * n, "uid": f"p-{p}_{n}_0", "score": 0.0} for p in (1, 2) for n in (1, 2, 3)]
    assert of("length()", "group_zscore(length())", rows).groups.groups == 2


def test_group_relative_formulas_see_whole_groups_over_chunks(of: Any) -> None:
    rows = [{"response": "w " * (i % 4 + 1), "group": i // 4} for i in range(4 * 1500)]
    comparison = of("length()", "group_zscore(length())", rows)
    assert comparison.groups.groups == 1500 and comparison.groups.pairs.turned == 0
    assert comparison.terms["group_zscore(length())"].new == pytest.approx(0, abs=1e-9)


def test_limit_and_step(of: Any) -> None:
    comparison = of("schedule({0: 0, 5: 1}) * length()", "0 * length()", step=5, limit=3)
    assert (comparison.rows, comparison.different) == (3, 3)
    assert not of("schedule({0: 0, 5: 1}) * length()", "0 * length()").different


def test_rows_that_can_not_be_read(of: Any) -> None:
    with pytest.raises(DataError, match="`ground_truth`"):
        of("gsm8k()", "length()", [{"response": "a"}])
    with pytest.raises(DataError, match="has no rows"):
        compare(load_side("length()"), load_side("-length()"), Path(os.devnull))


def test_json_has_no_nan(of: Any) -> None:
    comparison = of("mine.py", "length()", [{"response": "", "ground_truth": "1"}])
    text = json.dumps(comparison.as_dict(), allow_nan=False)
    assert json.loads(text)["scored_by"] == {"both": 0, "old": 0, "new": 1, "neither": 0}
