"""One GPU, one minute: what the CPU tests can't show. Each step says what it did, or the script ends with what broke.

    python benchmarks/gpu_smoke.py

1. The reward manager on verl's DataProto with CUDA tensors: the same rewards as on the CPU, on the GPU.
2. A step of policy gradient with FSDP2 and bfloat16 on that GPU: a finite loss, weights that moved, peak memory.
3. A checkpoint by verl's own FSDPCheckpointManager, tensors on the GPU.
4. Its conversion, verified; and the converted model on the GPU gives the trained one's logits.

Exit code 2, and one line, where there is no GPU. `--device cpu` runs the same steps without one, to test the script.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

PROMPT, RESPONSES = 4, ("two plus two is four . #### 4", "#### 5", "it is four", "#### 4")
FORMULA = "gsm8k() + length(0.02, cap=0.5)"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    device = parser.parse_args().device
    missing = lacks(device)
    if missing is not None:
        print(f"gpu_smoke: {missing}", file=sys.stderr)
        return 2
    folder = Path(tempfile.mkdtemp(prefix="gpu-smoke-"))
    try:
        smoke(device, folder)
    finally:
        shutil.rmtree(folder)
    return 0


def lacks(device: str) -> str | None:
    """What is missing to run on a device, in one line, or None."""
    for name in ("torch", "verl"):
        if importlib.util.find_spec(name) is None:
            return f"{name} is not installed: pip install 'rewardkit-rl[verl]'"
    import torch

    if device == "cuda" and not torch.cuda.is_available():
        return f"no GPU that torch {torch.__version__} can use: nothing was tried"
    return None


def smoke(device: str, folder: Path) -> None:
    """All steps; raises where one breaks."""
    import torch
    import torch.distributed as dist

    if device == "cuda":
        print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, CUDA {torch.version.cuda}")
    start_process_group(device)
    try:
        tokenizer = word_tokenizer()
        rewards = said("manager", manage, device, tokenizer)
        model, optimizer = sharded_model(device, tokenizer)
        said("FSDP step", train, device, model, optimizer, tokenizer, rewards)
        said("checkpoint", save, model, optimizer, tokenizer, folder / "run" / "global_step_1" / "actor")
        said("conversion", convert_and_compare, device, model, tokenizer, folder)
    finally:
        dist.destroy_process_group()


def said(step: str, act: Callable[..., tuple[str, Any]], *arguments: Any) -> Any:
    """Do a step and print what it did; its value."""
    began = time.perf_counter()
    text, value = act(*arguments)
    print(f"{step:<11} {text}  ({time.perf_counter() - began:.1f} s)", flush=True)
    return value


def start_process_group(device: str) -> None:
    """A group of this process alone."""
    import torch.distributed as dist

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "RANK": "0", "WORLD_SIZE": "1"}
    os.environ.setdefault("LOCAL_RANK", "0")
    dist.init_process_group("nccl" if device == "cuda" else "gloo", rank=0, world_size=1)


def word_tokenizer() -> Any:
    """A word for every word of the responses."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = sorted({word for text in RESPONSES for word in text.split()})
    vocabulary = {word: i for i, word in enumerate(["<unk>", "<s>", "</s>", *words])}
    backend = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(
        tokenizer_object=backend, unk_token="<unk>", bos_token="<s>", eos_token="</s>", pad_token="</s>"
    )


def batch(device: str, tokenizer: Any) -> Any:
    """The responses as verl's trainer holds them, padded on the right."""
    import numpy as np
    import torch
    from tensordict import TensorDict
    from verl import DataProto

    rows = [tokenizer(text, add_special_tokens=False)["input_ids"] for text in RESPONSES]
    width = max(map(len, rows))
    responses = torch.tensor([row + [tokenizer.pad_token_id] * (width - len(row)) for row in rows])
    mask = torch.tensor([[1] * len(row) + [0] * (width - len(row)) for row in rows])
    prompts = torch.full((len(rows), PROMPT), tokenizer.bos_token_id)
    tensors = {
        "prompts": prompts,
        "responses": responses,
        "input_ids": torch.cat([prompts, responses], 1),
        "attention_mask": torch.cat([torch.ones_like(prompts), mask], 1),
        "response_mask": mask,
    }
    truths = np.array([{"style": "rule", "ground_truth": "4"} for _ in rows], dtype=object)
    columns = {"reward_model": truths, "data_source": np.array(["smoke"] * len(rows), dtype=object)}
    columns["uid"] = np.array(["a"] * len(rows), dtype=object)
    moved = TensorDict({k: v.to(device) for k, v in tensors.items()}, batch_size=len(rows))
    return DataProto(batch=moved, non_tensor_batch=columns)


def manage(device: str, tokenizer: Any) -> tuple[str, Any]:
    """Rewards on the device, and the same on the CPU."""
    import torch

    from trainer_glue.verl import RewardManager

    manager = RewardManager(tokenizer=tokenizer, reward=FORMULA)
    rewards = manager(batch(device, tokenizer))
    check(rewards.device.type == device, f"the rewards are on {rewards.device}")
    check(torch.equal(rewards.cpu(), manager(batch("cpu", tokenizer))), "the rewards differ from those on the CPU")
    totals = rewards.sum(-1)
    check(totals.argmax().item() == 0 and totals[0] > totals[1] + 0.9, f"a wrong answer is paid best: {totals}")
    return f"{FORMULA}: {[round(x, 2) for x in totals.tolist()]} on {rewards.device}", rewards


def sharded_model(device: str, tokenizer: Any) -> tuple[Any, Any]:
    """A small Llama, sharded by FSDP2 as verl does it, and its optimizer."""
    import torch
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
    from transformers import AutoModelForCausalLM, LlamaConfig

    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=256,
        intermediate_size=512,
        num_hidden_layers=4,
        num_attention_heads=8,
        num_key_value_heads=4,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        architectures=["LlamaForCausalLM"],
    )
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32, attn_implementation="sdpa").to(device)
    mesh = init_device_mesh(device, (1,), mesh_dim_names=("fsdp",))
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for layer in model.model.layers:
        fully_shard(layer, mesh=mesh, mp_policy=policy)
    fully_shard(model, mesh=mesh, mp_policy=policy)
    return model, torch.optim.AdamW(model.parameters(), lr=1e-3)


def train(device: str, model: Any, optimizer: Any, tokenizer: Any, rewards: Any) -> tuple[str, None]:
    """One step of policy gradient with the group's advantages."""
    import torch

    data = batch(device, tokenizer).batch
    before = model.model.layers[0].mlp.up_proj.weight.full_tensor().clone()
    totals = rewards.sum(-1)
    advantages = (totals - totals.mean()) / (totals.std() + 1e-6)
    logits = model(input_ids=data["input_ids"], attention_mask=data["attention_mask"]).logits.float()
    width = data["responses"].shape[-1]
    log_probs = torch.log_softmax(logits[:, -width - 1 : -1], -1).gather(-1, data["responses"][..., None])[..., 0]
    loss = -(log_probs * advantages[:, None] * data["response_mask"]).sum() / data["response_mask"].sum()
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    norm = norm.full_tensor() if hasattr(norm, "full_tensor") else norm
    optimizer.step()
    optimizer.zero_grad()
    moved = (model.model.layers[0].mlp.up_proj.weight.full_tensor() - before).abs().max().item()
    check(bool(torch.isfinite(loss)) and bool(torch.isfinite(norm)), f"loss {loss}, gradient norm {norm}")
    check(moved > 0, "the weights did not move")
    peak = f", peak {torch.cuda.max_memory_allocated() / 2**20:.0f} MiB" if device == "cuda" else ""
    return f"loss {loss.item():.4f}, gradient norm {norm.item():.3f}, weights moved by {moved:.1e}{peak}", None


def save(model: Any, optimizer: Any, tokenizer: Any, folder: Path) -> tuple[str, None]:
    """A checkpoint as a run leaves it."""
    from verl.utils.checkpoint.fsdp_checkpoint_manager import FSDPCheckpointManager

    folder.parent.mkdir(parents=True)
    FSDPCheckpointManager(model, optimizer, processing_class=tokenizer).save_checkpoint(str(folder), global_step=1)
    files = sorted(p.name for p in folder.iterdir())
    check("model_world_size_1_rank_0.pt" in files, f"verl wrote {files}")
    return f"{len(files)} files, {sum(p.stat().st_size for p in folder.rglob('*') if p.is_file()) / 1e6:.1f} MB", None


def convert_and_compare(device: str, model: Any, tokenizer: Any, folder: Path) -> tuple[str, None]:
    """The converted model against the trained one, both in bfloat16 on the device."""
    import torch
    from transformers import AutoModelForCausalLM

    from trainer_glue.checkpoint import convert

    report = convert(folder / "run", folder / "model", verify_result=True)
    converted = AutoModelForCausalLM.from_pretrained(folder / "model", dtype=torch.bfloat16).to(device)
    data = batch(device, tokenizer).batch
    inputs = {k: data[k] for k in ("input_ids", "attention_mask")}
    with torch.no_grad():
        apart = (converted(**inputs).logits.float() - model(**inputs).logits.float()).abs()
    rows = data["attention_mask"].bool()
    largest = apart[rows].max().item()
    check(largest < 0.05, f"logits differ by {largest}")
    return f"{report.parameters:,} parameters, {report.dtype}; logits differ by at most {largest:.1e}", None


def check(holds: bool, otherwise: str) -> None:
    """Stop with what broke."""
    if not holds:
        raise SystemExit(f"gpu_smoke: {otherwise}")


if __name__ == "__main__":
    sys.exit(main())
