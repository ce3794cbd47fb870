"""verl's own command line, environment and config file for a resolved run.

What is put on top of the resolved config serves the watching: a `file` logger beside the user's own.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rewardkit.processes.isolated import PYTHON, isolated_environment

if TYPE_CHECKING:
    from trainer_glue.verl.config import Resolved
    from trainer_glue.verl.launch.folder import RunFolder

METRICS_VARIABLE: Final = "VERL_FILE_LOGGER_PATH"
"""Where verl's `file` logger writes (verl/utils/tracking.py, FileLogger): `{"step": n, "data": {...}}` a line."""

LOGGER_FILES: Final[Mapping[str, tuple[str, str]]] = {
    "tensorboard": ("TENSORBOARD_DIR", "{}/tensorboard"),
    "wandb": ("WANDB_DIR", "{}"),
    "mlflow": ("MLFLOW_TRACKING_URI", "sqlite:///{}/mlflow.db"),
}
"""Loggers that would write into the working folder or /tmp: the variable that says where, and what it is set to."""

_HYDRA: Final = (
    "hydra.run.dir=.",
    "hydra.output_subdir=null",
    "hydra/job_logging=stdout",
    "hydra/hydra_logging=none",
)
"""Keep hydra from leaving an `outputs/` folder in the working folder."""


@dataclass(frozen=True, slots=True)
class VerlCommand:
    """How verl is started.

    Attributes:
        argv: the command.
        variables: environment variables on top of this process's own.
        config: the whole config, every interpolation filled in.
        text: the config file that `argv` names.
    """

    argv: tuple[str, ...]
    variables: Mapping[str, str]
    config: Mapping[str, Any]
    text: str

    def environment(self, scratch: Path | None = None) -> dict[str, str]:
        """The whole environment of the child.

        Args:
            scratch: a folder for Ray's session files, or None to leave that to Ray.
        """
        ours = {} if scratch is None else {"RAY_TMPDIR": str(scratch)}
        return {**os.environ, **self.variables, **ours}

    def shell(self) -> str:
        """The command for a shell, variables first."""
        assignments = [f"{name}={shlex.quote(value)}" for name, value in self.variables.items()]
        return " ".join([*assignments, shlex.join(self.argv)])

    def by_hand(self, groups: Sequence[str] = ()) -> str:
        """The same run as one command that needs no config file: every key that differs from verl's defaults.

        Args:
            groups: the overrides that choose config groups.
        """
        from omegaconf import OmegaConf

        from trainer_glue.verl.config.arguments import config_arguments

        wanted: dict[str, Any] = OmegaConf.to_container(OmegaConf.create(self.text), resolve=False)
        assignments = [f"{name}={shlex.quote(value)}" for name, value in self.variables.items()]
        parts = [shlex.quote(part) for part in (*config_arguments(wanted, groups), *_HYDRA)]
        return " \\\n    ".join([" ".join([*assignments, "python -m verl.trainer.main_ppo"]), *parts])


def verl_command(resolved: Resolved, folder: RunFolder) -> VerlCommand:
    """The command that trains a resolved run in a folder."""
    config, text = _config(resolved, folder)
    variables = {
        METRICS_VARIABLE: str(folder.live_metrics),
        **_logger_files(config["trainer"]["logger"], folder),
        **_machine(resolved),
    }
    if joins_cluster(config):
        config, text = _config(resolved, folder, variables)
    return VerlCommand(
        argv=(
            *PYTHON,
            "-m",
            "verl.trainer.main_ppo",
            f"--config-path={folder.config.parent}",
            f"--config-name={folder.config.stem}",
            *_HYDRA,
        ),
        variables={
            **_import_path(),
            # Ray's notice about it goes to a log that nobody is asked to read: nothing is sent unless asked for.
            **({} if "RAY_USAGE_STATS_ENABLED" in os.environ else {"RAY_USAGE_STATS_ENABLED": "0"}),
            **variables,
        },
        config=config,
        text=text,
    )


def joins_cluster(config: Mapping[str, Any]) -> bool:
    """True when the run goes to a Ray cluster that is already there."""
    ray_init = config["ray_kwargs"].get("ray_init") or {}
    return bool(ray_init.get("address") or os.environ.get("RAY_ADDRESS"))


def starts_ray(config: Mapping[str, Any]) -> bool:
    """False when the run joins a cluster, or the user places Ray's files."""
    ray_init = config["ray_kwargs"].get("ray_init") or {}
    return not (joins_cluster(config) or ray_init.get("_temp_dir") or os.environ.get("RAY_TMPDIR"))


def _logger_files(loggers: list[str], folder: RunFolder) -> dict[str, str]:
    """Variables that keep what loggers write below the run's folder; one that the user has set is kept."""
    chosen = (LOGGER_FILES[name] for name in loggers if name in LOGGER_FILES)
    return {name: text.format(folder.path) for name, text in chosen if name not in os.environ}


def _machine(resolved: Resolved) -> dict[str, str]:
    if resolved.accelerator:
        return {}
    from trainer_glue.verl import cpu

    return cpu.environment()


def _import_path() -> dict[str, str]:
    """PYTHONPATH for verl's processes, where this process's own would not do."""
    wanted = isolated_environment().get("PYTHONPATH", "")
    return {} if wanted == os.environ.get("PYTHONPATH", "") else {"PYTHONPATH": wanted}


def _config(
    resolved: Resolved, folder: RunFolder, variables: Mapping[str, str] | None = None
) -> tuple[dict[str, Any], str]:
    """verl's config as data and as text.

    Args:
        resolved: the checked config.
        folder: the run's.
        variables: variables for the processes of a cluster that was started without them.
    """
    from omegaconf import OmegaConf

    config = resolved.unfilled()
    config.trainer.default_local_dir = str(folder.checkpoints)
    loggers = config.trainer.logger
    loggers = [loggers] if isinstance(loggers, str) else list(loggers)
    config.trainer.logger = [*loggers, *(name for name in ("console", "file") if name not in loggers)]
    if variables:
        key = "ray_kwargs.ray_init.runtime_env.env_vars"
        theirs = OmegaConf.select(config, key) or {}
        OmegaConf.update(config, key, {**variables, **theirs}, force_add=True)
        for resource in ("num_cpus", "num_gpus", "include_dashboard"):  # the cluster has its own; Ray refuses others
            config.ray_kwargs.ray_init.pop(resource, None)
    plain: dict[str, Any] = OmegaConf.to_container(config, resolve=True)
    head = "# Written by rewardkit; every start of the run writes it again."
    return plain, f"{head}\n{OmegaConf.to_yaml(config)}"
