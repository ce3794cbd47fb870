"""GDPO as a formula, and the statistics of groups, against verl's own code on random groups with ties."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("verl")

from rewardkit import Batch, Sample, Score, Status, compile, parse, term
from trainer_glue.adapters.unscored import fill_unscored


@term(bounds=(0, 4))
def first(sample: Sample) -> Score:
    """The first of two numbers; none where it is a question mark."""
    text = sample.response.split()[0]
    return Score(status=Status.ERROR) if text == "?" else Score(float(text))


@term(bounds=(0, 40))
def second(sample: Sample) -> float:
    """The second of two numbers."""
    return float(sample.response.split()[1])


NAMES = {"first": first, "second": second}
GDPO = "group_zscore(first()) + 0.5 * group_zscore(second())"


def rows(seed: int, *, unscored: bool = False) -> tuple[list[str], list[str]]:
    """Groups of one to nine rows, many values equal, some groups equal throughout."""
    rng = np.random.default_rng(seed)
    texts, groups = [], []
    for group in range(12):
        size, most = int(rng.integers(2, 10)), int(rng.integers(1, 5))
        for _ in range(size):
            a = "?" if unscored and rng.random() < 0.1 else str(rng.integers(0, most))
            texts.append(f"{a} {rng.integers(0, 3) * 10}")
            groups.append(f"g{group}")
    order = rng.permutation(len(texts))
    return [texts[i] for i in order], [groups[i] for i in order]


def verl_s(name: str, rewards: Any, groups: list[str], lengths: Any, **more: Any) -> np.ndarray:
    """The advantages of verl's own estimator, one a row, for rewards on the last token."""
    from verl.trainer.ppo import core_algos

    mask = torch.tensor([[float(t < n) for t in range(max(lengths))] for n in lengths])
    tokens = torch.zeros_like(mask)
    tokens[torch.arange(len(lengths)), torch.tensor(lengths) - 1] = torch.tensor(rewards, dtype=torch.float32)
    estimate = core_algos.get_adv_estimator_fn(name)
    made, _ = estimate(token_level_rewards=tokens, response_mask=mask, index=np.array(groups), **more)
    return made[:, 0].double().numpy()


@pytest.mark.parametrize("seed", range(8))
def test_under_dr_grpo_the_formula_is_gdpo_but_for_one_factor_and_shift_of_the_batch(seed: int) -> None:
    texts, groups = rows(seed)
    scores = compile(parse(GDPO, NAMES))(Batch(texts, groups=groups))
    lengths = np.random.default_rng(seed).integers(1, 9, len(texts)).tolist()
    ours = verl_s("grpo", scores.total, groups, lengths, norm_adv_by_std_in_grpo=False)
    np.testing.assert_allclose(ours, scores.total, atol=1e-5)
    width = max(lengths)
    theirs = verl_s(
        "gdpo",
        np.zeros(len(texts)),
        groups,
        lengths,
        config=SimpleNamespace(
            get=lambda key, default=None: {
                "gdpo_reward_keys": ["first", "second"],
                "gdpo_reward_weights": [1.0, 0.5],
            }.get(key, default)
        ),
        non_tensor_batch={
            "first": np.array([float(t.split()[0]) for t in texts]),
            "second": np.array([float(t.split()[1]) for t in texts]),
        },
        batch={
            "prompts": torch.zeros(len(texts), 1),
            "attention_mask": torch.tensor([[1] + [int(t < n) for t in range(width)] for n in lengths]),
        },
    )
    tokens = np.repeat(ours, lengths)
    np.testing.assert_allclose(theirs, (ours - tokens.mean()) / tokens.std(ddof=1), atol=1e-4)


@pytest.mark.parametrize("seed", range(8))
def test_batch_zscore_is_the_papers_last_step_over_rows(seed: int) -> None:
    """trl-GDPO of NVlabs: the sum less its mean over its standard deviation, each row once."""
    texts, groups = rows(seed)
    scores = compile(parse(f"batch_zscore({GDPO})", NAMES))(Batch(texts, groups=groups))
    parts = []
    for place in (0, 1):
        reward = torch.tensor([float(t.split()[place]) for t in texts], dtype=torch.float64)
        normal = torch.zeros_like(reward)
        for group in set(groups):
            here = torch.tensor([g == group for g in groups])
            normal[here] = (reward[here] - reward[here].mean()) / (reward[here].std() + 1e-6)
        parts.append(normal)
    summed = parts[0] + 0.5 * parts[1]
    expected = (summed - summed.mean()) / (summed.std() + 1e-6)
    np.testing.assert_allclose(scores.total, expected.numpy(), atol=1e-5)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("name", ["grpo", "rloo"])
def test_no_nan_leaves_and_unscored_rows_teach_nothing(name: str, seed: int) -> None:
    texts, groups = rows(seed, unscored=True)
    scores = compile(parse(f"batch_zscore({GDPO}) + first() - group_mean(first())", NAMES))(Batch(texts, groups=groups))
    assert np.isfinite(scores.total[~scores.unscored]).all()
    assert scores.unscored.tolist() == [t.startswith("?") for t in texts]
    made = verl_s(name, fill_unscored(scores, groups), groups, [3] * len(texts))
    assert np.isfinite(made).all()
    np.testing.assert_allclose(made[scores.unscored], 0.0, atol=1e-5)


@pytest.mark.parametrize("seed", range(8))
def test_the_rest_of_the_group_as_a_formula_is_dr_grpo(seed: int) -> None:
    texts, groups = rows(seed)
    rewards = compile(parse("first()", NAMES))(Batch(texts, groups=groups)).total
    formula = compile(parse("first() - group_mean(first())", NAMES))(Batch(texts, groups=groups)).total
    theirs = verl_s("grpo", rewards, groups, [2] * len(texts), norm_adv_by_std_in_grpo=False)
    np.testing.assert_allclose(formula, theirs, atol=1e-5)
    divided = compile(parse("group_zscore(first())", NAMES))(Batch(texts, groups=groups)).total
    np.testing.assert_allclose(divided, verl_s("grpo", rewards, groups, [2] * len(texts)), atol=1e-5)
