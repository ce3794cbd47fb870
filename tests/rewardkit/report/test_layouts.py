"""What is read from each layout, and one clear error for what can't be."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest

from rewardkit import compile
from rewardkit.errors import DataError
from rewardkit.report import RolloutReport, report_on
from tests.rewardkit.report.dumps import by_term, verl_dump, verl_row, write_lines


def codes(report: RolloutReport) -> set[str]:
    return {note.code for note in report.notes}


def test_verl_s_own_trainer_dumps_totals_texts_and_a_uid_of_which_a_part_is_the_group(tmp_path: Path) -> None:
    rows = [verl_row(1, p, k, "text", float(p == 0) + k * float(p == 2)) for p in range(3) for k in range(4)]
    report = report_on(verl_dump(tmp_path / "d", {1: rows}))
    assert (report.layout, report.rows, report.files) == ("verl dump", 12, 1)
    assert report.terms == {}
    assert report.groups is not None
    # Of three prompts, 0 is paid 1 throughout, 1 is paid 0 throughout, 2 is paid 0 to 3.
    assert (report.groups.groups, report.groups.dead, report.groups.lowest, report.groups.highest) == (3, 2, 1, 0)


def test_terms_statuses_and_unscored_rows_come_from_the_manager_s_extra_info(tmp_path: Path) -> None:
    rows = [
        verl_row(1, 0, 0, "a", 1.0, unscored=0.0, **by_term("gsm8k", 1.0)),
        verl_row(1, 0, 1, "b", 0.0, unscored=0.0, **by_term("gsm8k", None, 2)),
        verl_row(1, 0, 2, "c", 0.0, unscored=1.0, **by_term("gsm8k", None, 4)),
    ]
    report = report_on(verl_dump(tmp_path / "d", {1: rows}))
    assert list(report.terms) == ["gsm8k"]  # no status, no milliseconds, no `unscored` among them
    assert report.terms["gsm8k"].shares() == {"scored": 1 / 3, "no_answer": 1 / 3, "bad_gold": 1 / 3}
    assert report.unscored == 1
    assert report.total.mean == 0.5  # the placeholder of the unscored row is no zero
    assert report.worst[0].text == "b"


def test_a_term_without_any_value_keeps_its_statuses(tmp_path: Path) -> None:
    rows = [verl_row(1, 0, k, "a", 1.0, **by_term("judge", None, 7)) for k in range(2)]
    report = report_on(verl_dump(tmp_path / "d", {1: rows}))
    assert report.terms["judge"].shares() == {"error": 1.0}
    assert report.as_dict()["terms"]["judge"]["mean"] is None


def test_steps_are_in_the_order_of_their_numbers_not_of_their_files_names(tmp_path: Path) -> None:
    steps = {step: [verl_row(step, 0, k, "x", float(step)) for k in range(2)] for step in (1, 2, 9, 10, 11)}
    report = report_on(verl_dump(tmp_path / "d", steps))
    assert [entry["step"] for entry in report.as_dict()["steps"]] == [1, 2, 9, 10, 11]
    assert report.first_and_last("total") == (1.0, 11.0)
    assert report.best[0].step == 11


def test_rows_without_uid_are_grouped_by_their_prompt(tmp_path: Path) -> None:
    rows = [{k: v for k, v in verl_row(1, p % 2, p, "x", float(p % 2)).items() if k != "uid"} for p in range(8)]
    report = report_on(verl_dump(tmp_path / "d", {1: rows}))
    assert report.groups is not None
    assert (report.groups.groups, report.groups.dead) == (2, 2)


def test_a_formula_gives_the_terms_that_a_dump_lacks_and_says_where_its_total_is_another_one(tmp_path: Path) -> None:
    texts = ["#### 0", "#### 1", "no answer at all", "#### 0"]
    rows = [verl_row(1, 0, k, text, score) for k, (text, score) in enumerate(zip(texts, [1, 0, 0, 0.25], strict=True))]
    report = report_on(verl_dump(tmp_path / "d", {1: rows}), reward=compile("gsm8k()"))
    assert report.terms["gsm8k"].mean == 0.5
    assert report.terms["gsm8k"].shares() == {"scored": 0.75, "no_answer": 0.25}
    assert report.total.mean == 1.25 / 4  # what was logged
    assert (report.compared, report.differ) == (4, 1)
    assert "other-formula" in codes(report)


def test_a_group_relative_formula_sees_whole_groups(tmp_path: Path) -> None:
    steps = {}
    for step in (1, 2):
        rows = [verl_row(step, p, k, "w " * (k + 1), 0.0) for p in range(2) for k in range(3)]
        steps[step] = rows
    report = report_on(verl_dump(tmp_path / "d", steps), reward=compile("group_rank(length(1))"))
    assert report.terms["length"].mean == 2.0
    assert report.differ > 0


def test_schedules_are_at_the_row_s_own_step(tmp_path: Path) -> None:
    steps = {step: [verl_row(step, 0, k, "w", float(step)) for k in range(2)] for step in (0, 10)}
    report = report_on(verl_dump(tmp_path / "d", steps), reward=compile("linear(0, 10, steps=10) * length(1)"))
    assert (report.compared, report.differ) == (4, 0)


def scored(tmp_path: Path) -> tuple[Path, Path]:
    from rewardkit.scoring import score_file

    rows = [
        {"response": f"text {k} of {p}\n#### {k}", "ground_truth": "1", "group": f"g{p}", "prompt": f"q{p}"}
        for p in range(3)
        for k in range(4)
    ]
    data, scores = write_lines(tmp_path / "data.jsonl", rows), tmp_path / "scores.jsonl"
    with scores.open("w") as out:
        score_file(compile("gsm8k() + 0.1 * length(1)"), data, out.write)
    return scores, data


def test_our_own_scores_have_terms_statuses_and_groups_but_no_texts(tmp_path: Path) -> None:
    scores, _ = scored(tmp_path)
    report = report_on(scores)
    assert (report.layout, report.rows) == ("rewardkit score", 12)
    assert set(report.terms) == {"gsm8k", "length"}
    assert not report.has_texts
    assert report.best == ()
    assert report.groups is not None
    assert (report.groups.groups, report.groups.dead) == (3, 0)


def test_the_scored_file_beside_the_scores_gives_the_texts(tmp_path: Path) -> None:
    scores, data = scored(tmp_path)
    report = report_on(scores, data=data)
    assert report.best[0].text.endswith("#### 1")
    assert report.best[0].ground_truth == "1"
    assert report.words.mean == 6.0


def test_scores_and_a_file_of_other_length_are_an_error_either_way(tmp_path: Path) -> None:
    scores, data = scored(tmp_path)
    lines = data.read_text().splitlines(keepends=True)
    data.write_text("".join(lines[:-1]))
    with pytest.raises(DataError, match=r"data\.jsonl ends before .*scores\.jsonl:12"):
        report_on(scores, data=data)
    data.write_text("".join(lines + lines[:1]))
    with pytest.raises(DataError, match="more rows than the 12"):
        report_on(scores, data=data)


def trl_rows(step: int, **extra: Any) -> list[dict[str, Any]]:
    rows = []
    for p in range(2):
        totals = [float(k % 2) + 0.5 * k for k in range(4)]
        mean = sum(totals) / 4
        for k in range(4):
            rows.append(
                {
                    "step": step,
                    "prompt": f"question {p}",
                    "completion": f"answer {k}",
                    "correct": float(k % 2),
                    "form": 0.5 * k if p == 0 or k else math.nan,
                    **{name: value(k) for name, value in extra.items()},
                    "advantage": totals[k] - mean,
                }
            )
    return rows


def write_parquet(file: Path, rows: list[dict[str, Any]]) -> Path:
    pyarrow = pytest.importorskip("pyarrow", reason="TRL's logs are parquet")
    parquet = pytest.importorskip("pyarrow.parquet")
    file.parent.mkdir(exist_ok=True)
    parquet.write_table(pyarrow.Table.from_pylist(rows), file)
    return file


def test_trl_s_completions_are_added_up_and_agree_with_their_advantages(tmp_path: Path) -> None:
    for step in (5, 10):
        write_parquet(tmp_path / "completions" / f"completions_{step:05d}.parquet", trl_rows(step))
    report = report_on(tmp_path / "completions")
    assert (report.layout, report.rows, list(report.terms)) == ("TRL completions", 16, ["correct", "form"])
    assert report.terms["form"].shares()["not_applicable"] == 2 / 16  # a function that returned None
    assert report.best[0].total == 2.5
    assert report.groups is not None
    assert report.groups.groups == 4
    assert report.groups.agreement == pytest.approx(1.0)
    assert "other-weights" not in codes(report)


def test_an_extra_column_that_is_no_reward_is_noticed_by_the_advantages_and_weighed_out(tmp_path: Path) -> None:
    rows = trl_rows(5, tokens=lambda k: [90, 10, 70, 20][k])
    write_parquet(tmp_path / "completions" / "completions_00005.parquet", rows)
    assert "other-weights" in codes(report_on(tmp_path / "completions"))
    mended = report_on(tmp_path / "completions", weights={"correct": 1, "form": 1})
    assert "other-weights" not in codes(mended)
    assert "tokens" in mended.terms


def test_a_total_that_is_logged_as_such_is_taken(tmp_path: Path) -> None:
    file = tmp_path / "completions.jsonl"
    write_lines(file, [{"step": "3", "prompt": "q", "completion": "a", "reward": 3.0, "reward_x": 1.0}])
    report = report_on(file)
    assert (report.total.mean, list(report.terms)) == (3.0, ["reward_x"])
    write_lines(file, [{"step": 3, "prompt": "q", "completion": "a", "rewardkit": 2.0, "gsm8k": 1.0, "length": 5.0}])
    assert report_on(file).total.mean == 2.0  # trainer_glue.adapters.trl.RewardFunction's column


def test_chat_messages_are_texts(tmp_path: Path) -> None:
    row = {
        "prompt": [{"role": "user", "content": "q"}],
        "completion": [{"role": "assistant", "content": "a b"}],
        "f": 1,
    }
    report = report_on(write_lines(tmp_path / "c.jsonl", [row]), reward=compile("length(1)"))
    assert (report.best[0].text, report.best[0].prompt) == ("a b", "q")
    assert report.terms["length"].mean == 2.0


def test_a_term_may_have_the_name_of_a_column_of_every_dump(tmp_path: Path) -> None:
    rows = [verl_row(1, 0, k, "a b", 1.0, **by_term("total", 5.0), **by_term("words", 7.0 + k)) for k in range(3)]
    report = report_on(verl_dump(tmp_path / "d", {1: rows}))
    assert (report.total.mean, report.words.mean) == (1.0, 2.0)
    assert report.terms["total (term)"].mean == 5.0


GOOD = json.dumps(verl_row(1, 0, 0, "x", 1.0, **by_term("a", 1.0)))
BAD = {"output": "x", "score": 1, "step": 1, **by_term("a", 1.0)}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({**BAD, "score": "high"}, "`score` is 'high'; expected a number"),
        ({**BAD, "output": 3}, "`output` is 3; expected text"),
        ({**BAD, "input": 3}, "`input` is 3; expected text"),
        ({**BAD, "step": 1.5}, "`step` is 1.5; expected a whole number"),
        ({**BAD, "score": 10**400}, "`score` is too large for a number: 1000"),
        ({**BAD, "step": 10**40}, "`step` is 1000"),
        ({**BAD, "step": "1" * 5000}, "`step` is '1111"),
        ({**BAD, "step": None}, "`step` is missing; expected a whole number"),
        ({**BAD, "a/status": 99}, "`a/status` is 99; expected a status code"),
        ({"output": "x", "score": 1, "step": 1, "a": 1}, "`a/status` is missing; expected a number"),
        ({"text": "x"}, "is not a row of a verl dump; its fields are `text`"),
        ([1], "is a JSON list; expected one object a line"),
        (None, "is not JSON"),
    ],
)
def test_a_bad_row_is_named_by_file_and_line(tmp_path: Path, line: object, message: str) -> None:
    file = tmp_path / "7.jsonl"
    file.write_text(f"{GOOD}\n{json.dumps(line) if line is not None else GOOD[:-5]}\n")
    with pytest.raises(DataError, match=re.escape(f"{file}:2: {message}")):
        report_on(tmp_path)


def test_what_is_no_dump_is_refused_with_what_is_expected(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no file or folder (.|\n)*trainer\.rollout_data_dir"):
        report_on(tmp_path / "nothing")
    with pytest.raises(DataError, match=r"no \.jsonl and no \.parquet"):
        report_on(tmp_path)
    write_lines(tmp_path / "x.jsonl", [{"question": "?"}])
    with pytest.raises(
        DataError, match=r"the first row's fields are `question`(.|\n)*expected a folder that verl dumped"
    ):
        report_on(tmp_path)
    (tmp_path / "x.jsonl").write_text("\n")
    with pytest.raises(DataError, match="has no rows"):
        report_on(tmp_path)
    write_lines(tmp_path / "x.jsonl", [verl_row(1, 0, 0, "x", 1.0, unscored=1.0)])
    with pytest.raises(DataError, match="none of 1 rows has a score"):
        report_on(tmp_path)


def test_a_run_of_ours_without_rollouts_is_named_as_such(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text("{}")
    (tmp_path / "metrics.jsonl").write_text('{"step": 1, "data": {}}\n')
    with pytest.raises(DataError, match=r"trainer\.rollout_data_dir=DIR"):
        report_on(tmp_path)


def test_the_folder_that_is_meant_is_named(tmp_path: Path) -> None:
    verl_dump(tmp_path / "rollouts", {1: [verl_row(1, 0, 0, "x", 1.0)]})
    with pytest.raises(DataError, match=r"such files are in .*rollouts"):
        report_on(tmp_path)


def test_options_for_another_layout_are_refused(tmp_path: Path) -> None:
    dump = verl_dump(tmp_path / "d", {1: [verl_row(1, 0, 0, "x", 1.0)]})
    with pytest.raises(DataError, match="--data goes with scores"):
        report_on(dump, data=dump / "1.jsonl")
    with pytest.raises(DataError, match="--weights goes with TRL"):
        report_on(dump, weights={"a": 1.0})
    scores, _ = scored(tmp_path)
    with pytest.raises(DataError, match="--reward needs the texts"):
        report_on(scores, reward=compile("length(1)"))
    row = {"prompt": "q", "completion": "a", "correct": 1.0}
    with pytest.raises(DataError, match=r"no reward 'corect' to weigh(.|\n)*did you mean 'correct'"):
        report_on(write_lines(tmp_path / "c.jsonl", [row]), weights={"corect": 1.0})


def test_a_formula_that_needs_what_the_dump_lacks_is_refused(tmp_path: Path) -> None:
    rows = [verl_row(1, 0, k, "x", 1.0) | {"gts": None} for k in range(2)]
    with pytest.raises(DataError, match="the formula needs `ground_truth`, and the dump has none"):
        report_on(verl_dump(tmp_path / "d", {1: rows}), reward=compile("gsm8k()"))
