"""The result in use: loaded as users load it, it says what the trained model says."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, AutoTokenizer, pipeline

from trainer_glue.checkpoint import convert

from .conftest import Made
from .fsdp import build

ROOT = Path(__file__).parents[3]
MERGED = {
    "fsdp1_2rank_step2": "merged_fsdp1_2rank",
    "fsdp2_2rank_step2": "merged_fsdp2_2rank",
    "fsdp2_1rank_step25_trained": "merged_fsdp2_trained",
    "lora_1rank_step2": "merged_lora",
}
"""verl's own checkpoints, and what verl's merger made of them."""


@pytest.mark.parametrize("kind", ["untied:fp32:2", "tied:fp32:2"])
def test_pipeline_continues_as_the_trained_model(kind: str, made: Callable[[str], Made], tmp_path: Path) -> None:
    mode = "fsdp1" if kind.startswith("tied") else "fsdp2"
    run = made(f"{mode}:{kind}")
    convert(run.run, tmp_path / "out")
    generate = pipeline("text-generation", model=str(tmp_path / "out"), device="cpu")
    text = generate("w5 w17 w40", max_new_tokens=12, do_sample=False, return_full_text=False)[0]["generated_text"]
    model = build(kind.split(":", maxsplit=1)[0], "fp32").eval()
    model.load_state_dict(run.full())
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "out")
    ids = tokenizer("w5 w17 w40", return_tensors="pt").input_ids
    expected = model.generate(ids, max_new_tokens=12, do_sample=False, eos_token_id=[2, 3])[0, ids.shape[1] :]
    assert text.split() == tokenizer.decode(expected, skip_special_tokens=True).split()
    assert len(expected) > 1


@pytest.mark.parametrize("name", MERGED)
def test_equal_to_verls_merger(name: str, shared_data: Path, tmp_path: Path) -> None:
    folder = shared_data / "checkpoints"
    convert(folder / name, tmp_path / "out", dtype="bf16", verify_result=True)
    ours = load_file(tmp_path / "out" / "model.safetensors")
    theirs = load_file(folder / MERGED[name] / "model.safetensors")
    assert ours.keys() == theirs.keys()
    for key, tensor in theirs.items():
        assert (ours[key].dtype, ours[key].shape) == (tensor.dtype, tensor.shape)
        assert torch.equal(ours[key], tensor), key
    for file in ("config.json", "generation_config.json"):
        written, expected = (
            json.loads((home / file).read_text()) for home in (tmp_path / "out", folder / MERGED[name])
        )
        assert written == expected
    if name.startswith("lora"):
        adapter = folder / MERGED[name] / "lora_adapter"
        ours, theirs = (load_file(home / "adapter_model.safetensors") for home in (tmp_path / "out", adapter))
        assert ours.keys() == theirs.keys()
        for key, tensor in theirs.items():
            assert torch.equal(ours[key], tensor), key
        written, expected = (
            json.loads((home / "adapter_config.json").read_text()) for home in (tmp_path / "out", adapter)
        )
        assert {*written["target_modules"]} == {*expected["target_modules"]}
        assert all(written[key] == expected[key] for key in ("r", "lora_alpha", "task_type", "peft_type", "bias"))


def test_verls_trained_model_generates_the_same_tokens(shared_data: Path, tmp_path: Path) -> None:
    """The result against the shard's own tensors in a model of the same config."""
    actor = shared_data / "checkpoints" / "fsdp2_1rank_step25_trained" / "actor"
    convert(actor, tmp_path / "out", verify_result=True)
    result = AutoModelForCausalLM.from_pretrained(tmp_path / "out").eval()
    raw = AutoModelForCausalLM.from_config(result.config).eval()
    import torch.distributed.tensor  # its classes unpickle the shard

    state = torch.load(actor / "model_world_size_1_rank_0.pt", weights_only=True)
    raw.load_state_dict({name: tensor.to_local() for name, tensor in state.items()})
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "out")
    ids = tokenizer("2 + 2 =", return_tensors="pt").input_ids
    ours, theirs = (m.generate(ids, max_new_tokens=24, do_sample=False) for m in (result, raw))
    assert torch.equal(ours, theirs)


MEMORY = """
import sys, threading, time
def anon():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("RssAnon")) * 1024
from trainer_glue.checkpoint import convert
base, peak = anon(), [0]
def poll():
    while True:
        peak[0] = max(peak[0], anon())
        time.sleep(0.002)
threading.Thread(target=poll, daemon=True).start()
convert(sys.argv[1], sys.argv[2], dtype="bf16")
print(max(peak[0], anon()) - base)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_does_not_grow_with_the_model(made: Callable[[str], Made], tmp_path: Path) -> None:
    """A checkpoint of 1.2 GB, one tensor of 600 MB, in less than 300 MB of anonymous memory."""
    actor = tmp_path / "global_step_1" / "actor"
    (actor / "huggingface").mkdir(parents=True)
    (actor / "huggingface" / "config.json").write_text('{"architectures": []}')
    state = {"big.weight": torch.zeros(150_000, 1000), **{f"{i}.weight": torch.zeros(15_000, 1000) for i in range(10)}}
    torch.save(state, actor / "model_world_size_1_rank_0.pt")
    del state
    command = [sys.executable, "-c", MEMORY, str(tmp_path), str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    assert int(done.stdout) < 300e6
