"""Writes checkpoints as a training run would: real FSDP over gloo, a process for each rank.

Run as a script, once for a number of ranks: `python fsdp.py FOLDER RANKS MODE:KIND:DTYPE ...`. For each case it leaves
`FOLDER/MODE-KIND-DTYPE-RANKS/global_step_7/{actor,critic}` and, beside that, `full.pt`: the state dict before sharding.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel as Fsdp1
from torch.distributed.fsdp import ShardedStateDictConfig, ShardingStrategy, StateDictType, fully_shard
from transformers import AutoModelForCausalLM, AutoModelForTokenClassification, GenerationConfig, LlamaConfig
from transformers.models.llama.modeling_llama import LlamaDecoderLayer

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}
MESHES = {1: (1, 1), 2: (2, 1), 3: (3, 1), 4: (2, 2), 8: (2, 4)}
RANK, ALPHA = 3, 12


def build(kind: str, dtype: str) -> torch.nn.Module:
    """A model with sizes that no number of ranks divides, so that shards are uneven and some are empty."""
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=103,
        hidden_size=36,
        intermediate_size=50,
        num_hidden_layers=2,
        num_attention_heads=6,
        num_key_value_heads=2,
        tie_word_embeddings=kind == "tied",
        bos_token_id=1,
        eos_token_id=2,
        pad_token_id=2,
    )
    if kind == "value":
        config.num_labels = 1
        model = AutoModelForTokenClassification.from_config(config, dtype=DTYPES[dtype])
    else:
        model = AutoModelForCausalLM.from_config(config, dtype=DTYPES[dtype])
    # verl keeps the language model's name in a critic's config.
    config.architectures = ["LlamaForCausalLM"]
    if kind == "lora":
        from peft import LoraConfig, get_peft_model

        model = get_peft_model(
            model, LoraConfig(task_type="CAUSAL_LM", r=RANK, lora_alpha=ALPHA, target_modules="all-linear")
        )
        for name, parameter in model.named_parameters():
            if ".lora_" in name:
                parameter.data = torch.randn_like(parameter, dtype=torch.float32).to(DTYPES[dtype])
    if dtype == "bf16":
        model.register_buffer("steps_seen", torch.arange(5))  # whole on every rank, and not of the model's dtype
    return model


def shard(model: torch.nn.Module, mode: str, mesh: DeviceMesh) -> dict[str, torch.Tensor]:
    """This rank's state dict."""
    if mode.endswith("1"):
        sharded = Fsdp1(
            model,
            device_mesh=mesh,
            device_id=torch.device("cpu"),
            auto_wrap_policy=_wrap,
            use_orig_params=False,
            sharding_strategy=ShardingStrategy.HYBRID_SHARD if mesh.ndim == 2 else ShardingStrategy.FULL_SHARD,
        )
        config = ShardedStateDictConfig(offload_to_cpu=False)
        with Fsdp1.state_dict_type(sharded, StateDictType.SHARDED_STATE_DICT, config):
            return sharded.state_dict()
    if mode == "tp2":
        from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

        plan = {}
        for i in range(2):
            plan |= {f"model.layers.{i}.mlp.{name}": ColwiseParallel() for name in ("gate_proj", "up_proj")}
            plan[f"model.layers.{i}.mlp.down_proj"] = RowwiseParallel()
        parallelize_module(model, mesh["tp"], plan)
        mesh = mesh["fsdp"]
    for module in model.modules():
        if isinstance(module, LlamaDecoderLayer):
            fully_shard(module, mesh=mesh)
    fully_shard(model, mesh=mesh)
    return model.state_dict()


def _wrap(module: torch.nn.Module, recurse: bool, nonwrapped_numel: int) -> bool:
    """Decoder layers, and each trained leaf of a LoRA model: a flat parameter is all trained or all frozen."""
    if recurse:
        return True
    trained_leaf = type(module) is torch.nn.Linear and module.bias is None and min(module.weight.shape) == RANK
    return isinstance(module, LlamaDecoderLayer) or trained_leaf


def save(folder: Path, case: str, rank: int, ranks: int) -> None:
    mode, kind, dtype = case.split(":")
    home = folder / f"{mode}-{kind}-{dtype}-{ranks}"
    actor = home / "global_step_7" / ("critic" if kind == "value" else "actor")
    model = build(kind, dtype)
    if rank == 0:
        actor.mkdir(parents=True)
        torch.save({name: tensor.clone() for name, tensor in model.state_dict().items()}, home / "full.pt")
        config = model.config
        config.save_pretrained(actor / "huggingface")
        GenerationConfig(eos_token_id=[2, 3], temperature=0.6, do_sample=True).save_pretrained(actor / "huggingface")
        tokenizer().save_pretrained(actor / "huggingface")
        (actor / "fsdp_config.json").write_text(json.dumps({"FSDP_version": int(mode[-1]), "world_size": ranks}))
        (home / "latest_checkpointed_iteration.txt").write_text("7")
        if kind == "lora":
            meta = {"r": RANK, "lora_alpha": ALPHA, "task_type": "CAUSAL_LM"}
            (actor / "lora_train_meta.json").write_text(json.dumps(meta))
    dist.barrier()
    if mode == "tp2":
        mesh = init_device_mesh("cpu", (ranks // 2, 2), mesh_dim_names=("fsdp", "tp"))
    elif mode.startswith("hsdp"):
        mesh = init_device_mesh("cpu", MESHES[ranks], mesh_dim_names=("ddp", "fsdp"))
    else:
        mesh = init_device_mesh("cpu", (ranks,), mesh_dim_names=("fsdp",))
    torch.save(shard(model, mode, mesh), actor / f"model_world_size_{ranks}_rank_{rank}.pt")
    dist.barrier()


def tokenizer():
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = {"<unk>": 0, "<s>": 1, "</s>": 2, "<eot>": 3, **{f"w{i}": i for i in range(4, 103)}}
    made = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    fast = PreTrainedTokenizerFast(tokenizer_object=made, unk_token="<unk>", bos_token="<s>", eos_token="</s>")
    fast.chat_template = "{% for m in messages %}{{ m['content'] }} {% endfor %}"
    return fast


def work(rank: int, folder: Path, ranks: int, cases: list[str]) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/rendezvous-{ranks}", rank=rank, world_size=ranks)
    for case in cases:
        save(folder, case, rank, ranks)
    dist.destroy_process_group()


if __name__ == "__main__":
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    target, count, *wanted = sys.argv[1:]
    # Forked, so that the imports above are paid once.
    mp.start_processes(work, (Path(target), int(count), wanted), int(count), start_method="fork")
