"""What the checks look at: the draft of a config, the machine, and the model's shape; and how values are read of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rewardkit.diagnostics import Severity, registered
from trainer_glue.verl.config.diagnostics import ConfigDiagnostic
from trainer_glue.verl.config.resolved_config import ResolvedConfig
from trainer_glue.verl.config.written import dig
from trainer_glue.verl.hub import NotHad, model_config
from trainer_glue.verl.preflight import codes as _codes  # noqa: F401  # registers them
from trainer_glue.verl.preflight.machine import Machine
from trainer_glue.verl.preflight.model_shape import ModelShape, shape_of

ACTOR: Final = "actor_rollout_ref.actor"
ROLLOUT: Final = "actor_rollout_ref.rollout"
REF: Final = "actor_rollout_ref.ref"
MODEL: Final = "actor_rollout_ref.model"
DEFAULT_GPU: Final = 80 * 2**30
"""Bytes of a GPU where none is here to ask: what the recipes are written for."""


@dataclass(frozen=True)
class Subject:
    """A config and what surrounds it.

    Attributes:
        resolved: the config, filled in.
        machine: where the check runs.
        model: what `config.json` says of the model; None when it can't be had or is still to be made.
        no_model: why it can't be had.
        gpu: bytes of a GPU of the run.
        gpu_is: how that is known, in words.
        elsewhere: whether the run is for GPUs that are not this machine's.
        scores: a file of scores, or None.
    """

    resolved: ResolvedConfig
    machine: Machine
    model: Mapping[str, Any] | None
    no_model: NotHad | None
    gpu: int
    gpu_is: str
    elsewhere: bool = False
    scores: Path | None = None

    @property
    def on_gpus(self) -> bool:
        """Whether the run is for accelerators."""
        return self.resolved.accelerator

    @property
    def shape(self) -> ModelShape | None:
        """The model's shape; None when it can't be had."""
        return None if self.model is None else shape_of(self.model)

    def get(self, key: str) -> Any:
        """The value at a dotted key; None when it is missing or was refused."""
        return dig(self.resolved.config, key)

    def number(self, key: str, default: float | None = None) -> float | None:
        """A number of the config."""
        value = self.get(key)
        return value if isinstance(value, int | float) and not isinstance(value, bool) else default

    def integer(self, key: str, default: int = 0) -> int:
        """A whole number of the config; the default when there is none."""
        value = self.get(key)
        return value if isinstance(value, int) and not isinstance(value, bool) else default

    def on(self, key: str) -> bool:
        """Whether a key is true."""
        return self.get(key) is True

    @property
    def sequence(self) -> int:
        """Tokens of the longest prompt with the longest response."""
        return self.integer("data.max_prompt_length") + self.integer("data.max_response_length")

    def diagnostic(
        self, code: str, key: str, message: str, hint: str | None = None, severity: Severity | None = None
    ) -> ConfigDiagnostic:
        """A diagnostic on a key of the config, with the place where the user set it.

        Args:
            code: one of :mod:`~trainer_glue.verl.preflight.codes`.
            key: the dotted key; empty when it is about none.
            message: the evidence: what came, and what was expected.
            hint: what to change.
            severity: None for what is usual for the code. An error stops `rewardkit train`.
        """
        where = self.resolved.where(key) if key else ""
        return ConfigDiagnostic(code, message, where, hint, severity or registered(code).severity, key=key)


def subject_of(
    resolved: ResolvedConfig, machine: Machine, *, gpu: float | None = None, scores: Path | None = None
) -> Subject:
    """Gather what the checks need, which reads the model's config.

    Args:
        resolved: the config.
        machine: where the check runs.
        gpu: GB of a GPU of the run, for a run on another machine; None for this machine's.
        scores: a file of scores.
    """
    config: Mapping[str, Any] | None = None
    why: NotHad | None = None
    path = dig(resolved.config, f"{MODEL}.path")
    if f"{MODEL}.path" not in resolved.made and isinstance(path, str):
        try:
            config = model_config(path)
        except NotHad as e:
            why = e
    if gpu is not None:
        size, known = round(gpu * 2**30), "as given"
    elif machine.gpus:
        smallest = min(machine.gpus, key=lambda g: g.memory)
        size, known = smallest.memory, smallest.name
    else:
        size, known = DEFAULT_GPU, "assumed: there is no GPU here to ask"
    elsewhere = resolved.accelerator and (gpu is not None or not resolved.present)
    return Subject(resolved, machine, config, why, size, known, elsewhere, scores)
