"""One file with forty-one faults, of the kinds that people make: one look finds each of them, under its key."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("verl", reason="needs verl installed: pip install 'rewardkit-rl[verl]'")

from tests.models import LLAMA_3_8B
from trainer_glue.verl.preflight.report import diagnose

CONFIG = """
rewardkit:
  reward: gsm8k() + length(0.1)
  rewards: gsm8k()
  chat_template: llama3
custom_reward_function: {{path: reward.py}}
reward_model: {{reward_manager: dapo}}
data:
  train_files: {folder}/train.jsonl
  val_files: {folder}/none.parquet
  train_batch_size: 32
  train_batch_sise: 64
  shuffle: 'true'
  chat_template: llama-3
  max_prompt_length: 512
  max_response_length: 1024
actor_rollout_ref:
  reward_model: {{enable: false}}
  model:
    path: {folder}/model
    lr: 1.0e-6
    use_remove_padding: true
    override_config: {{attn_implementation: sdpa}}
  actor:
    strategy: fsdp
    use_dynamic_bsz: true
    ppo_max_token_len_per_gpu: 256
    ppo_mini_batch_size: 7
    ulysses_sequence_parallel_size: 3
    kl_loss: true
    checkpoint: {{contents: [model]}}
    fsdp_config: {{grad_offload: true}}
    optim: {{lr: fast, lr_warmup_steps: 999, warmup_style: constant}}
  rollout:
    name: vllm
    n: 8
    temprature: 1.0
    temperature: 0
    top_p: 0.9
    top_k: 50
    tensor_model_parallel_size: 3
    gpu_memory_utilization: 0.95
    max_model_len: 1024
    load_format: dummy_dtensor
    mode: sync
    val_kwargs: {{n: 4}}
algorithm:
  adv_estimator: grpo
  kl_coef: 0.1
  filter_groups: {{enable: true, metric: acc}}
trainer:
  n_gpus_per_node: 8
  nnodes: 1
  logger: [consol, mlflow]
  total_epoch: 3
  total_training_steps: 20
  save_freq: 500
  test_freq: 500
  remove_previous_ckpt_in_save: true
  v1: sync
"""
A, M, R = (f"actor_rollout_ref.{part}" for part in ("actor", "model", "rollout"))
PLANTED = {
    ("unknown-key", "rewardkit.rewards"),
    ("unknown-template", "rewardkit.chat_template"),
    ("RKD701", "rewardkit.reward"),
    ("dead-key", "custom_reward_function.path"),
    ("dead-key", "reward_model.reward_manager"),
    ("RKD601", "data.train_files"),
    ("missing-file", "data.val_files"),
    ("unknown-key", "data.train_batch_sise"),
    ("wrong-type", "data.shuffle"),
    ("dead-key", "data.chat_template"),
    ("unknown-key", f"{M}.lr"),
    ("RKD106", f"{M}.use_remove_padding"),
    ("RKD310", f"{A}.ppo_max_token_len_per_gpu"),
    ("note-batch-size", f"{A}.ppo_mini_batch_size"),
    ("RKD205", f"{A}.ulysses_sequence_parallel_size"),
    ("unknown-key", f"{A}.kl_loss"),
    ("dead-key", f"{A}.checkpoint.contents"),
    ("dead-key", f"{A}.fsdp_config.grad_offload"),
    ("wrong-type", f"{A}.optim.lr"),
    ("RKD506", f"{A}.optim.lr_warmup_steps"),
    ("dead-key", f"{A}.optim.warmup_style"),
    ("unknown-key", f"{R}.temprature"),
    ("RKD401", f"{R}.temperature"),
    ("RKD403", f"{R}.top_p"),
    ("RKD403", f"{R}.top_k"),
    ("RKD203", f"{R}.tensor_model_parallel_size"),
    ("RKD301", f"{R}.gpu_memory_utilization"),
    ("RKD309", f"{R}.max_model_len"),
    ("dead-key", f"{R}.load_format"),
    ("dead-key", f"{R}.mode"),
    ("RKD404", f"{R}.val_kwargs.n"),
    ("unknown-key", "algorithm.kl_coef"),
    ("wrong-value", "algorithm.filter_groups.metric"),
    ("RKD108", "trainer.logger"),
    ("RKD110", "trainer.logger"),
    ("unknown-key", "trainer.total_epoch"),
    ("RKD501", "trainer.save_freq"),
    ("RKD503", "trainer.test_freq"),
    ("dead-key", "trainer.remove_previous_ckpt_in_save"),
    ("wrong-type", "trainer.v1"),
    ("RKD801", ""),
}


def test_one_pass_finds_all_of_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLLM_ATTENTION_BACKEND", "XFORMERS")
    model = tmp_path / "model"
    model.mkdir()
    (model / "config.json").write_text(json.dumps(LLAMA_3_8B))
    prompt = [{"role": "user", "content": "1 + 1?"}]
    ground_truths = [
        {"prompt": prompt, "reward_model": {"ground_truth": ground_truth}}
        for ground_truth in ("2", "no number")
        for _ in range(32)
    ]
    (tmp_path / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ground_truths))
    path = tmp_path / "run.yaml"
    path.write_text(CONFIG.format(folder=tmp_path))
    by_key = {(f.code, f.key): f for f in diagnose(str(path), [], gpu=80).diagnostics}
    assert set(by_key) >= PLANTED, PLANTED - set(by_key)
    for (_, key), diagnostic in by_key.items():
        if (diagnostic.code, key) in PLANTED and key:
            assert diagnostic.where.startswith(f"{path}:"), diagnostic
            assert diagnostic.hint or diagnostic.code in ("wrong-type", "note-batch-size"), diagnostic
