"""What dynamic sampling throws away: groups of equal finished values, and groups without a score."""

from __future__ import annotations

import math
from typing import Any

import pytest

from rewardkit import Batch, Sample, Score, Status, compile, parse, term
from rewardkit.errors import CompileError, RunError, UnscoredError
from trainer_glue.verl.filtering import GroupFilter, check_metric, settings_of


@term(bounds=(-1, 9), optional=True)
def given(sample: Sample) -> Score:
    """The number that the response is, or the status that it names."""
    text = sample.response
    return Score(status=Status[text]) if text.isupper() else Score(float(text))


def judged(
    formula: str, groups: dict[str, list[str]], *, metric: str = "reward", step: int | None = None, **settings: Any
) -> tuple[dict[str, float | None], GroupFilter]:
    """What the filter says of groups of responses."""
    program = compile(parse(formula, {"given": given}))
    names = [group for group, texts in groups.items() for _ in texts]
    scores = program(Batch([t for texts in groups.values() for t in texts], groups=names, step=step))
    chosen = GroupFilter(metric, **{"prompts": 2, "most": 0, "unscored_limit": 0.9, **settings})
    return chosen.judge(scores, names), chosen


def test_equal_rows_teach_nothing_whatever_made_them_equal() -> None:
    groups = {"same": ["1", "1"], "apart": ["1", "2"], "alone": ["3"], "failed": ["NO_ANSWER", "-1"]}
    assert judged("0.1 * given()", groups)[0] == {
        "same": pytest.approx(0.1),
        "apart": None,
        "alone": None,
        "failed": pytest.approx(-0.1),
    }


def test_unscored_rows_count_as_what_the_trainer_is_paid_for_them() -> None:
    groups = {"none": ["ERROR", "ERROR"], "rest": ["2", "2", "ERROR"], "apart": ["1", "2", "ERROR"], "one": ["ERROR"]}
    said, _ = judged("given()", groups)
    assert math.isnan(said["none"]) and math.isnan(said["one"])
    assert (said["rest"], said["apart"]) == (2.0, None)


@pytest.mark.parametrize(
    ("formula", "step", "dead"),
    [
        ("when(group_rank(given()) > 0.7, 1, 0)", None, {"ties", "same"}),
        ("group_zscore(given())", None, {"ties", "same"}),
        ("given() - given() + group_mean(given())", None, {"ties", "same", "apart"}),
        ("batch_zscore(given())", None, {"ties", "same"}),
        ("schedule({0: 0, 5: 1}) * given()", 4, {"ties", "same", "apart"}),
        ("schedule({0: 0, 5: 1}) * given()", 5, {"ties", "same"}),
    ],
)
def test_the_finished_value_decides(formula: str, step: int | None, dead: set[str]) -> None:
    groups = {"ties": ["2", "2", "2"], "same": ["0.1"] * 3, "apart": ["1", "2", "2"]}
    said, _ = judged(formula, groups, step=step)
    assert {group for group, value in said.items() if value is not None} == dead


def test_any_name_of_the_formula_may_decide() -> None:
    formula = "given().named('right') + 0.1 * length().named('long')"
    groups = {"right": ["1", "1"], "long": ["1", "2"], "out": ["NOT_APPLICABLE", "NOT_APPLICABLE"]}
    assert judged(formula, groups, metric="right")[0] == {"right": 1.0, "long": None, "out": pytest.approx(0.1)}
    assert judged(formula, groups, metric="long")[0] == {"right": 1.0, "long": 1.0, "out": 1.0}


def test_a_metric_that_the_formula_lacks_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(CompileError, match=r"metric is 'math_equl'.*\n.*did you mean 'math_equal'"):
        check_metric("math_equl", ["math_equal", "overlong"])
    with pytest.raises(CompileError, match="one of reward, math_equal, overlong"):
        check_metric("acc", ["math_equal", "overlong"])
    check_metric("reward", [])


def test_metrics_say_how_many_and_why_and_then_count_anew() -> None:
    groups = {"low": ["0", "0"], "high": ["5", "5"], "mid": ["2", "2"], "none": ["ERROR", "ERROR"], "kept": ["0", "5"]}
    _, chosen = judged("given()", groups)
    assert chosen.metrics("reward") == {
        "reward/groups/judged": 5,
        "reward/groups/thrown_away": 4,
        "reward/groups/share": 0.8,
        "reward/groups/all_lowest": 1,
        "reward/groups/all_highest": 1,
        "reward/groups/all_between": 1,
        "reward/groups/unscored": 1,
        "reward/groups/mean": pytest.approx((0 + 10 + 4 + 0 + 5) / 10),
    }
    assert chosen.metrics("reward") == {}


def test_a_reward_that_scores_nothing_stops_the_run_in_place_of_drawing_prompts_for_ever() -> None:
    groups = {str(i): ["ERROR", "ERROR"] for i in range(2)}
    assert all(math.isnan(v) for v in judged("given()", groups, prompts=3, unscored_limit=0.2)[0].values())
    with pytest.raises(UnscoredError, match=r"4 of 4 responses could not be scored, and the limit is 20%"):
        judged("given()", groups, prompts=2, unscored_limit=0.2)


def test_prompts_that_all_teach_nothing_stop_the_run_where_the_config_says_so() -> None:
    groups = {str(i): ["0", "0"] for i in range(5)} | {"kept": ["0", "1"]}
    judged("given()", groups, most=4)
    with pytest.raises(RunError, match=r"5 of 6 groups .* \(5 all at the lowest reward, 0 all at the highest, 0 unsc"):
        judged("given()", groups, most=3)


class Trainer:
    """What of verl's trainer the sampler reads."""

    def __init__(self, **filter_groups: Any) -> None:
        self.config = {
            "algorithm": {"filter_groups": filter_groups or None},
            "data": {"train_batch_size": 16, "gen_batch_size": None},
            "trainer": {"v1": {"sampler": {"sync_refill_failed_groups": False}}},
        }

    def refill(self, n: int) -> int:
        return n


def test_the_settings_are_those_that_verl_gives_its_own_sampler() -> None:
    on = settings_of(Trainer(enable=True, metric="acc", max_inflight_gen_batches=2, max_num_gen_batches=10).refill)
    assert on == {
        "filter_groups_metric": "acc",
        "max_inflight_gen_batches": 2,
        "max_num_gen_batches": 10,
        "train_batch_size": 16,
        "gen_batch_size": 1,
        "sync_refill_failed_groups": False,
    }
    off = settings_of(Trainer(enable=False, metric="acc").refill)
    assert (off["filter_groups_metric"], off["gen_batch_size"]) == (None, 16)
    assert settings_of(Trainer().refill)["filter_groups_metric"] is None
    assert settings_of(lambda n: n) == {}
