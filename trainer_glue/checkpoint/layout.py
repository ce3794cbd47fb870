"""Where things are: from what a user points at to the shard files, the config and the run's record.

verl has written its checkpoints in several ways; this is the one place that knows them:

======== ==============================================================================================================
verl     in ``RUN/global_step_N/actor``
======== ==============================================================================================================
all      ``model_world_size_W_rank_R.pt``; ``RUN/latest_checkpointed_iteration.txt`` names the last step
0.2, 0.3 ``huggingface/`` holds config and tokenizer (no generation config); no ``fsdp_config.json``
0.4.0    config, generation config and tokenizer lie beside the shards; ``huggingface/`` is a full model, when asked for
0.4.1 on ``huggingface/`` holds config, generation config and tokenizer (weights when asked for); ``fsdp_config.json``
0.8 on   ``lora_train_meta.json`` for LoRA runs, and optionally the adapter's tensors only
======== ==============================================================================================================
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from rewardkit.errors import CheckpointError

Role = Literal["actor", "critic"]

_SHARD: Final = re.compile(r"model_world_size_(\d+)_rank_(\d+)\.pt")
_STEP: Final = re.compile(r"global_step_(\d+)")
_CHECKPOINTS: Final = "checkpoints"
_LATEST: Final = "latest_checkpointed_iteration.txt"


@dataclass(frozen=True, slots=True)
class Layout:
    """A checkpoint of one model."""

    folder: Path
    """Where the shards are."""
    world_size: int
    shards: Mapping[int, Path]
    """Files by rank; ranks whose file is absent are absent here."""
    config_folder: Path | None
    """Where ``config.json`` and the tokenizer are."""
    step: int | None
    run: Mapping[str, Any] | None
    """The launcher's ``run.json``."""
    run_folder: Path | None

    @property
    def missing_ranks(self) -> list[int]:
        """Ranks without a file."""
        return [rank for rank in range(self.world_size) if rank not in self.shards]

    def setting(self, *keys: str) -> Any:
        """An entry of the run's config, nested or under dotted keys; None where nobody says."""
        value = (self.run or {}).get("config")
        for i, key in enumerate(keys):
            if not isinstance(value, Mapping):
                return None
            dotted = ".".join(keys[i:])
            if dotted in value:
                return value[dotted]
            value = value.get(key)
        return value

    def lora_meta(self) -> Mapping[str, Any]:
        """What verl 0.8 and later note about a LoRA run: ``r``, ``lora_alpha``, ``task_type``."""
        path = self.folder / "lora_train_meta.json"
        return read_json(path) if is_there(path) else {}


def find(checkpoint: Path, *, step: int | Literal["latest"] = "latest", role: Role = "actor") -> Layout:
    """Find a model's shards below a run, a step or the model's own folder.

    Args:
        checkpoint: ``RUN``, ``RUN/global_step_N`` or ``RUN/global_step_N/actor``.
        step: Which step of a run.
        role: Which model of a step.

    Raises:
        CheckpointError: Nothing is there, or it is not clear which of several things is meant.
    """
    if not checkpoint.is_dir():
        raise CheckpointError(
            f"{checkpoint} is not a folder; expected a run, a global_step_N or an actor folder of verl"
        )
    checkpoint = checkpoint.resolve()
    folder = _model_folder(checkpoint, step, role)
    world_size, shards = _find_shards(folder)
    step_folder = next((path for path in (folder, *folder.parents) if _STEP.fullmatch(path.name)), None)
    # The launcher keeps its record beside the checkpoints' folder or in it.
    run_folder = next((path for path in (folder, *list(folder.parents)[:3]) if is_there(path / "run.json")), None)
    return Layout(
        folder=folder,
        world_size=world_size,
        shards=shards,
        config_folder=next((p for p in (folder / "huggingface", folder) if is_there(p / "config.json")), None),
        step=int(step_folder.name.removeprefix("global_step_")) if step_folder else None,
        run=read_json(run_folder / "run.json") if run_folder else None,
        run_folder=run_folder,
    )


def is_there(path: Path) -> bool:
    """Whether there is a file.

    Raises:
        CheckpointError: There is a link, and nothing where it points to: what is missing was part of the checkpoint.
    """
    if path.is_symlink() and not path.exists():
        raise CheckpointError(
            f"{path} is a link to {os.readlink(path)}, and nothing is there",
            hint="copy the checkpoint with its links followed (cp -rL, rsync -rL), or bring the target back",
        )
    return path.is_file()


def read_json(path: Path) -> Mapping[str, Any]:
    """A JSON object from a file of a checkpoint.

    Raises:
        CheckpointError: It is unreadable or not an object.
    """
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise CheckpointError(f"{path} can't be read as JSON: {error}") from error
    if not isinstance(value, dict):
        raise CheckpointError(f"{path} holds a JSON {type(value).__name__}; expected an object")
    return value


def _has_shards(folder: Path) -> bool:
    return folder.is_dir() and any(_SHARD.fullmatch(path.name) for path in folder.iterdir())


def _model_folder(checkpoint: Path, step: int | Literal["latest"], role: Role) -> Path:
    if _has_shards(checkpoint):
        return checkpoint
    if _STEP.fullmatch(checkpoint.name) or (checkpoint / role).is_dir():
        return _role_folder(checkpoint, role)
    if (checkpoint / _CHECKPOINTS).is_dir():
        checkpoint = checkpoint / _CHECKPOINTS
    steps = {int(m[1]): path for path in checkpoint.iterdir() if path.is_dir() and (m := _STEP.fullmatch(path.name))}
    if not steps:
        raise CheckpointError(
            f"no global_step_N folder and no model_world_size_W_rank_R.pt file in {checkpoint}",
            hint="point at the run's folder (trainer.default_local_dir), at one of its steps, or at its actor folder",
        )
    chosen = _latest(checkpoint, steps) if step == "latest" else step
    if chosen not in steps:
        known = ", ".join(str(number) for number in sorted(steps))
        raise CheckpointError(f"no global_step_{chosen} in {checkpoint}", hint=f"steps that are there: {known}")
    if not (steps[chosen] / role).is_dir() and (
        kept := [str(number) for number in sorted(steps) if _has_shards(steps[number] / role)]
    ):
        raise CheckpointError(
            f"{steps[chosen]} has no {role} any more",
            hint=f"verl keeps the newest trainer.max_{role}_ckpt_to_keep; steps that have one: {', '.join(kept)}",
        )
    return _role_folder(steps[chosen], role)


def _latest(run: Path, steps: Mapping[int, Path]) -> int:
    """The step that verl names as its last; the highest one where it names none."""
    path = run / _LATEST
    if not is_there(path):
        return max(steps)
    text = path.read_text(encoding="utf-8", errors="replace").strip()
    if not text.isdecimal():
        raise CheckpointError(
            f"{path} holds {text[:40]!r}; expected a step number",
            hint=f"say which one with --step; there are: {', '.join(str(number) for number in sorted(steps))}",
        )
    return int(text)


def _role_folder(step_folder: Path, role: Role) -> Path:
    folder = step_folder / role
    if _has_shards(folder):
        return folder
    others = sorted(path.name for path in step_folder.iterdir() if _has_shards(path))
    flag = {"critic": "--critic converts the critic", "actor": "without --critic, the actor is converted"}
    hint = "; ".join(flag.get(name, f"{name} has shards") for name in others)
    raise CheckpointError(
        f"no model_world_size_W_rank_R.pt file in {folder}",
        hint=hint or "the step was saved without 'model' in checkpoint.save_contents, or its files are elsewhere",
    )


def _find_shards(folder: Path) -> tuple[int, dict[int, Path]]:
    by_world: dict[int, dict[int, Path]] = {}
    for path in folder.iterdir():
        if matched := _SHARD.fullmatch(path.name):
            by_world.setdefault(int(matched[1]), {})[int(matched[2])] = path
    config = folder / "fsdp_config.json"
    stated = read_json(config).get("world_size") if is_there(config) else None
    if isinstance(stated, int) and stated in by_world:
        world_size = stated
    elif stated is not None:
        raise CheckpointError(
            f"{config} says world_size {stated!r}; the shard files are of {_numbers(by_world)} ranks",
            hint="the folder mixes files of two saves",
        )
    elif len(by_world) == 1:
        (world_size,) = by_world
    else:
        raise CheckpointError(
            f"{folder} holds shards of several world sizes ({_numbers(by_world)}) and no fsdp_config.json to tell",
            hint="move the files of the older save elsewhere",
        )
    shards = dict(sorted(by_world[world_size].items()))
    for path in shards.values():
        if not is_there(path):
            raise CheckpointError(f"{path} is not a file; expected what verl saved of a rank")
    if beyond := [rank for rank in shards if rank >= world_size]:
        raise CheckpointError(f"{folder}: rank {beyond[0]} of a world of {world_size}")
    return world_size, shards


def _numbers(values: Mapping[int, object]) -> str:
    return " and ".join(str(value) for value in sorted(values))
