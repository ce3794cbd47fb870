"""Two GRPO steps through verl's own vLLM server, the second generated with what the first has learned."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from trainer_glue.verl.cpu.vllm import EXTENSION

pytestmark = pytest.mark.vllm

ROOT = Path(__file__).parents[2]
SAME = 1e-5
"""Two engines in float32 give a token the same probability up to this."""
LIMIT_S = 900


def python(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run this environment's Python in a folder, with the repository importable."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{os.environ.get('PYTHONPATH', '')}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )


@pytest.mark.usefixtures("nothing_left_in_shared_memory")
def test_two_steps_with_weights_reloaded_between(tmp_path: Path) -> None:
    printed = python(tmp_path, "-m", "trainer_glue.verl.cpu.vllm")
    assert printed.returncode == 0, printed.stdout
    keys = printed.stdout.split()
    began = time.monotonic()
    done = python(
        tmp_path, "-m", "rewardkit", "train", "tiny", *keys, "trainer.total_training_steps=2", "trainer.save_freq=1"
    )
    print(done.stdout, f"wall: {time.monotonic() - began:.0f} s", sep="\n")
    run = tmp_path / "runs" / "tiny"
    log = (run / "log.txt").read_text()
    assert done.returncode == 0, log[-5000:]
    assert re.search(rf"\(vLLMHttpServer pid=\d+\).* '{re.escape(EXTENSION)}'", log), "it was verl's vLLM server"

    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    steps = {row["step"]: row["data"] for row in rows}
    assert list(steps) == [1, 2]
    for number, values in steps.items():
        shown = ("training/rollout_probs_diff_max", "training/rollout_probs_diff_mean", "timing_s/step", "timing_s/gen",
                 "timing_s/update_weights", "actor/grad_norm", "reward/total/mean", "response_length/mean")  # fmt: skip
        print(f"step {number}:", {name: values.get(name) for name in shown})
        assert values["training/rollout_probs_diff_valid"] == 1
        assert values["training/rollout_probs_diff_max"] < SAME, "the rollout computes with other weights"
        assert values["actor/grad_norm"] > 0
        assert values["timing_s/update_weights"] > 0

    # Step 2's agreement says something only if step 1 moved the weights further than the two engines differ.
    moved = probabilities_moved(run / "assets", run / "checkpoints" / "global_step_1")
    print(f"step 1 moved the probabilities of the training prompts' tokens by up to {moved:.2g}")
    assert moved > 1000 * SAME


def probabilities_moved(assets: Path, checkpoint: Path) -> float:
    """The largest change of any token's probability between the initial model and a checkpoint, over some prompts."""
    import pyarrow.parquet as pq
    import torch
    import torch.distributed.tensor  # the checkpoint holds DTensors
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(assets / "model")
    model = AutoModelForCausalLM.from_pretrained(assets / "model", dtype=torch.float32).eval()
    prompts = [row["prompt"] for row in pq.read_table(assets / "train.parquet").slice(0, 8).to_pylist()]
    batches = [tokenizer.apply_chat_template(p, return_tensors="pt", return_dict=False) for p in prompts]

    @torch.no_grad()
    def probabilities() -> list[torch.Tensor]:
        return [model(input_ids=ids).logits.softmax(-1) for ids in batches]

    before = probabilities()
    shard = torch.load(checkpoint / "actor" / "model_world_size_1_rank_0.pt", weights_only=True)
    model.load_state_dict({name: getattr(t, "to_local", lambda t=t: t)() for name, t in shard.items()})
    return max(float((a - b).abs().max()) for a, b in zip(before, probabilities(), strict=True))
