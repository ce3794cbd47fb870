"""From the last checkpoint of a run to text: what `rewardkit convert` does, from Python.

python examples/convert_checkpoint.py                       # a made-up checkpoint of the tiny model
python examples/convert_checkpoint.py runs/tiny out
"""

import sys
import tempfile
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, pipeline

from trainer_glue.checkpoint import convert
from trainer_glue.verl.tiny import TinyAssets, make_tiny


def make_checkpoint(run: Path) -> None:
    """What verl leaves of one rank after step 3: a shard, and the model's files beside it."""
    make_tiny(run / "assets", 0)
    model = TinyAssets.under(run / "assets").model
    actor = run / "checkpoints" / "global_step_3" / "actor"
    (actor / "huggingface").mkdir(parents=True)
    for file in model.iterdir():
        if file.suffix in (".json", ".jinja"):
            (actor / "huggingface" / file.name).write_bytes(file.read_bytes())
    torch.save(AutoModelForCausalLM.from_pretrained(model).state_dict(), actor / "model_world_size_1_rank_0.pt")
    (run / "checkpoints" / "latest_checkpointed_iteration.txt").write_text("3")


with tempfile.TemporaryDirectory() as scratch:
    run, out = (Path(sys.argv[1]), Path(sys.argv[2])) if len(sys.argv) > 2 else (Path(scratch), Path(scratch, "out"))
    if len(sys.argv) < 3:
        make_checkpoint(run)
    report = convert(run, out, verify_result=True)
    print(f"step {report.step}: {report.parameters:,} parameters, {report.dtype}, {', '.join(report.files)}")
    print(f"verified: {len(report.verification.checksums)} checksums, a forward pass: {report.verification.forward}")
    (answer,) = pipeline("text-generation", model=str(out))("How many eggs?", max_new_tokens=8)
    print(repr(answer["generated_text"]))
