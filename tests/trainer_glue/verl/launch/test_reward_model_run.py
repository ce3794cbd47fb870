"""A run of verl with a reward model that verl itself serves, and a formula that pays for both: minutes on a laptop."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("verl", reason="needs verl installed: pip install 'rewardkit-rl[verl]'")
pytest.importorskip("transfer_queue")
torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.run, pytest.mark.long]

from trainer_glue.reward_models import LocalRewardModel
from trainer_glue.verl.tiny import make_tiny

ROOT = Path(__file__).parents[4]
FORMULA = "gsm8k() + 0.2 * reward_model(low=-20, high=20)"


def reward_model(folder: Path, policy: Path) -> Path:
    """A random reward model with the policy's tokenizer."""
    from transformers import AutoConfig, AutoTokenizer, LlamaForSequenceClassification

    config = AutoConfig.from_pretrained(policy)
    config.num_labels = 1
    torch.manual_seed(0)
    model = LlamaForSequenceClassification(config)
    torch.nn.init.normal_(model.score.weight, std=1.0)
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(policy).save_pretrained(folder)
    return folder


def test_verls_own_reward_model_is_paid_beside_a_rule(tmp_path: Path) -> None:
    made = make_tiny(tmp_path / "run" / "assets", 42)
    judge = reward_model(tmp_path / "reward", made.model)
    dumped = tmp_path / "dumped"
    done = subprocess.run(
        [
            *(sys.executable, "-m", "rewardkit", "train", "tiny", "--reward", FORMULA, "--out", tmp_path / "run"),
            *("trainer.total_training_steps=2", "trainer.save_freq=-1", f"trainer.rollout_data_dir={dumped}"),
            *("reward.reward_model.enable=true", "reward.reward_model.enable_resource_pool=true"),
            f"reward.reward_model.model_path={judge}",
        ],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{os.environ.get('PYTHONPATH', '')}"},
        capture_output=True,
        text=True,
        timeout=1500,
        check=False,
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-6000:]
    rows = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    steps = {row["step"]: row["data"] for row in rows}
    for step in (1, 2):
        metrics = steps[step]
        assert metrics["reward/reward_model/status/scored"] == 1
        assert metrics["reward/unscored"] == 0
        assert 0 < metrics["reward/reward_model/requests"] <= 1
        assert metrics["reward/reward_model/tokens"] > 0
        assert metrics["reward/reward_model/std"] > 0
        total = metrics["reward/gsm8k/mean"] + 0.2 * metrics["reward/reward_model/mean"]
        assert metrics["reward/total/mean"] == pytest.approx(total, abs=1e-4)
        assert metrics["critic/score/mean"] == pytest.approx(total, abs=1e-4)
    assert LocalRewardModel(str(judge)).scores([[{"role": "user", "content": "x"}]])
