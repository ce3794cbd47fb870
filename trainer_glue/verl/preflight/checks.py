"""All checks of the preflight, in the order in which their diagnostics are shown."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from rewardkit.diagnostics import Severity
from trainer_glue.verl.config.diagnostics import ConfigDiagnostic
from trainer_glue.verl.config.resolved_config import ResolvedConfig
from trainer_glue.verl.preflight.codes import ENVIRONMENT
from trainer_glue.verl.preflight.disk import check_disk
from trainer_glue.verl.preflight.graders import check_graders
from trainer_glue.verl.preflight.ground_truths import check_ground_truths
from trainer_glue.verl.preflight.groups import check_groups
from trainer_glue.verl.preflight.lengths import check_lengths
from trainer_glue.verl.preflight.loggers import check_loggers
from trainer_glue.verl.preflight.machine import Machine, this_machine
from trainer_glue.verl.preflight.memory_checks import check_memory
from trainer_glue.verl.preflight.parallel import check_parallel
from trainer_glue.verl.preflight.programs import check_programs
from trainer_glue.verl.preflight.reward_fit import check_reward_fit
from trainer_glue.verl.preflight.sampling import check_sampling
from trainer_glue.verl.preflight.schedule import check_schedule
from trainer_glue.verl.preflight.subject import Subject, subject_of
from trainer_glue.verl.preflight.unread import check_unread
from trainer_glue.verl.preflight.variables import check_variables
from trainer_glue.verl.preflight.versions import check_versions
from trainer_glue.verl.preflight.weights import check_weights

CHECKS: Final[tuple[Callable[[Subject], Iterator[ConfigDiagnostic]], ...]] = (
    check_versions,
    check_loggers,
    check_parallel,
    check_memory,
    check_lengths,
    check_sampling,
    check_schedule,
    check_disk,
    check_ground_truths,
    check_reward_fit,
    check_groups,
    check_graders,
    check_programs,
    check_variables,
    check_unread,
    check_weights,
)


def examine(subject: Subject, *, lenient: bool) -> list[ConfigDiagnostic]:
    """Every diagnostic on a subject.

    Args:
        subject: the config and what surrounds it.
        lenient: what this machine lacks is a warning: the run is only looked at, or will be elsewhere.
    """
    diagnostics = [diagnostic for check in CHECKS for diagnostic in check(subject)]
    if not lenient:
        return diagnostics
    return [dataclasses.replace(f, severity=Severity.WARNING) if f.code in ENVIRONMENT else f for f in diagnostics]


def preflight(
    *, lenient: bool, machine: Machine | None = None, gpu: float | None = None, scores: Path | None = None
) -> Preflight:
    """The checks as one, for :func:`~trainer_glue.verl.config.resolve`.

    Args:
        lenient: as in :func:`examine`.
        machine: the machine; None for this one.
        gpu: GB of a GPU of the run, where it will be on another machine.
        scores: a file of scores, for the share of dead groups.
    """
    return Preflight(this_machine() if machine is None else machine, lenient, gpu, scores)


class Preflight:
    """A check of a draft. Afterwards :attr:`subject` is what it looked at."""

    def __init__(self, machine: Machine, lenient: bool, gpu: float | None, scores: Path | None) -> None:
        self.subject: Subject | None = None
        self._machine = machine
        self._lenient = lenient
        self._gpu = gpu
        self._scores = scores

    def __call__(self, resolved: ResolvedConfig) -> list[ConfigDiagnostic]:
        """The diagnostics on a draft."""
        self.subject = subject_of(resolved, self._machine, gpu=self._gpu, scores=self._scores)
        return examine(self.subject, lenient=self._lenient)
