"""Estimators and dynamic sampling against the formula: what is said before the run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from rewardkit import parse
from rewardkit.engine.loading import load_reward
from trainer_glue.verl.config.group_settings import as_gdpo, check_group_settings

GDPO = "group_zscore(gsm8k()) + 0.5 * group_zscore(ends_with('.?!'))"


def found(formula: str, **settings: object) -> list[tuple[str, str]]:
    """Codes and keys for an algorithm section, a group size, and a trainer."""
    n, v1 = settings.pop("n", 8), settings.pop("use_v1", True)
    config = {
        "algorithm": {"adv_estimator": "grpo", "norm_adv_by_std_in_grpo": True, **settings},
        "actor_rollout_ref": {"rollout": {"n": n}},
        "trainer": {"use_v1": v1},
    }
    said = check_group_settings(config, load_reward(formula), lambda key: key)
    return [(d.code, d.key.removeprefix("algorithm.")) for d in said]


DIVIDED, NAME = "norm_adv_by_std_in_grpo", "adv_estimator"


@pytest.mark.parametrize(
    ("formula", "settings", "expected"),
    [
        ("gsm8k()", {"adv_estimator": "gdpo"}, [("estimator", NAME)]),
        ("gsm8k()", {"adv_estimator": "gdpo", "use_v1": False}, []),
        (GDPO, {}, [("normalised-twice", DIVIDED)]),
        (GDPO, {"norm_adv_by_std_in_grpo": False}, []),
        (GDPO, {"adv_estimator": "rloo"}, []),
        ("group_zscore(gsm8k())", {}, []),
        ("gsm8k() + 0.1 * group_zscore(length())", {}, []),
        (f"batch_zscore({GDPO})", {}, [("normalised-twice", DIVIDED)]),
        ("100 * gsm8k()", {}, []),
        ("100 * gsm8k()", {"norm_adv_by_std_in_grpo": False}, [("formula-scale", DIVIDED)]),
        ("100 * gsm8k()", {"adv_estimator": "rloo"}, [("formula-scale", NAME)]),
        ("gsm8k()", {"adv_estimator": "rloo"}, []),
        ("100 * gsm8k()", {"adv_estimator": "reinforce_plus_plus"}, []),
        ("gsm8k() + 0.1 * group_mean(gsm8k())", {}, [("same-in-group", NAME)]),
        ("gsm8k() - group_max(gsm8k()).named('best')", {"adv_estimator": "rloo"}, [("same-in-group", NAME)]),
        ("gsm8k() + observe(group_mean(gsm8k()))", {}, []),
        ("when(group_max(gsm8k()) < 1, length(cap=1), gsm8k())", {}, []),
        ("gsm8k() + group_mean(gsm8k())", {"adv_estimator": "gae"}, []),
    ],
)
def test_the_estimator(formula: str, settings: dict[str, object], expected: list[tuple[str, str]]) -> None:
    assert found(formula, **settings) == expected


@pytest.mark.parametrize(
    ("formula", "groups", "more", "expected"),
    [
        ("gsm8k()", {}, {}, []),
        ("gsm8k() + length(0.1, cap=1)", {"metric": "length"}, {}, []),
        ("gsm8k()", {"metric": "acc"}, {}, [("wrong-value", "filter_groups.metric")]),
        ("gsm8k()", {}, {"use_v1": False}, [("sampler", "filter_groups.enable")]),
        ("gsm8k()", {}, {"n": 1}, [("sampler", "filter_groups.enable")]),
        ("when(gsm8k(), 1, 1)", {}, {}, [("sampler", "filter_groups.enable")]),
        ("gsm8k()", {"enable": False, "metric": "acc"}, {"n": 1}, []),
    ],
)
def test_dynamic_sampling(
    formula: str, groups: dict[str, object], more: dict[str, object], expected: list[tuple[str, str]]
) -> None:
    assert found(formula, filter_groups={"enable": True, "metric": "reward", **groups}, **more) == expected


@pytest.mark.parametrize(
    ("formula", "gdpo"),
    [
        ("gsm8k()", "group_zscore(gsm8k())"),
        ("2 * (gsm8k() - 0.5 * length())", "2 * group_zscore(gsm8k()) - group_zscore(length())"),
        (GDPO, GDPO),
        ("when(gsm8k(), 1, 0) + length()", "group_zscore(when(gsm8k(), 1, 0)) + group_zscore(length())"),
    ],
)
def test_a_formula_is_spelt_as_gdpo_takes_it(formula: str, gdpo: str) -> None:
    assert as_gdpo(parse(formula)) == gdpo
    parse(gdpo)


def test_the_page_s_settings_are_those_that_nothing_is_said_of() -> None:
    page = (Path(__file__).parents[4] / "docs" / "groups.md").read_text()
    dapo, gdpo = (yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL))
    assert found("gsm8k()", **dapo["algorithm"]) == []
    assert dapo["algorithm"]["filter_groups"]["enable"] is True
    formula = gdpo["rewardkit"]["reward"]
    assert found(formula, **gdpo["algorithm"]) == []
    assert as_gdpo(parse("gsm8k() + 0.5 * ends_with('.?!')")) == formula
