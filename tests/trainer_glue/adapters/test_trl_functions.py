"""A formula as several reward functions of TRL: together they are the formula, and each part is seen."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from rewardkit import Batch, compile, group_zscore, parse
from rewardkit.errors import CompileError
from tests.trainer_glue.adapters.test_trl import said
from trainer_glue.adapters.trl_functions import RewardFunctions, reward_functions_of

PROMPTS = ["a"] * 4 + ["b"] * 4
TEXTS = ["#### 4", "#### 5.", "", "so #### 4.", "#### 6", "x y z", "#### 6 or #### 7", "#### 6."]
TRUTHS = ["4"] * 4 + ["6"] * 4
FORMULAS = [
    "gsm8k() + 0.1 * ends_with('.?!')",
    "2 * (gsm8k() - 0.5 * length(0.1)) + 3",
    "gsm8k().named('right') + when(gsm8k(), 0.1 * length(), 0) + observe(length())",
    "gsm8k() + 0.2 * group_rank(length()) - schedule({0: 0, 5: 1}) * ends_with('.?!')",
    "gsm8k() - group_mean(gsm8k())",
    "gsm8k() - 0.5 * (gsm8k() * length(cap=3)) - clip(gsm8k() - 0.5, 0, 1)",
    "0.5 * route({'x': gsm8k(), 'y': ends_with('.?!')}) + length(0.1)",
]


def paid(parts: RewardFunctions, truths: list[Any], **more: Any) -> np.ndarray:
    """What each function pays, as TRL stacks it: shape (n, functions), NaN for None."""
    completions = said(*TEXTS)
    given = {
        "prompts": PROMPTS,
        "completions": completions,
        "completion_ids": [[0]] * 8,
        "trainer_state": SimpleNamespace(global_step=5),
        "answer": truths,
        "data_source": ["x", "y"] * 4,
    }
    columns = [function(**given, **more) for function in parts.functions]
    return np.array([[np.nan if v is None else v for v in column] for column in columns]).T


def batch(truths: list[Any]) -> Batch:
    return Batch(TEXTS, truths, prompts=PROMPTS, groups=PROMPTS, data_sources=["x", "y"] * 4, step=5)


@pytest.mark.parametrize("formula", FORMULAS)
def test_the_weighted_sum_is_the_formula_but_for_a_plain_number(formula: str) -> None:
    parts = reward_functions_of(formula, ground_truth="answer", num_generations=4, unscored_limit=0.5)
    truths: list[Any] = [*TRUTHS[:7], None]
    columns = paid(parts, truths)
    scores = compile(formula)(batch(truths))
    constant = 3 if "+ 3" in formula else 0
    assert min(parts.weights) > 0
    total = np.nansum(columns * parts.weights, axis=1)
    np.testing.assert_allclose(total[~scores.unscored], scores.total[~scores.unscored] - constant, atol=1e-9)
    assert np.isnan(columns[scores.unscored]).all()


def test_each_part_has_its_name_and_its_weight() -> None:
    parts = reward_functions_of("gsm8k().named('right') + 0.1 * ends_with('.?!') - 0.5 * length(0.1, cap=1)")
    assert [f.__name__ for f in parts.functions] == ["right", "ends_with", "-length"]
    assert parts.weights == [1.0, 0.1, 0.5]
    assert len(reward_functions_of("gsm8k()").functions) == 1
    with pytest.raises(CompileError, match="pays nothing that a response can change"):
        reward_functions_of("observe(length()) + 2")


def test_the_formula_runs_once_a_batch_and_is_logged_once() -> None:
    logged: list[str] = []
    parts = reward_functions_of(FORMULAS[0], ground_truth="answer")
    paid(parts, TRUTHS, log_metric=lambda key, value: logged.append(key))
    assert logged.count("reward/total/mean") == 1
    first = paid(parts, TRUTHS)
    assert (paid(parts, ["5"] * 8)[:, 0] != first[:, 0]).any(), "another batch is another answer"


def test_normalise_then_sum_is_the_sum_of_z_scores() -> None:
    """TRL's own arithmetic over the functions' columns (trl/trainer/grpo_trainer.py), 1e-6 in the place of its 1e-4."""
    parts = reward_functions_of("gsm8k() + 0.5 * length(0.1)", ground_truth="answer", num_generations=4)
    grouped = paid(parts, TRUTHS).reshape(2, 4, 2)
    normal = (grouped - grouped.mean(1, keepdims=True)) / (grouped.std(1, ddof=1, keepdims=True) + 1e-6)
    summed = (normal.reshape(8, 2) * parts.weights).sum(axis=1)
    formula = group_zscore(parse("gsm8k()")) + 0.5 * group_zscore(parse("length(0.1)"))
    np.testing.assert_allclose(summed, compile(formula)(batch(TRUTHS)).total, atol=1e-5)
