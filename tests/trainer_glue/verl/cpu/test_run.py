"""One step of verl's own trainer on the CPU, from the outside: trains, agrees with itself, saves, leaves nothing."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

pytest.importorskip("verl")
pytest.importorskip("transfer_queue")

import psutil
import pyarrow as pa
import pyarrow.parquet as pq

from tests.trainer_glue.verl.cpu.models import tiny_model
from tests.trainer_glue.verl.tokenizers import byte_tokenizer
from trainer_glue.verl.cpu import environment, overrides

REPOSITORY = Path(__file__).resolve().parents[4]
TEMPLATE = "{% for m in messages %}{{ m['content'] }}{% endfor %}<|eot_id|>"
REWARD = """
def compute_score(data_source, solution_str, ground_truth, extra_info=None):
    return float(sum(map(ord, solution_str)) % 7)
"""


def prepare(folder: Path) -> dict[str, object]:
    """A model, four prompts and a reward; the keys of a run with them."""
    tokenizer = byte_tokenizer()
    # As many ids as the tokenizer has: no mask stands between the rollout's probabilities and the trainer's.
    tiny_model(vocab_size=len(tokenizer)).save_pretrained(folder / "model")
    tokenizer.save_pretrained(folder / "model")
    rows = [
        {
            "data_source": "tiny",
            "prompt": [{"role": "user", "content": f"Two plus {n}?"}],
            "reward_model": {"style": "rule", "ground_truth": str(n + 2)},
            "extra_info": {"index": n},
        }
        for n in range(4)
    ]
    pq.write_table(pa.Table.from_pylist(rows), folder / "train.parquet")
    (folder / "reward.py").write_text(REWARD)
    return {
        "algorithm.adv_estimator": "grpo",
        "data.train_files": folder / "train.parquet",
        "data.val_files": folder / "train.parquet",
        "data.train_batch_size": 4,
        "data.max_prompt_length": 64,
        "data.max_response_length": 12,
        "actor_rollout_ref.model.path": folder / "model",
        "actor_rollout_ref.model.custom_chat_template": f'"{TEMPLATE}"',
        "actor_rollout_ref.actor.ppo_mini_batch_size": 4,
        "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu": 8,
        "actor_rollout_ref.rollout.n": 2,
        "actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu": 8,
        "reward.custom_reward_function.path": folder / "reward.py",
        "trainer.logger": "[console]",
        "trainer.val_before_train": False,
        "trainer.total_training_steps": 1,
        "trainer.save_freq": 1,
        "trainer.default_local_dir": folder / "out",
        "trainer.resume_mode": "disable",
        **overrides(1),
    }


def of_this_run(mark: str) -> list[psutil.Process]:
    """Processes that carry the run's mark in their environment."""
    processes = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("REWARDKIT_TEST_RUN") == mark:
                processes.append(process)
        except psutil.Error:
            continue
    return processes


@pytest.mark.run
@pytest.mark.long
@pytest.mark.verl
def test_one_step(tmp_path: Path) -> None:
    keys = prepare(tmp_path)
    mark = uuid.uuid4().hex
    variables = {**os.environ, **environment(), "REWARDKIT_TEST_RUN": mark, "PYTHONPATH": str(REPOSITORY)}
    arguments = [f"++{key}={value}" for key, value in keys.items()]
    done = subprocess.run(
        [sys.executable, "-m", "verl.trainer.main_ppo", *arguments],
        env=variables,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=540,
        check=False,
    )
    log = done.stdout + done.stderr
    assert done.returncode == 0, log[-5000:]
    metrics = dict(
        re.findall(r"([\w/]+):(-?\d[\d.e+-]*)", next(line for line in log.splitlines() if "step:1 - " in line))
    )
    assert float(metrics["training/rollout_probs_diff_max"]) < 1e-4
    assert float(metrics["actor/grad_norm"]) > 0
    assert float(metrics["response_length/mean"]) <= 12
    saved = tmp_path / "out" / "global_step_1" / "actor"
    assert (saved / "model_world_size_1_rank_0.pt").is_file()
    _, left = psutil.wait_procs(of_this_run(mark), timeout=20)
    assert not left, [process.cmdline() for process in left]
