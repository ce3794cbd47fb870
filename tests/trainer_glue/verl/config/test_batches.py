"""The arithmetic of batches and ranks, against verl's own checks where verl has them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from trainer_glue.verl.config.batches import check_batches


def config(batch: int = 8, mini: int = 8, n: int = 4, parallel: int = 1, limit: int = -1) -> dict[str, Any]:
    return {
        "data": {
            "train_batch_size": batch,
            "train_max_samples": limit,
            "max_prompt_length": 9,
            "max_response_length": 9,
        },
        "algorithm": {"adv_estimator": "grpo"},
        "actor_rollout_ref": {
            "actor": {"ppo_mini_batch_size": mini, "use_dynamic_bsz": True},
            "rollout": {"n": n, "tensor_model_parallel_size": parallel},
        },
    }


def codes(config_: dict[str, Any], rows: int | None = 1000, ranks: int = 1) -> list[tuple[str, str]]:
    return [(f.key.rpartition(".")[2], f.severity) for f in check_batches(config_, rows, ranks, lambda _: "")]


def test_a_batch_as_large_as_the_data_is_one_step() -> None:
    assert codes(config(), rows=8) == []
    assert codes(config(), rows=7) == [("train_batch_size", "error")]
    assert codes(config(), rows=None) == []


def test_a_mini_batch_that_does_not_divide_is_a_warning_with_one_that_does() -> None:
    (diagnostics,) = check_batches(config(batch=12, mini=8), 1000, 1, lambda _: "")
    assert (diagnostics.severity, diagnostics.hint) == ("warning", "6 divides it")


def test_one_response_a_prompt_is_a_warning() -> None:
    assert codes(config(n=1)) == [("n", "warning")]


def test_nothing_is_said_of_values_that_are_no_numbers() -> None:
    broken = config()
    broken["data"]["train_batch_size"] = None
    broken["actor_rollout_ref"]["rollout"]["n"] = "many"
    assert codes(broken) == []


@given(st.integers(1, 64), st.integers(1, 64), st.integers(1, 8), st.integers(1, 16))
def test_what_passes_divides_in_verls_workers(batch: int, mini: int, n: int, ranks: int) -> None:
    diagnostics = check_batches(config(batch, mini, n), 1000, ranks, lambda _: "")
    if any(f.severity == "error" for f in diagnostics):
        for f in diagnostics:
            if f.severity == "error" and f.hint and f.hint.endswith("would do"):
                assert (int(f.hint.split()[0]) * n) % ranks == 0
        return
    # verl/workers/engine_workers.py, train_mini_batch; verl/utils/config.py, validate_config
    assert mini <= batch
    assert (mini * n) % ranks == 0
    assert (batch * n) % ranks == 0


@given(st.integers(1, 16), st.integers(1, 16))
def test_tensor_parallel_divides_the_ranks(parallel: int, ranks: int) -> None:
    assume(32 % ranks == 0)
    diagnostics = codes(config(parallel=parallel), ranks=ranks)
    assert (("tensor_model_parallel_size", "error") in diagnostics) == (ranks % parallel != 0)


@pytest.mark.parametrize("key", ["actor.ppo", "rollout.log_prob", "ref.log_prob"])
def test_a_micro_batch_size_is_given_once(key: str) -> None:
    section, _, stem = key.partition(".")
    whole = config()
    parts = whole["actor_rollout_ref"]
    parts["actor"] |= {"use_dynamic_bsz": False, "use_kl_loss": True, "ppo_micro_batch_size_per_gpu": 1}
    parts["rollout"]["log_prob_micro_batch_size_per_gpu"] = 1
    parts["ref"] = {"log_prob_micro_batch_size_per_gpu": 1}
    assert codes(whole) == []
    parts[section][f"{stem}_micro_batch_size"] = 1
    assert codes(whole) == [(f"{stem}_micro_batch_size", "error")]
    parts[section] |= {f"{stem}_micro_batch_size": None, f"{stem}_micro_batch_size_per_gpu": None}
    assert codes(whole) == [(f"{stem}_micro_batch_size_per_gpu", "error")]
