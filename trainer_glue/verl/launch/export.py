"""The end of a run as a model that loads anywhere: its last checkpoint in Hugging Face form.

The work is `trainer_glue.checkpoint`'s; here is only where the result goes and what is said when it can't.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rewardkit.errors import ConfigError
from trainer_glue.verl.launch.checkpoints import step_folder

if TYPE_CHECKING:
    from trainer_glue.checkpoint import Report
    from trainer_glue.verl.launch.folder import RunFolder
    from trainer_glue.verl.launch.plan import Plan


def export_folder(folder: RunFolder, step: int) -> Path:
    """Where the model of a step goes: ``export/step_N`` below the run's folder."""
    return folder.path / "export" / f"step_{step}"


def check_export(plan: Plan) -> None:
    """Refuse, before anything starts, a run that would leave nothing to export.

    Raises:
        ConfigError: no checkpoint will be saved.
    """
    every = plan.resolved.config["trainer"]["save_freq"]
    if every <= 0:
        raise ConfigError(
            f"--export writes the last checkpoint as a model, and trainer.save_freq={every} saves none",
            hint="set trainer.save_freq to a positive number of steps, or leave --export out",
        )


def export(plan: Plan, step: int) -> Report | None:
    """Write the checkpoint of a step as a Hugging Face folder, and verify it; None when that was done before.

    Raises:
        CheckpointError: the checkpoint can't be converted.
    """
    out = export_folder(plan.folder, step)
    if out.exists():
        return None
    from trainer_glue.checkpoint import convert

    out.parent.mkdir(exist_ok=True)
    return convert(step_folder(plan.folder.checkpoints, step), out, base=str(plan.model), verify_result=True)
