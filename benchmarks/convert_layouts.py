"""What verl's merger and rewardkit make of the same checkpoints, layout by layout.

    python benchmarks/convert_layouts.py            # ranks 1, 2, 4, 8; bf16

Checkpoints are made by real FSDP over gloo; each result is compared with the state dict from before the sharding, and
for a LoRA run with its base weights and its adapter. `wrong` means that the converter reported success.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import itertools
import json
import logging
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = ROOT / "tests" / "trainer_glue" / "checkpoint" / "fsdp.py"
MODES = ("fsdp1", "fsdp2", "hsdp1", "hsdp2", "tp2")
KINDS = ("tied", "untied", "value", "lora")


def by_verl(actor: Path, out: Path, kind: str) -> None:
    from verl.model_merger.base_model_merger import ModelMergerConfig
    from verl.model_merger.fsdp_model_merger import FSDPModelMerger

    config = ModelMergerConfig(
        operation="merge",
        backend="fsdp",
        local_dir=str(actor),
        target_dir=str(out),
        hf_model_config_path=str(actor / "huggingface"),
    )
    FSDPModelMerger(config).merge_and_save()


def by_rewardkit(actor: Path, out: Path, kind: str) -> None:
    from trainer_glue.checkpoint import convert

    convert(actor, out, critic=kind == "value", dtype="bf16")


def outcome(converter: Callable[[Path, Path, str], None], run: Path, out: Path, kind: str) -> str:
    """`equal`, what is wrong with it, or the error."""
    import torch
    from safetensors.torch import load_file

    (actor,) = (run / "global_step_7").iterdir()
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            converter(actor, out, kind)
    except Exception as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0][:60] if str(error) else ''}"
    tensors = load_file(out / "model.safetensors")
    adapter = next(out.rglob("adapter_model.safetensors"), None)
    if adapter is not None:
        tensors |= load_file(adapter)
    wrong, cast = [], []
    for name, tensor in torch.load(run / "full.pt", weights_only=True).items():
        plain = name.removeprefix("base_model.model.").replace(".base_layer.", ".")
        name = name.replace(".default.", ".") if ".lora_" in name else plain
        if name not in tensors:
            if kind != "tied" or name != "lm_head.weight":
                wrong.append(f"lacks {name}")
        elif tensors[name].shape != tensor.shape:
            wrong.append(f"{name} is {tuple(tensors[name].shape)}, should be {tuple(tensor.shape)}")
        elif tensors[name].dtype != tensor.dtype:
            cast.append(f"{name} cast from {tensor.dtype} to {tensors[name].dtype}".replace("torch.", ""))
        elif not torch.equal(tensors[name], tensor):
            wrong.append(f"{name} has other values")
    if wrong:
        return f"wrong: {wrong[0]} ({len(wrong)} tensors)"
    lost = _missing_on_load(out)
    return ", ".join(["equal", *cast, *([f"loads with random {', '.join(lost)}"] if lost else [])])


def _missing_on_load(out: Path) -> list[str]:
    """Weights that the class named by the result's config doesn't find in it."""
    import transformers

    (architecture,) = json.loads((out / "config.json").read_text())["architectures"]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        _, info = getattr(transformers, architecture).from_pretrained(out, output_loading_info=True)
    return sorted(info["missing_keys"])


def add_plain_tensor(run: Path) -> None:
    """A buffer that sorts before every parameter: from its kind verl's merger concludes how all are sharded."""
    import torch

    for path in (run / "full.pt", *run.glob("global_step_7/*/model_*.pt")):
        state = torch.load(path, weights_only=False)
        torch.save({**state, "a_buffer": torch.arange(4.0).bfloat16()}, path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2, 4, 8])
    parser.add_argument("--dtype", choices=["fp32", "bf16"], default="bf16")
    args = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    warnings.simplefilter("ignore")
    logging.getLogger("torch.distributed.device_mesh").setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory() as scratch:
        for ranks in args.ranks:
            modes = [mode for mode in MODES if mode != "tp2" or ranks % 2 == 0]
            cases = [f"{mode}:{kind}:{args.dtype}" for mode, kind in itertools.product(modes, KINDS)]
            cases = [case for case in cases if not case.startswith("tp2:lora")]
            command = [sys.executable, "-W", "ignore", str(SCRIPT), scratch, str(ranks), *cases]
            subprocess.run(command, check=True, capture_output=True)
            shutil.copytree(Path(scratch, f"fsdp2-untied-{args.dtype}-{ranks}"), Path(scratch, f"buffer-{ranks}"))
            add_plain_tensor(Path(scratch, f"buffer-{ranks}"))
            for case in [*cases, "buffer"]:
                run = Path(scratch, f"{case.replace(':', '-')}-{ranks}")
                results = []
                for converter in (by_verl, by_rewardkit):
                    out = run / converter.__name__
                    results.append(outcome(converter, run, out, case.split(":")[1] if ":" in case else "untied"))
                    shutil.rmtree(out, ignore_errors=True)
                print(f"{case:20} {ranks} ranks   verl {results[0]:90} rewardkit {results[1]}", flush=True)


if __name__ == "__main__":
    main()
