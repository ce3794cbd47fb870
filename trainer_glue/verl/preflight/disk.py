"""Whether the disk holds the checkpoints: their size, how many are kept, and one more that is being written."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from trainer_glue.verl.config.diagnostics import ConfigDiagnostic
from trainer_glue.verl.preflight.memory import GIB, lora_parameters
from trainer_glue.verl.preflight.schedule import total_steps
from trainer_glue.verl.preflight.subject import ACTOR, MODEL, Subject


def check_disk(subject: Subject) -> Iterator[ConfigDiagnostic]:
    """The checkpoints that are kept at once, and one that is being written, against the free space."""
    size, steps, save = checkpoint_bytes(subject), total_steps(subject), subject.integer("trainer.save_freq", -1)
    if size is None or save <= 0 or subject.elsewhere:
        return
    saves = None if steps is None else max(1, -(-steps // save))
    limit = subject.integer("trainer.max_actor_ckpt_to_keep")
    kept = min(limit, saves or limit) if limit else saves
    folder = Path(str(subject.get("trainer.default_local_dir"))).expanduser().absolute()
    while not folder.is_dir():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    if kept is None:
        return
    written = min(kept + 1, saves or kept + 1)
    if size * written > free:
        message = (
            f"a checkpoint is some {size / GIB:.1f} GiB, and {written} of them are on the disk at once; "
            f"{free / GIB:.1f} GiB are free in {folder}"
        )
        fits = max(0, free // size - 1)
        fix = f"trainer.max_actor_ckpt_to_keep={fits}, or " if fits else ""
        fix += f"{ACTOR}.checkpoint.save_contents=[model,extra] (no resume), or another trainer.default_local_dir"
        yield subject.diagnostic("RKD507", "trainer.default_local_dir", message, fix)


def checkpoint_bytes(subject: Subject) -> int | None:
    """Bytes of one checkpoint of FSDP shards; None when the model's size is not known.

    Weights of the trainer's type, Adam's two moments of the trained ones, and with `hf_model` the weights once more in
    bfloat16.
    """
    shape = subject.shape
    if shape is None:
        return None
    contents = subject.get(f"{ACTOR}.checkpoint.save_contents") or ["model", "optimizer", "extra"]
    each = 2 if str(subject.get(f"{ACTOR}.fsdp_config.model_dtype")).lower() in ("bf16", "bfloat16") else 4
    rank = subject.integer(f"{MODEL}.lora_rank") or subject.integer(f"{MODEL}.lora.rank")
    adapters = lora_parameters(shape, rank) if rank else 0
    trained = adapters or shape.parameters
    size = each * (shape.parameters + adapters) if "model" in contents else 0
    size += 2 * each * trained if "optimizer" in contents else 0
    return size + (2 * shape.parameters if "hf_model" in contents else 0)
