"""Converting a checkpoint: rewardkit beside verl's own merger and a plain copy, on the same files.

    python benchmarks/convert.py                          # 1.5 GB on 8 ranks, three rounds, all three
    python benchmarks/convert.py --shape llama-3-8b --only rewardkit --rounds 1     # 32 GB of fp32

The checkpoint has the shapes of a Llama model and is written by this script: real ``DTensor`` shards, made rank by rank
over a fake process group. Each converter runs in a process of its own and writes bf16. Wall and CPU time are those of
the conversion without imports (a busy machine stretches the former only); memory is the peak of RssAnon above what the
process had after its imports. To see it under a memory limit, run the whole script in a control group of that size
(`systemd-run --scope -p MemoryMax=4G ...`); `ulimit -v` counts mapped files and says nothing here.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SHAPES: dict[str, dict[str, int]] = {
    "1.5gb": {"hidden": 1280, "mlp": 3584, "layers": 16, "heads": 20, "kv_heads": 4, "vocab": 32000},
    "12gb": {"hidden": 3072, "mlp": 8192, "layers": 24, "heads": 24, "kv_heads": 8, "vocab": 64000},
    "llama-3-8b": {"hidden": 4096, "mlp": 14336, "layers": 32, "heads": 32, "kv_heads": 8, "vocab": 128256},
}

MEASURE = """
import json, resource, sys, threading, time
def anon():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("RssAnon")) * 1024
peak = [0]
def poll():
    while True:
        peak[0] = max(peak[0], anon())
        time.sleep(0.005)
{imports}
base = anon()
threading.Thread(target=poll, daemon=True).start()
def cpu():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
start, before = time.perf_counter(), cpu()
{action}
seconds, used = time.perf_counter() - start, cpu() - before
print("RESULT" + json.dumps({{"seconds": seconds, "cpu": used, "peak": max(peak[0], anon()) - base, "base": base}}))
"""
OURS = MEASURE.format(
    imports="from trainer_glue.checkpoint import convert",
    action="convert(sys.argv[1], sys.argv[2], dtype='bf16')",
)
VERL = MEASURE.format(
    imports="import torch, transformers\nfrom verl.model_merger.__main__ import main",
    action=(
        "sys.argv[1:] = ['merge', '--backend', 'fsdp', '--local_dir', sys.argv[1], '--target_dir', sys.argv[2]]\nmain()"
    ),
)
COPY = MEASURE.format(
    imports="import os, shutil",
    action=(
        "shutil.copytree(sys.argv[1], sys.argv[2])\n"
        "for folder, _, names in os.walk(sys.argv[2]):\n"
        "    for name in names:\n"
        "        with open(os.path.join(folder, name)) as file:\n"
        "            os.fsync(file.fileno())"
    ),
)


def make(folder: Path, shape: dict[str, int], ranks: int) -> int:
    """Write the shards and the config; returns the bytes of tensors."""
    import torch
    import torch.distributed as dist
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import DTensor, Shard
    from torch.testing._internal.distributed.fake_pg import FakeStore
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=shape["vocab"],
        hidden_size=shape["hidden"],
        intermediate_size=shape["mlp"],
        num_hidden_layers=shape["layers"],
        num_attention_heads=shape["heads"],
        num_key_value_heads=shape["kv_heads"],
        architectures=["LlamaForCausalLM"],
    )
    with torch.device("meta"):
        state = LlamaForCausalLM(config).state_dict()
    generator = torch.Generator().manual_seed(0)
    noise = torch.randn(1 << 24, generator=generator)
    torch.set_num_threads(1)  # the copies below gain nothing from more
    for rank in range(ranks):
        dist.init_process_group("fake", rank=rank, world_size=ranks, store=FakeStore())
        mesh = init_device_mesh("cpu", (ranks,), mesh_dim_names=("fsdp",))
        shard = {}
        for name, tensor in state.items():
            rows = tensor.chunk(ranks)[rank].shape
            count = rows.numel()
            local = noise.repeat(-(-count // noise.numel()))[:count].clone().view(rows)
            shard[name] = DTensor.from_local(
                local, mesh, [Shard(0)], run_check=False, shape=tensor.shape, stride=tensor.stride()
            )
        torch.save(shard, folder / f"model_world_size_{ranks}_rank_{rank}.pt")
        dist.destroy_process_group()
    (folder / "fsdp_config.json").write_text(json.dumps({"FSDP_version": 2, "world_size": ranks}))
    config.save_pretrained(folder / "huggingface")
    _tokenizer().save_pretrained(folder / "huggingface")
    return sum(tensor.numel() * 4 for tensor in state.values())


def _tokenizer() -> object:
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.WordLevel({"<unk>": 0, "<s>": 1, "</s>": 2}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="<unk>", bos_token="<s>", eos_token="</s>")


def measure(code: str, source: Path, target: Path) -> dict[str, float]:
    """Run one side in a process of its own."""
    command = [sys.executable, "-c", code, str(source), str(target)]
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parent.parent), "TOKENIZERS_PARALLELISM": "false"}
    started = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
    process = time.perf_counter() - started
    line = next((line for line in done.stdout.splitlines() if line.startswith("RESULT")), None)
    if line is None:
        raise SystemExit(f"failed ({done.returncode}):\n{done.stdout[-1000:]}\n{done.stderr[-3000:]}")
    return {**json.loads(line.removeprefix("RESULT")), "process": process}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", choices=sorted(SHAPES), default="1.5gb")
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", choices=["rewardkit", "verl", "copy"])
    parser.add_argument("--dir", type=Path, help="where to put the files (default: the temporary folder)")
    args = parser.parse_args()
    sides = {"rewardkit": OURS, "verl": VERL, "copy": COPY}
    if args.only:
        sides = {args.only: sides[args.only]}
    with tempfile.TemporaryDirectory(dir=args.dir, prefix="convert-bench-") as scratch:
        source = Path(scratch, "actor")
        source.mkdir()
        size = make(source, SHAPES[args.shape], args.ranks)
        print(f"{args.shape}: {size / 1e9:.2f} GB of fp32 on {args.ranks} ranks, bf16 out")
        results: dict[str, list[dict[str, float]]] = {name: [] for name in sides}
        for _ in range(args.rounds):
            for name, code in sides.items():
                target = Path(scratch, f"out-{name}")
                run = measure(code, source, target)
                results[name].append(run)
                print(f"  {name:10} {run['seconds']:7.2f} s, CPU {run['cpu']:6.2f} s", flush=True)
                shutil.rmtree(target)
    medians = {name: statistics.median(run["seconds"] for run in runs) for name, runs in results.items()}
    for name, runs in results.items():
        print(
            f"{name:10} {medians[name]:7.2f} s ({size / 1e9 / medians[name]:.2f} GB/s in), "
            f"CPU {statistics.median(run['cpu'] for run in runs):6.2f} s, "
            f"process {statistics.median(run['process'] for run in runs):7.2f} s, "
            f"peak RssAnon {max(run['peak'] for run in runs) / 1e6:8.1f} MB above base "
            f"{runs[0]['base'] / 1e6:.0f} MB"
        )
    for other in ("verl", "copy"):
        if other in medians and "rewardkit" in medians:
            print(f"rewardkit / {other}: {medians['rewardkit'] / medians[other]:.2f} of the time")


if __name__ == "__main__":
    main()
