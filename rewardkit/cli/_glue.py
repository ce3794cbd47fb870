"""Modules of the trainers' side, imported by name: this package never depends on a trainer."""

from __future__ import annotations

import importlib
from typing import Any

from rewardkit.errors import MissingDependencyError


def glue(module: str, command: str) -> Any:
    """A module of `trainer_glue.verl`.

    Args:
        module: such as `launch.plan`.
        command: the subcommand that needs it.

    Raises:
        MissingDependencyError: a package that comes with verl is not installed.
    """
    try:
        return importlib.import_module(f"trainer_glue.verl.{module}")
    except ModuleNotFoundError as e:
        if e.name is None or e.name.partition(".")[0] in ("rewardkit", "trainer_glue"):
            raise
        raise MissingDependencyError(
            f"`rewardkit {command}` needs verl and what it brings; {e.name} is not installed",
            hint="pip install 'rewardkit-rl[verl]'",
        ) from e
