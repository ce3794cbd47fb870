"""One planted fault a case: found under its code and key, with its severity, and nothing else found."""

from __future__ import annotations

from typing import Any

import pytest

from tests.trainer_glue.verl.preflight.runs import Packages, codes, found

ROLLOUT, ACTOR, MODEL = (f"actor_rollout_ref.{part}" for part in ("rollout", "actor", "model"))
R, A, M = (f"actor_rollout_ref__{part}" for part in ("rollout", "actor", "model"))


def test_a_good_run_has_no_diagnostics() -> None:
    assert codes() == []


FAULTS: list[tuple[dict[str, Any], str, str, str, str]] = [
    # changes, code, key, severity, what the fix or the evidence says
    ({f"{R}__tensor_model_parallel_size": 3}, "RKD203", f"{ROLLOUT}.tensor_model_parallel_size", "error", "1, 2, 4, 8"),
    (
        {
            f"{R}__tensor_model_parallel_size": 16,
            "ranks": 16,
            "trainer__n_gpus_per_node": 16,
            "machine": Packages(gpus=16),
        },
        "RKD204",
        f"{ROLLOUT}.tensor_model_parallel_size",
        "warning",
        "each is kept 2 times",
    ),
    ({f"{A}__ulysses_sequence_parallel_size": 3}, "RKD205", f"{ACTOR}.ulysses_sequence_parallel_size", "error", "8"),
    ({f"{R}__temperature": 0}, "RKD401", f"{ROLLOUT}.temperature", "error", "temperature=1.0"),
    ({f"{R}__top_k": 1}, "RKD401", f"{ROLLOUT}.top_k", "error", "top_k=-1"),
    ({f"{R}__temperature": 0.2}, "RKD402", f"{ROLLOUT}.temperature", "warning", "hardly differ"),
    ({f"{R}__temperature": 2.5}, "RKD402", f"{ROLLOUT}.temperature", "warning", "noise"),
    ({f"{R}__top_p": 0.9}, "RKD403", f"{ROLLOUT}.top_p", "warning", "biases the policy gradient"),
    ({f"{R}__top_k": 50}, "RKD403", f"{ROLLOUT}.top_k", "warning", "biases the policy gradient"),
    ({f"{R}__val_kwargs__n": 4}, "RKD404", f"{ROLLOUT}.val_kwargs.n", "warning", "the same response 4 times"),
    ({"trainer__save_freq": 200}, "RKD501", "trainer.save_freq", "warning", "global_step_105"),
    ({"trainer__save_freq": -1}, "RKD502", "trainer.save_freq", "warning", "nothing is saved"),
    ({"trainer__test_freq": 200}, "RKD503", "trainer.test_freq", "warning", "7 steps an epoch, 105 in 15 epochs"),
    ({"trainer__test_freq": -1}, "RKD504", "data.val_files", "warning", "never used"),
    ({"rows": 1500, "trainer__save_freq": 5}, "RKD505", "data.train_batch_size", "warning", "476 (32%) are left out"),
    ({f"{A}__optim__lr_warmup_steps": 500}, "RKD506", f"{ACTOR}.optim.lr_warmup_steps", "warning", "lr_warmup_steps=5"),
    ({f"{R}__max_model_len": 1024}, "RKD309", f"{ROLLOUT}.max_model_len", "warning", "512 + 1,024 = 1,536"),
    (
        {"data__max_response_length": 8000, f"{R}__max_model_len": None},
        "RKD309",
        f"{MODEL}.path",
        "error",
        "data.max_response_length=7680",
    ),
    ({f"{R}__max_model_len": 16384}, "RKD309", f"{ROLLOUT}.max_model_len", "error", "the model takes 8,192"),
    ({f"{A}__ppo_max_token_len_per_gpu": 1024}, "RKD310", f"{ACTOR}.ppo_max_token_len_per_gpu", "error", "3072"),
    ({"trainer__logger": ["wandbb"]}, "RKD108", "trainer.logger", "error", "did you mean wandb?"),
    ({"trainer__logger": ["mlflow"]}, "RKD110", "trainer.logger", "error", "pip install mlflow"),
    ({"trainer__logger": "tensorboard"}, "RKD110", "trainer.logger", "error", "pip install tensorboard"),
    ({"machine": Packages({"vllm": ""})}, "RKD101", f"{ROLLOUT}.name", "error", "rewardkit-rl[gpu]"),
    (
        {"machine": Packages({"flash-attn": ""})},
        "RKD105",
        f"{MODEL}.override_config.attn_implementation",
        "error",
        "(verl's default)",
    ),
    (
        {"machine": Packages({"flash-attn": "", "kernels": "0.9"})},
        "RKD105",
        f"{MODEL}.override_config.attn_implementation",
        "warning",
        "kernels 0.9",
    ),
    (
        {f"{M}__override_config__attn_implementation": "sdpa"},
        "RKD106",
        f"{MODEL}.use_remove_padding",
        "warning",
        "square of a micro batch",
    ),
    ({"machine": Packages({"torch": "2.11.0+cpu"})}, "RKD107", "", "warning", "install torch for CUDA"),
    ({"machine": Packages(gpus=4)}, "RKD201", "trainer.n_gpus_per_node", "error", "n_gpus_per_node=4"),
    ({"machine": Packages(gpus=9)}, "RKD202", "trainer.n_gpus_per_node", "warning", "1 will idle"),
    (
        {"machine": Packages(VLLM_ATTENTION_BACKEND="XFORMERS")},
        "RKD801",
        "",
        "warning",
        "attention_backend=FLASH_ATTN",
    ),
    ({"machine": Packages(VLLM_USE_V1="0")}, "RKD801", "", "warning", "unset VLLM_USE_V1"),
    (
        {"machine": Packages(PYTORCH_CUDA_ALLOC_CONF="expandable_segments:True")},
        "RKD802",
        "",
        "error",
        "can't sleep with expandable segments",
    ),
    (
        {"machine": Packages(ROCR_VISIBLE_DEVICES="0", CUDA_VISIBLE_DEVICES="0")},
        "RKD802",
        "",
        "error",
        "unset ROCR_VISIBLE_DEVICES",
    ),
    ({f"{A}__strategy": "megatron"}, "RKD902", f"{ACTOR}.strategy", "warning", "fsdp and fsdp2 only"),
    ({"model": {"model_type": "mamba"}}, "RKD902", f"{MODEL}.path", "warning", "'mamba'"),
    ({"reward": "length(0.1)"}, "RKD701", "rewardkit.reward", "warning", "pays up to 102.4"),
    ({"reward": "gsm8k() + length(0.0005, cap=0.9)"}, "RKD702", "rewardkit.reward", "warning", "the cap never caps"),
    ({"reward": "when(gsm8k(), brevity(target=2000), 0)"}, "RKD702", "rewardkit.reward", "warning", "paid in full"),
    ({"reward": "gsm8k() + 0.5 * overlong(20480, 4096)"}, "RKD702", "rewardkit.reward", "warning", "ever penalised"),
]


@pytest.mark.parametrize(("changes", "code", "key", "severity", "says"), FAULTS)
def test_a_fault_is_found(changes: dict[str, Any], code: str, key: str, severity: str, says: str) -> None:
    (diagnostic,) = found(**changes)
    assert (diagnostic.code, diagnostic.key, diagnostic.severity) == (code, key, severity)
    assert says in f"{diagnostic.message} {diagnostic.hint}"
    assert diagnostic.where == (f"run.yaml: {key}" if key else "")


def test_all_faults_of_a_run_are_found_at_once() -> None:
    changes = {
        f"{R}__temperature": 0,
        f"{R}__top_p": 0.9,
        f"{R}__tensor_model_parallel_size": 3,
        "trainer__save_freq": 200,
        "trainer__logger": ["mlflow"],
        "machine": Packages({"flash-attn": ""}, VLLM_USE_V1="0"),
    }
    expected = {"RKD105", "RKD110", "RKD203", "RKD401", "RKD403", "RKD501", "RKD801"}
    assert {f.code for f in found(**changes)} == expected


def test_what_a_machine_lacks_is_a_warning_where_the_run_is_only_looked_at() -> None:
    machine = Packages({"vllm": "", "flash-attn": ""}, gpus=4)
    strict = codes(machine=machine)
    assert [severity for *_, severity in strict] == ["error"] * 3
    assert codes(machine=machine, lenient=True) == [(code, key, "warning") for code, key, _ in strict]
    (kept,) = found(lenient=True, **{f"{R}__temperature": 0})
    assert kept.severity == "error", "what the config itself says stays an error"


def test_a_run_on_the_cpu_needs_no_gpu_packages() -> None:
    bare = Packages({"vllm": "", "flash-attn": ""}, gpus=0)
    on_cpu: dict[str, Any] = {"on_gpus": False, "present": False, "machine": bare}
    assert codes(**on_cpu, actor_rollout_ref__rollout__name="hf_cpu") == []
    assert codes(**on_cpu, actor_rollout_ref__rollout__name="vllm") == [("RKD101", f"{ROLLOUT}.name", "error")]


def test_keys_that_were_refused_are_left_alone() -> None:
    broken: dict[str, Any] = {
        f"{R}__temperature": "hot",
        f"{R}__top_p": None,
        f"{R}__tensor_model_parallel_size": None,
        f"{R}__n": "many",
        f"{A}__ppo_max_token_len_per_gpu": None,
        "data__max_prompt_length": None,
        "trainer__save_freq": "often",
        "trainer__logger": None,
    }
    assert {code for code, *_ in codes(**broken)} <= {"RKD502"}


def test_wandb_without_a_key(tmp_path: Any) -> None:
    machine = {"versions": {"wandb": "0.31"}, "NETRC": str(tmp_path / "netrc")}
    assert codes(trainer__logger=["wandb"], machine=Packages(**machine)) == [("RKD109", "trainer.logger", "warning")]
    assert codes(trainer__logger=["wandb"], machine=Packages(**machine, WANDB_MODE="offline")) == []
    assert codes(trainer__logger=["wandb"], machine=Packages(**machine, WANDB_API_KEY="x")) == []
