"""The estimate against published figures and reports of runs that fitted or did not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.models import LLAMA_3_8B
from tests.trainer_glue.verl.preflight.runs import GIB, codes, found, subject
from tests.trainer_glue.verl.preflight.test_model_shape import QWEN2_7B, QWEN3_8B
from trainer_glue.verl.preflight.memory import Estimate, Settings, lora_parameters
from trainer_glue.verl.preflight.model_shape import ModelShape, shape_of
from trainer_glue.verl.preflight.sizing import estimate_of

LLAMA = shape_of(LLAMA_3_8B)
assert LLAMA is not None
A100 = 80 * GIB


def gpt(hidden: int, layers: int, heads: int, vocabulary: int = 50257) -> ModelShape:
    return ModelShape(
        "gpt2", "", layers, hidden, heads, heads, hidden // heads, 4 * hidden, vocabulary, tied=True, gated=False
    )


def billions(parameters: float) -> ModelShape:
    """A shape of that many parameters: one very wide embedding."""
    return ModelShape("x", "", 1, 1, 1, 1, 1, 1, int(parameters), tied=True)


@pytest.mark.parametrize(("ranks", "gigabytes"), [(1, 120), (4, 30), (16, 7.5), (64, 1.88), (256, 0.47), (1024, 0.12)])
def test_state_is_the_zero_papers(ranks: int, gigabytes: float) -> None:
    """Rajbhandari et al. 2020, table 1: 7.5B parameters, all of the state sharded."""
    estimate = Estimate(billions(7.5e9), Settings(ranks=ranks, shards=ranks), A100)
    state = estimate.weights + estimate.gradients + estimate.optimizer
    assert state / 1e9 == pytest.approx(gigabytes, abs=0.01)


def test_a_layers_activations_are_korthikantis() -> None:
    """Korthikanti et al. 2022: 34 sbh a layer, of which 2 are dropout masks; GPT-3 of 175B, s = 2048, b = 1."""
    shape = gpt(hidden=12288, layers=96, heads=96)
    estimate = Estimate(shape, Settings(1, 1), A100)
    assert estimate.layer_activations(2048) == 32 * 2048 * 12288
    whole = estimate.update_of(2048).parts["activations"]
    assert whole in (2 * 2048 * 12288 * 96, 2 * 2048 * 12288 * 96 + estimate.layer_activations(2048))


def test_keys_and_values_of_a_token_are_the_pagedattention_papers() -> None:
    """Kwon et al. 2023, section 3: 800 KB for OPT-13B, 5120 wide with 40 layers."""
    assert Estimate(gpt(5120, 40, 40), Settings(1, 1), A100).token_bytes == 800 * 1024


def test_weights_and_cache_are_what_vllm_logs() -> None:
    """vLLM issue 12330, Meta-Llama-3-8B: weights 14.96 GiB; 11.12 GiB of cache are 5,691 blocks of 16 tokens."""
    assert LLAMA is not None
    estimate = Estimate(LLAMA, Settings(1, 1), 40 * GIB)
    assert estimate.engine_weights / GIB == pytest.approx(14.96, abs=0.01)
    assert 11.12 * GIB / estimate.token_bytes == pytest.approx(5691 * 16, rel=1e-3)


def test_logits_are_verls() -> None:
    """verl PR 1212: 32k tokens of a vocabulary of 128k in half precision are 8 GB once, and 32 GB at the worst."""
    shape = replace(billions(1), vocabulary=128_000, hidden=1)
    phase = Estimate(shape, Settings(1, 1, entropy=True), A100).update_of(32_000)
    assert phase.parts["logits"] / 1e9 == pytest.approx(32, rel=0.03)
    fused = Estimate(shape, Settings(1, 1, entropy=True, fused=True), A100).update_of(32_000)
    assert fused.parts["logits"] == 0


def test_lora_trains_what_its_paper_counts() -> None:
    """peft counts 20,971,520 trainable parameters for Llama-3-8B with rank 8 on all linear layers."""
    assert LLAMA is not None
    assert lora_parameters(LLAMA, 8) == 20_971_520


REPORTS: list[tuple[str, dict[str, Any], dict[str, Any], int, bool]] = [
    # source, model, settings of the run, GPUs of 80 GB, whether it ran
    (
        "verl examples/grpo_trainer/run_qwen3_8b_fsdp.sh",
        QWEN3_8B,
        {"actor__ppo_max_token_len_per_gpu": 24576, "rollout__log_prob_max_token_len_per_gpu": 24576},
        8,
        True,
    ),
    (
        "verl docs/perf/device_tuning.rst, Qwen2-7B GRPO on 2 H800",
        QWEN2_7B,
        {
            "actor__fsdp_config__param_offload": True,
            "actor__fsdp_config__optimizer_offload": True,
            "actor__use_dynamic_bsz": False,
            "actor__ppo_micro_batch_size_per_gpu": 16,
            "rollout__log_prob_use_dynamic_bsz": False,
            "rollout__log_prob_micro_batch_size_per_gpu": 16,
        },
        2,
        True,
    ),
    (
        "verl docs/perf/device_tuning.rst, Qwen2.5-7B GRPO-LoRA on one H100",
        QWEN2_7B,
        {
            "model__lora_rank": 32,
            "actor__fsdp_config__param_offload": True,
            "actor__fsdp_config__optimizer_offload": True,
            "actor__use_dynamic_bsz": False,
            "actor__ppo_micro_batch_size_per_gpu": 16,
            "actor__entropy_coeff": 0.001,
            "rollout__log_prob_use_dynamic_bsz": False,
            "rollout__log_prob_micro_batch_size_per_gpu": 16,
            "rollout__tensor_model_parallel_size": 1,
            "rollout__gpu_memory_utilization": 0.2,
            "rollout__max_num_seqs": 512,
            "rollout__max_model_len": 1536,
            "rollout__max_num_batched_tokens": 1536,
        },
        1,
        True,
    ),
    (
        "OpenRLHF issue 698: all of Llama-3-8B on one GPU, out of memory in the optimizer's step",
        LLAMA_3_8B,
        {"rollout__tensor_model_parallel_size": 1},
        1,
        False,
    ),
]


@pytest.mark.parametrize(("source", "model", "settings", "gpus", "ran"), REPORTS, ids=[r[0] for r in REPORTS])
def test_reports(source: str, model: dict[str, Any], settings: dict[str, Any], gpus: int, ran: bool) -> None:
    """What ran has no memory error; what died of memory has one."""
    changes = {f"actor_rollout_ref__{key}": value for key, value in settings.items()}
    seen = codes(model=model, ranks=gpus, trainer__n_gpus_per_node=gpus, **changes)
    errors = [code for code, _, severity in seen if severity == "error" and code.startswith("RKD30")]
    assert (not errors) == ran, errors


def share(utilization: float, **changes: Any) -> float:
    """The rollout's share of an 80 GB GPU, Llama-3-8B on eight."""
    estimate = estimate_of(subject(actor_rollout_ref__rollout__gpu_memory_utilization=utilization, **changes))
    assert estimate is not None
    return estimate.rollout.total / estimate.usable


def test_utilization_of_llama_3_8b_on_eight_gpus() -> None:
    """docs/doctor.md has these numbers beside what public reports say."""
    assert [round(share(u), 2) for u in (0.6, 0.7, 0.8)] == [0.79, 0.89, 0.99]
    offloaded = {f"actor_rollout_ref__actor__fsdp_config__{part}_offload": True for part in ("param", "optimizer")}
    assert round(share(0.9, **offloaded), 2) == 0.95
    seen = {u: codes(actor_rollout_ref__rollout__gpu_memory_utilization=u) for u in (0.6, 0.7, 0.8, 0.9)}
    assert seen[0.6] == seen[0.7] == []
    key = "actor_rollout_ref.rollout.gpu_memory_utilization"
    assert seen[0.8] == [("RKD307", key, "warning")]
    assert seen[0.9] == [("RKD301", key, "error")]


@pytest.mark.parametrize(("utilization", "ran"), [(0.7, False), (0.6, True)])
def test_easyr1s_report_with_the_wake_up_of_its_time(utilization: float, ran: bool) -> None:
    """EasyR1 PR 1: on 8 x 80 GB 0.7 ran out of memory, 0.6 did not. verl of that time kept the gradients through the
    rollout, and woke the engine whole beside gathered weights: 10 GB more for Qwen2.5-7B, measured in verl PR 729."""
    estimate = estimate_of(subject(model=QWEN2_7B, actor_rollout_ref__rollout__gpu_memory_utilization=utilization))
    assert estimate is not None
    then = estimate.rollout.total + estimate.gradients + 10e9
    assert (then <= estimate.usable) == ran


def test_what_the_fix_says_fits() -> None:
    key = "actor_rollout_ref__rollout__gpu_memory_utilization"
    (diagnostic,) = found(**{key: 0.95})
    assert diagnostic.hint is not None
    fits = float(diagnostic.hint.split("=")[1].split(";")[0])
    assert codes(**{key: fits}) == []
    assert codes(**{key: fits + 0.02}) != []


def test_a_micro_batch_that_only_fits_when_it_is_not_full_is_a_warning() -> None:
    key = "actor_rollout_ref__actor__ppo_max_token_len_per_gpu"
    many = {key: 100_000, "actor_rollout_ref__actor__ppo_mini_batch_size": 1024}
    (diagnostic,) = found(**many)
    assert (diagnostic.code, diagnostic.severity) == ("RKD302", "warning")
    assert diagnostic.hint is not None and "use_fused_kernels" in diagnostic.hint
    fits = int(diagnostic.hint.split("=")[1].split(";")[0])
    assert codes(**(many | {key: fits})) == []


def test_a_context_that_the_cache_does_not_hold() -> None:
    long = LLAMA_3_8B | {"max_position_embeddings": 1_048_576}
    seen = codes(model=long)
    assert seen == [("RKD305", "actor_rollout_ref.rollout.gpu_memory_utilization", "error")]
    assert codes(model=long, actor_rollout_ref__rollout__max_model_len=1536) == []


@pytest.mark.parametrize(("utilization", "code", "severity"), [(0.1, "RKD305", "error"), (0.11, "RKD306", "warning")])
def test_a_cache_of_few_sequences(utilization: float, code: str, severity: str) -> None:
    key = "actor_rollout_ref.rollout.gpu_memory_utilization"
    changes = {key.replace(".", "__"): utilization, "actor_rollout_ref__rollout__max_model_len": 1536}
    assert codes(**changes) == [(code, key, severity)]


def test_an_engine_that_never_sleeps_is_there_in_the_update() -> None:
    seen = codes(actor_rollout_ref__rollout__free_cache_engine=False)
    assert {code for code, *_ in seen} == {"RKD302", "RKD303"}


def test_a_host_that_is_too_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trainer_glue.verl.preflight.memory_checks.memory", lambda: (96 * GIB, 90 * GIB))
    offload = {f"actor_rollout_ref__actor__fsdp_config__{part}_offload": True for part in ("param", "optimizer")}
    assert [code for code, *_ in codes(**offload)] == ["RKD308"]
    assert codes() == []


settings = st.builds(
    Settings,
    ranks=st.just(8),
    shards=st.sampled_from([1, 2, 4, 8]),
    weight_bytes=st.sampled_from([2, 4]),
    param_offload=st.booleans(),
    optimizer_offload=st.booleans(),
    checkpointing=st.booleans(),
    entropy=st.booleans(),
    fused=st.booleans(),
    update_tokens=st.integers(1, 10**5),
    utilization=st.floats(0.05, 0.95),
    tensor_parallel=st.sampled_from([1, 2, 4, 8]),
    sleeps=st.booleans(),
)


@given(settings)
def test_more_saving_never_takes_more(s: Settings) -> None:
    assert LLAMA is not None
    now = Estimate(LLAMA, s, A100)
    for saving in (
        replace(s, shards=8),
        replace(s, weight_bytes=2),
        replace(s, param_offload=True),
        replace(s, optimizer_offload=True),
        replace(s, fused=True),
        replace(s, entropy=False),
        replace(s, sleeps=True),
        replace(s, update_tokens=1),
        replace(s, trained=10**6),
    ):
        then = Estimate(LLAMA, saving, A100)
        for before, after in zip(now.phases, then.phases, strict=True):
            assert after.total <= before.total
