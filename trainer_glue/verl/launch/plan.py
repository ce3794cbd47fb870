"""A run that is ready to start, and nothing written yet: the config resolved, its folder chosen and looked at."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rewardkit.engine.loading import RewardSource
from rewardkit.errors import ConfigError, MissingDependencyError
from trainer_glue.verl.config import ConfigDiagnostic, Resolved, resolve
from trainer_glue.verl.config.recipes import config_path
from trainer_glue.verl.config.yaml_file import read_yaml
from trainer_glue.verl.launch.command import VerlCommand, verl_command
from trainer_glue.verl.launch.differences import Difference, differences, portable, refuse
from trainer_glue.verl.launch.folder import RunFolder
from trainer_glue.verl.launch.record import RunRecord, versions
from trainer_glue.verl.preflight import preflight

RUNS: Final = Path("runs")
CHECKPOINT_KEY: Final = "trainer.default_local_dir"
REWARD_KEYS: Final = ("reward.reward_kwargs.rewardkit", "trainer.v1.sampler.sampler_kwargs.rewardkit")
"""Where the reward travels in verl's config; its fingerprint says whether it is the same."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What `rewardkit train` is about to do.

    Attributes:
        resolved: the checked config.
        folder: where the run goes.
        verl: how verl is started.
        earlier: the record of the run that is in the folder, or None for a new run.
        notes: warnings, in words for the user.
    """

    resolved: Resolved
    folder: RunFolder
    verl: VerlCommand
    earlier: RunRecord | None
    notes: tuple[str, ...]

    @property
    def total_steps(self) -> int | None:
        """Training steps asked for; None where the number of epochs decides."""
        steps: int | None = self.resolved.config["trainer"]["total_training_steps"]
        return steps

    @property
    def resumes(self) -> bool:
        """Whether verl goes on from the newest checkpoint of the folder: so unless the user set another mode."""
        return bool(self.resolved.config["trainer"]["resume_mode"] == "auto")

    @property
    def model(self) -> Path:
        """The model's folder, or the name of one on a hub."""
        return Path(str(self.resolved.config["actor_rollout_ref"]["model"]["path"]))


def make_plan(
    source: str | None,
    overrides: Sequence[str],
    *,
    reward: RewardSource | str | None,
    out: Path | None,
    dry_run: bool = False,
) -> Plan:
    """Resolve a config and look at the folder of the run. Writes nothing.

    Args:
        source: a recipe's name or a YAML file; None for the default.
        overrides: `key=value` of verl's config.
        reward: what pays the run, over the config's own.
        out: the run's folder; None for the config's `trainer.default_local_dir` where the user set one, else
            `runs/NAME` after the recipe or the file.
        dry_run: what this machine lacks is a warning.

    Raises:
        RewardKitError: a config that would not run, or a folder that holds another run.
    """
    if importlib.util.find_spec("matplotlib") is None:
        raise MissingDependencyError(
            "matplotlib is not installed; the reward's curve is drawn with it", hint="pip install 'rewardkit-rl[verl]'"
        )
    keeps_own = out is None and _sets_folder(source, overrides)
    if out is None and not keeps_own and source is not None:
        out = RUNS / Path(source).stem
    out = None if out is None else out.expanduser().absolute()
    check = preflight(lenient=dry_run)
    resolved = resolve(source, overrides, reward=reward, out=out, dry_run=dry_run, check=check)
    path = resolved.out.expanduser().absolute() if out is None else out  # the default recipes name their own
    folder = RunFolder(path, path if keeps_own else path / "checkpoints")
    _check_folder(folder)
    verl = verl_command(resolved, folder)
    earlier = RunRecord.read(folder.record)
    if earlier is not None:
        _check_same_run(earlier, resolved.reward, verl, folder)
    notes = [_note(f) for f in resolved.diagnostics]
    if earlier is not None:
        notes += _changed_versions(earlier)
    return Plan(resolved, folder, verl, earlier, tuple(notes))


def _note(diagnostic: ConfigDiagnostic) -> str:
    """A warning in short where `rewardkit doctor` has the rest under its code."""
    if not diagnostic.code.startswith("RKD"):
        return str(diagnostic)
    return f"{diagnostic.code} {': '.join(part for part in (diagnostic.key, diagnostic.message) if part)}"


def _check_same_run(earlier: RunRecord, reward: RewardSource, verl: VerlCommand, folder: RunFolder) -> None:
    """Refuse to go on with a run under another reward or other settings."""
    changed = differences(portable(earlier.config, Path(earlier.folder)), portable(verl.config, folder.path))
    changed = [d for d in changed if not d.key.startswith(REWARD_KEYS)]
    if earlier.fingerprint != reward.fingerprint:
        changed.insert(0, Difference("the reward", earlier.formula, reward.formula))
    if changed:
        raise refuse(folder.path, changed)


def _changed_versions(earlier: RunRecord) -> list[str]:
    now = versions()
    changed = [f"{k} {v} (now {now.get(k, 'missing')})" for k, v in earlier.versions.items() if now.get(k) != v]
    return [f"this run began with {', '.join(changed)}"] if changed else []


def _check_folder(folder: RunFolder) -> None:
    path = folder.path
    if path.exists() and not path.is_dir():
        raise ConfigError(f"--out {path} is a file; expected a folder")
    if folder.record.exists() or not path.is_dir():
        return
    strange = sorted(p.name for p in path.iterdir() if p.name not in ("assets", folder.lock.name))
    if strange:
        raise ConfigError(
            f"{path} holds {', '.join(strange[:3])}{' and more' if len(strange) > 3 else ''}, and no run of rewardkit",
            hint="give an empty or a new folder with --out",
        )


def _sets_folder(source: str | None, overrides: Sequence[str]) -> bool:
    """Whether the user's file or command line says where checkpoints go. A recipe's own word doesn't count."""
    if any(text.lstrip("+").startswith(f"{CHECKPOINT_KEY}=") for text in overrides):
        return True
    if source is None:
        return False
    try:
        path, recipe = config_path(source)
    except ConfigError:
        return False  # resolving says it, with whatever else is wrong
    return recipe is None and CHECKPOINT_KEY in read_yaml(path).lines
