"""Dynamic sampling against verl's own TransferQueue: what is thrown away, what is drawn anew, what is logged."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("verl")
pytest.importorskip("transfer_queue")

from rewardkit.errors import CompileError, UnscoredError
from tests.trainer_glue.verl.test_sampler import clean, put, queue, stored

pytestmark = pytest.mark.run

__all__ = ["clean", "queue"]


class Trainer:
    """A trainer with a config, whose next prompts are answered as the test says."""

    def __init__(self, tq: Any, formula: str, answers: Iterator[list[str]], **filter_groups: Any) -> None:
        self.config = {
            "algorithm": {"filter_groups": {"enable": True, "metric": "reward", **filter_groups}},
            "data": {"train_batch_size": 2},
            "trainer": {"v1": {"sampler": {}}},
        }
        self.tq, self.formula, self.answers = tq, formula, answers
        self.drawn: list[list[str]] = []

    def refill(self, n: int) -> None:
        """As verl's trainer submits prompts, each of which is answered at once; none is left when the test has none."""
        for texts in [next(self.answers) for _ in range(n)]:
            put(self.tq, self.formula, {f"r{len(self.drawn)}": texts})
            self.drawn.append(texts)


def sampler(trainer: Trainer, kind: str = "ReplayBuffer", **options: Any) -> Any:
    import trainer_glue.verl

    return getattr(trainer_glue.verl, kind)(
        trainer_mode="sync" if kind == "ReplayBuffer" else "colocate_async",
        trainer_config={},
        max_off_policy_threshold=8,
        max_off_policy_strategy="drop",
        sampler_kwargs={"rewardkit": {"formula": trainer.formula}, "poll_interval": 0.05, **options},
        refill_fn=trainer.refill,
    )


@pytest.mark.parametrize("kind", ["ReplayBuffer", "ReplayBufferAsync"])
def test_the_finished_value_decides_and_what_is_thrown_away_is_drawn_anew(clean: Any, kind: str) -> None:
    """The reward loop pays a lone row the same whatever it says; only the group tells rows apart."""
    formula = "gsm8k() + group_rank(length())"
    trainer = Trainer(clean, formula, iter([["a b", "a b"], ["a", "a b c"], ["a b", "a"], ["a", "a b"]]))
    put(clean, formula, {"same": ["a b", "c d"], "apart": ["#### 4", "#### 4 as it is"]})
    batch, metrics = sampler(trainer, kind).sample(7, "train", 2)
    rows = stored(clean, batch)
    assert {key.split("_")[0] for key in rows} == {"apart", "r1"}
    assert [line.sum().item() for line in rows.values()] == [1.0, 2.0, 0.0, 1.0]
    assert metrics["training/filter_groups/evicted_samples"] == 2
    assert metrics["reward/groups/thrown_away"] == 2
    assert metrics["reward/groups/unscored"] == 0
    assert metrics["reward/total/mean"] == 1.0
    assert not [k for k in clean.kv_list("train")["train"] if k.startswith(("same", "r0"))]


def test_a_group_without_a_score_is_drawn_anew_and_counted(clean: Any) -> None:
    formula = "gsm8k() + length(0.1)"
    trainer = Trainer(clean, formula, iter([["a b", "a"], ["a b", "a b c"]]))
    put(clean, formula, {"bad": ["a", "b c"]}, ground_truth=None)
    put(clean, formula, {"good": ["a", "#### 4"]})
    batch, metrics = sampler(trainer, unscored_limit=0.5).sample(7, "train", 2)
    assert "bad" not in {key.split("_")[0] for key in batch.keys}
    assert metrics["training/filter_groups/discarded_surplus_samples"] == 1  # verl draws two for each
    assert metrics["reward/groups/unscored"] == 1
    assert metrics["reward/unscored"] == 0.0


def test_a_term_that_scores_nothing_ends_the_run(clean: Any) -> None:
    formula = "gsm8k()"
    put(clean, formula, {"u1": ["a"], "u2": ["b"]}, ground_truth=None)
    with pytest.raises(UnscoredError, match="2 of 2 responses could not be scored"):
        sampler(Trainer(clean, formula, iter([]))).sample(7, "train", 2)


def test_a_name_of_the_formula_may_decide_and_another_is_refused(clean: Any) -> None:
    formula = "gsm8k() + length(0.1, cap=1)"
    trainer = Trainer(clean, formula, iter([["#### 4", "no"], ["no", "#### 4"]]), metric="gsm8k")
    put(clean, formula, {"wrong": ["a", "b c"], "apart": ["#### 4", "b"]})
    batch, metrics = sampler(trainer).sample(7, "train", 2)
    assert "wrong" not in {key.split("_")[0] for key in batch.keys}
    assert (metrics["reward/groups/all_lowest"], metrics["reward/groups/all_highest"]) == (1, 0)
    with pytest.raises(CompileError, match="one of reward, gsm8k, length"):
        sampler(Trainer(clean, formula, iter([]), metric="acc"))


def test_validation_is_never_filtered(clean: Any) -> None:
    formula = "gsm8k()"
    rows = sampler(Trainer(clean, formula, iter([])))
    put(clean, formula, {"u1": ["a", "a"]})
    rows._sync_metadata_from_transfer_queue()
    assert rows._dapo_filtered_keys("val")[0] == set()
    assert rows._dapo_filtered_keys("train")[0] == {"u1"}
