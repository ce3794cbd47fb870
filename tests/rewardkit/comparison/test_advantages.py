"""The estimators against verl's own code, on groups with ties, of one, and of rows that all are the same."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")
core_algos = pytest.importorskip("verl.trainer.ppo.core_algos")

from rewardkit.comparison.advantages import drgrpo, gdpo, grpo, rloo
from tests.profiles import examples

ROW = st.tuples(
    st.integers(0, 3), st.sampled_from([0.0, 0.1, 1.0, -1.0, 1e3]), st.sampled_from([0.0, 0.5, 1.0]), st.integers(1, 5)
)
ROWS = st.lists(ROW, min_size=1, max_size=14)


def tensors(rewards: np.ndarray, tokens: np.ndarray) -> tuple[object, object]:
    """A reward on each last token, and the response mask."""
    mask = torch.zeros(len(rewards), 5)
    placed = torch.zeros(len(rewards), 5)
    for i, n in enumerate(tokens):
        mask[i, : int(n)] = 1
        placed[i, int(n) - 1] = float(rewards[i])
    return placed, mask


@pytest.mark.parametrize("name", ["grpo", "drgrpo", "rloo"])
@given(rows=ROWS)
@examples(40)
def test_one_number_a_row(name: str, rows: list[tuple[int, float, float, int]]) -> None:
    codes, rewards, _, tokens = (np.array(column) for column in zip(*rows, strict=True))
    placed, mask = tensors(rewards, tokens)
    if name == "rloo":
        theirs, _ = core_algos.compute_rloo_outcome_advantage(placed, mask, codes)
    else:
        theirs, _ = core_algos.compute_grpo_outcome_advantage(
            placed, mask, codes, norm_adv_by_std_in_grpo=name == "grpo"
        )
    ours = {"grpo": grpo, "drgrpo": drgrpo, "rloo": rloo}[name](rewards, codes)
    # float32's rounding within a group of equal thousands is divided by a standard deviation of almost nothing
    assert np.allclose(theirs[:, 0].numpy(), ours, rtol=1e-5, atol=1e-5 * max(1.0, float(np.abs(rewards).max())))


@given(rows=ROWS)
@examples(40)
def test_gdpo(rows: list[tuple[int, float, float, int]]) -> None:
    codes, first, second, tokens = (np.array(column) for column in zip(*rows, strict=True))
    assume(tokens.sum() > 1)  # verl raises otherwise
    first = np.clip(first, -1.0, 1.0)
    _, mask = tensors(first, tokens)
    prompts = torch.zeros(len(rows), 2)
    batch = {"prompts": prompts, "attention_mask": torch.cat([torch.ones(len(rows), 2), mask], dim=1).long()}
    theirs, _ = core_algos.compute_gdpo_outcome_advantage(
        torch.zeros_like(mask),
        mask,
        codes,
        config={"gdpo_reward_keys": ["a", "b"], "gdpo_reward_weights": [1.0, 0.2]},
        non_tensor_batch={"a": first, "b": second},
        batch=batch,
    )
    ours = gdpo([first, second], [1.0, 0.2], codes, tokens.astype(float))
    if np.ptp(ours) > 1e-3:  # else whitening divides by nothing but an epsilon
        assert np.allclose(theirs[:, 0].numpy(), ours, rtol=1e-3, atol=1e-4)
