"""Two real steps of TRL's GRPOTrainer on the CPU, paid by a formula."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("trl", reason="needs TRL: pip install trl")

from trainer_glue.adapters.trl import RewardFunction

pytestmark = [pytest.mark.run, pytest.mark.long]


def test_two_steps_log_every_term_and_leave_unscored_rows_out(tmp_path: Path) -> None:
    from datasets import Dataset
    from trl import GRPOConfig, GRPOTrainer

    from trainer_glue.verl.tiny import TinyAssets, make_tiny

    make_tiny(tmp_path / "assets", 0)
    rows = [{"prompt": f"What is {i} + {i}?", "answer": str(2 * i) if i else None} for i in range(4)]
    config = GRPOConfig(
        output_dir=str(tmp_path / "out"),
        use_cpu=True,
        bf16=False,
        per_device_train_batch_size=8,
        num_generations=2,
        max_completion_length=8,
        max_steps=2,
        logging_steps=1,
        report_to=[],
        save_strategy="no",
        seed=0,
    )
    reward = RewardFunction(
        "length(0.1) + 0.1 * gsm8k() + 0.1 * group_rank(length())",
        ground_truth="answer",
        num_generations=2,
        unscored_limit=0.5,
    )
    model = str(TinyAssets.under(tmp_path / "assets").model)
    trainer = GRPOTrainer(model=model, reward_funcs=reward, args=config, train_dataset=Dataset.from_list(rows))
    trainer.train()
    steps = [entry for entry in trainer.state.log_history if "reward" in entry]
    print(json.dumps(steps, indent=1))
    assert len(steps) == 2
    for step in steps:
        assert step["reward/unscored"] == 0.25, "one prompt of four has no gold"
        assert step["reward/gsm8k/status/bad_gold"] == 0.25
        assert step["rewards/rewardkit/mean"] == pytest.approx(step["reward/total/mean"], abs=1e-5)
        assert math.isfinite(step["loss"]) and math.isfinite(step["grad_norm"])
    assert any(step["reward/length/mean"] > 0 for step in steps)
