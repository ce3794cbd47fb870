"""The files that the pages name, made here: a reader has them, and each page's commands find them in their folder."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.models import LLAMA_3_8B
from tests.rewardkit.report.dumps import hacked
from trainer_glue.verl.tiny_corpus import word_problems

TRAIN_ROWS, TEST_ROWS = 7473, 100
"""For training as many as GSM8K has: recipes count steps by them."""
SMALLEST_GROUND_TRUTH = 5
"""A lone 1 is in many texts by chance."""

MY_REWARD = '''"""A reward of one's own, with its examples."""

from rewardkit import Sample, gsm8k, term


@term(bounds=(0, 1))
def mentions(sample: Sample, word: str) -> float:
    return float(word in sample.response)


reward = gsm8k() + 0.1 * mentions("therefore")
EXAMPLES = [("therefore\\n#### 42", "42", 1.1), ("#### 42", "42", 1.0), ("therefore\\n#### 41", "42", 0.1)]
'''
RUN = """rewardkit:
  reward: gsm8k()
data:
  train_files: data/train.parquet
  train_batch_size: 64
  max_prompt_length: 256
  max_response_length: 128
actor_rollout_ref:
  model: {path: path/to/model, use_remove_padding: false, override_config: {attn_implementation: sdpa}}
  actor: {ppo_mini_batch_size: 64, ppo_micro_batch_size_per_gpu: 4}
  rollout: {name: vllm, n: 4, tensor_model_parallel_size: 1, log_prob_micro_batch_size_per_gpu: 4}
algorithm: {adv_estimator: grpo}
trainer: {n_gpus_per_node: 1, nnodes: 1, total_epochs: 1, save_freq: 20, default_local_dir: runs/mine}
"""
OLD = """# A config for verl 0.3.
data:
  train_files: data/train.parquet
  train_batch_size: 64
  max_prompt_length: 256
  max_response_length: 128
actor_rollout_ref:
  model: {path: path/to/model}
  actor:
    ppo_mini_batch_size: 64
    ppo_micro_batch_size_per_gpu: 4
    optim: {warmup_style: constant}
  rollout:
    {name: vllm, n: 4, tensor_model_parallel_size: 1, log_prob_micro_batch_size_per_gpu: 4, load_format: dummy_dtensor}
algorithm: {adv_estimator: grpo}
trainer: {n_gpus_per_node: 1, nnodes: 1, total_epochs: 1, save_freq: 20, default_local_dir: runs/mine}
"""
HUB_ID = "meta-llama/Meta-Llama-3-8B-Instruct"


def make(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything, once.

    A page's folder is a copy of `home/folder`, and the reader's home is one of `home/user`. What one page alone
    needs is in `home/pages/PAGE`. `home/trained`,
    `home/trained-lora` and `home/rollouts` are what training runs leave.
    """
    import pyarrow
    from pyarrow import parquet

    folder = home / "folder"
    folder.mkdir(parents=True)
    problems = [
        p for p in word_problems(2 * (TRAIN_ROWS + TEST_ROWS), 1) if int(p.ground_truth) >= SMALLEST_GROUND_TRUTH
    ]
    rows = [json.dumps(dict(p.extra)) for p in problems[: TRAIN_ROWS + TEST_ROWS]]
    (folder / "gsm8k_train.jsonl").write_text("\n".join(rows[:TRAIN_ROWS]) + "\n")
    (folder / "gsm8k_test.jsonl").write_text("\n".join(rows[TRAIN_ROWS:]) + "\n")
    (folder / "my_reward.py").write_text(MY_REWARD)
    (folder / "run.yaml").write_text(RUN)
    (folder / "old.yaml").write_text(OLD)
    (folder / "responses.jsonl").write_text(
        "".join(
            json.dumps({"response": text, "ground_truth": "42"}) + "\n"
            for text in ("6 * 7 = 42\n#### 42", "It is 43.", "")
        )
    )
    hacked(home / "rollouts")
    scored = [{"response": f"so {n}\n#### {n}", "ground_truth": "2", "group": n // 2} for n in range(8)]
    for page in ("doctor.md", "configuration.md"):
        data = home / "pages" / page / "data"
        data.mkdir(parents=True)
        prompts = [[{"role": "user", "content": p.extra["question"]}] for p in problems[:TRAIN_ROWS]]
        answers = [{"ground_truth": p.ground_truth} for p in problems[:TRAIN_ROWS]]
        columns = {"prompt": prompts, "reward_model": answers, "data_source": ["openai/gsm8k"] * TRAIN_ROWS}
        parquet.write_table(pyarrow.table(columns), data / "train.parquet")
    of_scoring = home / "pages" / "scoring.md"
    (of_scoring / "rollouts").mkdir(parents=True)
    for file in (of_scoring / "rollouts.parquet", *(of_scoring / "rollouts" / f"{n}.parquet" for n in (1, 2))):
        parquet.write_table(pyarrow.Table.from_pylist(scored), file)
    _model_and_run(home, folder / "path" / "to" / "model", monkeypatch)
    cached = home / "user" / ".cache" / "huggingface" / "hub" / f"models--{HUB_ID.replace('/', '--')}"
    snapshot = cached / "snapshots" / "made-up"
    snapshot.mkdir(parents=True)
    (cached / "refs").mkdir()
    (cached / "refs" / "main").write_text("made-up")
    (snapshot / "config.json").write_text(json.dumps(LLAMA_3_8B))
    (snapshot / "tokenizer_config.json").write_text(json.dumps({"chat_template": "{{ messages }}"}))


def _model_and_run(home: Path, copied: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tiny model without its warm-up, and what runs on one rank leave: two steps of it, one of it with an adapter."""
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    from trainer_glue.verl import tiny

    monkeypatch.setattr(tiny, "_WARM_UP_STEPS", 1)
    model = tiny.make_tiny(home / "assets", 0).model
    shutil.copytree(model, copied)
    whole = AutoModelForCausalLM.from_pretrained(model)
    for step in (20, 40):
        _save(home / "trained", step, whole, model)
    adapted = get_peft_model(whole, LoraConfig(task_type="CAUSAL_LM", r=2, lora_alpha=4, target_modules="all-linear"))
    actor = _save(home / "trained-lora", 20, adapted, model)
    (actor / "lora_train_meta.json").write_text(json.dumps({"r": 2, "lora_alpha": 4, "task_type": "CAUSAL_LM"}))


def _save(run: Path, step: int, module: Any, model: Path) -> Path:
    """One step as verl leaves it; the folder of its shard."""
    import torch

    actor = run / "checkpoints" / f"global_step_{step}" / "actor"
    (actor / "huggingface").mkdir(parents=True)
    for file in model.iterdir():
        if file.suffix in (".json", ".jinja"):
            shutil.copy(file, actor / "huggingface")
    torch.save(module.state_dict(), actor / "model_world_size_1_rank_0.pt")
    (run / "checkpoints" / "latest_checkpointed_iteration.txt").write_text(str(step))
    return actor
