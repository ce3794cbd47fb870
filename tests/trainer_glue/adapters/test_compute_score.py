"""A formula behind verl's oldest integration point."""

from __future__ import annotations

import numpy as np
import pytest

from rewardkit.errors import CompileError
from trainer_glue.adapters.compute_score import compute_score_of


def test_score_values_and_statuses_under_the_same_keys() -> None:
    score = compute_score_of("gsm8k() + 0.1 * ends_with('.?!', min_words=0)")
    right = score("openai/gsm8k", "#### 4", "4", {"index": 1})
    assert right == {
        "score": 1.0,
        "gsm8k": 1.0,
        "ends_with": 0.0,
        "gsm8k/status": 0.0,
        "ends_with/status": 0.0,
        "unscored": 0.0,
    }
    silent = score(data_source="openai/gsm8k", solution_str="", ground_truth="4", extra_info=None, sandbox=None)
    assert silent["score"] == 0.0 and silent["unscored"] == 0.0
    unusable = score("openai/gsm8k", "#### 4", None)
    assert (unusable["score"], unusable["unscored"]) == (0.0, 1.0)
    assert right.keys() == silent.keys() == unusable.keys()


def test_routes_and_a_list_of_ground_truths_from_parquet() -> None:
    score = compute_score_of("route({'a': exact(), 'b': length()}, by='data_source')")
    assert score("a", "four", np.array(["4", "four"], dtype=object))["score"] == 1.0
    assert score("b", "one two", "4")["score"] == 2.0


@pytest.mark.parametrize(
    "formula",
    ["group_rank(length())", "batch_zscore(length())", "length(unit='tokens')", "linear(0, 1, steps=5) * length()"],
)
def test_what_the_trainer_cannot_carry_is_refused(formula: str) -> None:
    with pytest.raises(CompileError, match="verl-args"):
        compute_score_of(formula)


def test_verl_s_own_manager_takes_it() -> None:
    pytest.importorskip("verl")
    from verl.workers.reward_manager import NaiveRewardManager

    from tests.trainer_glue.verl.test_manager import TOKENIZER, whole

    score = compute_score_of("length(0.1) + ends_with('.?!', min_words=0)")
    data = whole(["one two.", "three"])
    paid = NaiveRewardManager(tokenizer=TOKENIZER, num_examine=0, compute_score=score)(data, return_dict=True)
    assert paid["reward_tensor"].sum(-1).tolist() == pytest.approx([1.2, 0.1])
    assert paid["reward_extra_info"]["length"] == pytest.approx([0.2, 0.1])
