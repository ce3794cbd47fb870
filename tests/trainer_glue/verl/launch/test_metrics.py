"""Metrics as verl's file logger writes them, over several starts of a run."""

import json
import math

import pytest

from rewardkit.errors import DataError
from trainer_glue.verl.launch.folder import RunFolder
from trainer_glue.verl.launch.metrics import Reader, fold, joined, parse_lines, read_steps


def row(step: int, total: float = 0.5, **data: float) -> str:
    values = {"training/global_step": step, "reward/total/mean": total, **data}
    return json.dumps({"step": step, "data": values}) + "\n"


def validation(step: int, value: float) -> str:
    return json.dumps({"step": step, "data": {"val-core/x/acc/mean@1": value}}) + "\n"


@pytest.fixture
def folder(tmp_path):
    return RunFolder(tmp_path, tmp_path / "checkpoints")


def test_a_step_knows_its_total_and_its_terms_in_order():
    text = (
        '{"step": 3, "data": {"reward/unscored": 0.25, "reward/total/mean": 0.75, "reward/total/std": 0.1, '
        '"reward/ends_with/mean": 0.25, "reward/ends_with/std": 0.4, "reward/ends_with/status/no_answer": 0.5, '
        '"reward/a/b/mean": 2, "reward/length/mean": 0.5, "response_length/mean": 12.0, "timing_s/step": 4.0, '
        '"timing_s/testing": 1.5, "training/global_step": 3, "note": "text"}}\n'
    )
    (step,) = parse_lines(text)
    assert (step.number, step.total, step.unscored, step.seconds, step.response_length) == (3, 0.75, 0.25, 5.5, 12.0)
    assert list(step.terms.items()) == [("ends_with", 0.25), ("a/b", 2.0), ("length", 0.5)]
    assert step.is_training and "note" not in step.values


def test_without_rewardkits_sampler_the_total_is_verls_own_score():
    (step,) = parse_lines('{"step": 1, "data": {"critic/score/mean": 0.5, "critic/score/max": 1.0}}\n')
    assert step.total == 0.5 and step.terms == {} and not step.is_training


def test_a_line_that_is_still_being_written_waits_and_any_other_bad_line_is_named():
    whole, torn = row(1), row(2)[:20]
    assert [s.number for s in parse_lines(whole + torn)] == [1]
    with pytest.raises(DataError, match=r"m\.jsonl, line 2"):
        parse_lines(whole + torn + "\n" + whole, "m.jsonl")


def test_null_is_nan_and_goes_back_to_null():
    (step,) = parse_lines('{"step": 1, "data": {"reward/total/mean": null}}\n')
    assert math.isnan(step.total)
    assert json.loads(step.to_json()) == {"step": 1, "data": {"reward/total/mean": None}}


def test_steps_trained_again_replace_all_that_came_after_them():
    first = parse_lines("".join(row(n, total=0.1 * n) for n in range(1, 8)))
    second = parse_lines(row(6, total=9.0))
    steps = joined(first, second)
    assert [s.number for s in steps] == [1, 2, 3, 4, 5, 6]
    assert steps[-1].total == 9.0 and steps[4].total == pytest.approx(0.5)


def test_a_validation_before_going_on_does_not_replace_the_step_it_follows():
    steps = joined(parse_lines(row(5, total=0.5)), parse_lines(validation(5, 0.25) + row(6)))
    assert [s.number for s in steps] == [5, 6]
    assert steps[0].total == 0.5 and steps[0].values["val-core/x/acc/mean@1"] == 0.25


def test_folding_joins_the_starts_into_one_file_and_does_no_harm_twice(folder):
    folder.live_metrics.write_text("".join(row(n) for n in range(1, 8)))
    assert len(fold(folder)) == 7
    assert not folder.live_metrics.exists()
    folder.live_metrics.write_text(row(6, total=2.0) + row(7, total=3.0) + row(8)[:30])
    before = read_steps(folder)
    assert fold(folder) == before == fold(folder) == parse_lines(folder.metrics.read_text())
    assert [(s.number, s.total) for s in before][4:] == [(5, 0.5), (6, 2.0), (7, 3.0)]


def test_a_run_without_a_step_folds_to_nothing(folder):
    assert fold(folder) == []
    assert not folder.metrics.exists()


def test_a_reader_sees_each_step_once_also_when_the_file_begins_anew(folder):
    reader = Reader(folder.live_metrics)
    assert reader.new_steps() == []
    folder.live_metrics.write_text(row(1) + row(2)[:10])
    assert [s.number for s in reader.new_steps()] == [1]
    folder.live_metrics.write_text(row(1) + row(2) + row(3))
    assert [s.number for s in reader.new_steps()] == [2, 3]
    folder.live_metrics.write_text("")
    assert reader.new_steps() == []
    folder.live_metrics.write_text(row(6))
    assert [s.number for s in reader.new_steps()] == [6]
