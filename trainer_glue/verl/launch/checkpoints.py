"""Which checkpoint verl will go on from, and the mending that a kill during a save calls for.

verl 0.9.1 saves a step as `global_step_N/actor` (and `critic`), then `global_step_N/data.pt`, then overwrites
`latest_checkpointed_iteration.txt` in place, and drops the oldest step's files in between
(`trainer/ppo/v1/trainer_base.py`, `_save_checkpoint`). A kill can leave a step folder that is half written, a tracker
that is empty (verl then stops with a ValueError), or a tracker that names a step whose files are gone (verl then trains
from the start without a word). Whatever can't be told from a half-written one counts as half-written.
"""

from __future__ import annotations

import re
import shutil
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rewardkit.errors import CheckpointError
from trainer_glue.verl.launch.folder import write_whole

TRACKER: Final = "latest_checkpointed_iteration.txt"
_STEP: Final = re.compile(r"global_step_(\d+)")
_SHARD: Final = re.compile(r"(?P<kind>model|optim|extra_state)_world_size_(?P<size>\d+)_rank_(?P<rank>\d+)\.pt")


@dataclass(frozen=True, slots=True)
class Mended:
    """The state of a run's checkpoints.

    Attributes:
        step: the step that a new start goes on from; 0 for none.
        notes: what was mended, in words for the user.
    """

    step: int
    notes: tuple[str, ...] = ()


def step_folder(checkpoints: Path, step: int) -> Path:
    """Where verl keeps a step."""
    return checkpoints / f"global_step_{step}"


def latest(checkpoints: Path) -> int:
    """The newest complete checkpoint's step, as the tracker has it; 0 for none. Nothing is changed."""
    tracked = _tracked(checkpoints)
    return tracked if tracked and is_complete(step_folder(checkpoints, tracked)) else 0


def mend(checkpoints: Path) -> Mended:
    """Leave only complete checkpoints, and a tracker that names the newest of them.

    Raises:
        CheckpointError: the run had checkpoints, and none of them is complete.
    """
    if not checkpoints.is_dir():
        return Mended(0)
    steps = sorted(int(m[1]) for p in checkpoints.iterdir() if p.is_dir() and (m := _STEP.fullmatch(p.name)))
    tracked = _tracked(checkpoints)
    complete = [s for s in steps if is_complete(step_folder(checkpoints, s))]
    newest = tracked if tracked in complete else max(complete, default=0)
    if newest == 0 and tracked:
        raise CheckpointError(
            f"{checkpoints} says that step {tracked} was saved, but no complete checkpoint is there",
            hint="put the checkpoint back, or start a new run with another --out",
        )
    notes = []
    for step in (s for s in steps if s > newest):
        shutil.rmtree(step_folder(checkpoints, step))
        notes.append(f"removed global_step_{step}, which was only half written")
    if newest and newest != tracked:
        write_whole(checkpoints / TRACKER, str(newest).encode())
        notes.append(f"the newest complete checkpoint is that of step {newest}")
    elif not newest:
        (checkpoints / TRACKER).unlink(missing_ok=True)
    return Mended(newest, tuple(notes))


def is_complete(folder: Path) -> bool:
    """Whether every file that verl writes into a step's folder is there and ends where it should."""
    # torch writes a zip archive, whose table of contents comes last.
    files = list(folder.rglob("*.pt"))
    return (folder / "data.pt").is_file() and all(zipfile.is_zipfile(f) for f in files) and _has_all_ranks(files)


def _has_all_ranks(files: list[Path]) -> bool:
    ranks: dict[tuple[Path, str, int], set[int]] = {}
    for file in files:
        if m := _SHARD.fullmatch(file.name):
            ranks.setdefault((file.parent, m["kind"], int(m["size"])), set()).add(int(m["rank"]))
    return all(present == set(range(size)) for (_, _, size), present in ranks.items())


def _tracked(checkpoints: Path) -> int | None:
    """The step in verl's tracker file: None where there is no file, 0 where a kill left it empty or torn."""
    try:
        text = (checkpoints / TRACKER).read_text(errors="replace").strip()
    except FileNotFoundError:
        return None
    return int(text) if text.isascii() and text.isdigit() else 0
