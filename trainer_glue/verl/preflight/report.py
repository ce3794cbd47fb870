"""One look at a run, for `rewardkit doctor`: everything that was found, never an exception for a bad config."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rewardkit.diagnostics import Severity, errors, ordered
from rewardkit.errors import DataError
from trainer_glue.verl import cpu
from trainer_glue.verl.config import ConfigDiagnostic, ConfigErrors, resolve
from trainer_glue.verl.config.recipes import DEFAULT
from trainer_glue.verl.config.validation import as_dicts
from trainer_glue.verl.preflight.checks import preflight
from trainer_glue.verl.preflight.memory_checks import table
from trainer_glue.verl.preflight.sizing import estimate_of
from trainer_glue.verl.preflight.subject import Subject


@dataclass(frozen=True)
class Report:
    """What was found.

    Attributes:
        name: the config.
        diagnostics: errors first.
        subject: what was looked at; None when the config could not even be filled in.
    """

    name: str
    diagnostics: tuple[ConfigDiagnostic, ...]
    subject: Subject | None

    @property
    def errors(self) -> tuple[ConfigDiagnostic, ...]:
        """What would stop `rewardkit train`."""
        return errors(self.diagnostics)

    @property
    def memory(self) -> list[str]:
        """The memory estimate, a line a phase; empty for a run on the CPU or a model of unknown size."""
        return [] if self.subject is None else table(self.subject)

    def as_dict(self) -> dict[str, Any]:
        """Plain data; sizes in bytes."""
        estimate = None if self.subject is None else estimate_of(self.subject)
        return {
            "config": self.name,
            "diagnostics": as_dicts(self.diagnostics, None if self.subject is None else self.subject.resolved.config),
            "memory": None
            if estimate is None
            else {
                "usable": estimate.usable,
                "phases": {p.name: {"total": p.total, "parts": dict(p.parts)} for p in estimate.phases},
                "cached_tokens": estimate.cached_tokens,
            },
        }


def diagnose(
    source: str | None,
    overrides: Sequence[str],
    *,
    reward: str | None = None,
    scores: Path | None = None,
    gpu: float | None = None,
) -> Report:
    """Everything that can be found about a run before it starts.

    Args:
        source: a recipe's name or a YAML file; None for the default.
        overrides: `key=value` of verl's config.
        reward: what pays the run, over the config's own.
        scores: a file of scores of several responses to each prompt.
        gpu: GB of a GPU of the run, where it will be on another machine.

    Raises:
        DataError: a file of scores that can't be read.
    """
    if scores is not None and not scores.is_file():
        raise DataError(f"--scores: no file {scores}")
    present = cpu.accelerator_present()
    lenient = not present or gpu is not None
    check = preflight(lenient=lenient, gpu=gpu, scores=scores)
    on_gpus = True if gpu is not None else None
    try:
        diagnostics = resolve(
            source, overrides, reward=reward, accelerator=on_gpus, dry_run=lenient, check=check
        ).diagnostics
    except ConfigErrors as e:
        diagnostics = (*e.errors, *e.warnings)
    if gpu is None:  # the run is for this machine, so its data must be here
        diagnostics = tuple(replace(f, severity=Severity.ERROR) if f.code == "missing-file" else f for f in diagnostics)
    return Report(source or DEFAULT, ordered(diagnostics), check.subject)
