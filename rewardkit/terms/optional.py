"""Packages that only some terms need: looked for when a node is built, so that no run finds out row by row."""

from __future__ import annotations

import importlib
from typing import Any

from rewardkit.errors import MissingDependencyError


def optional(module: str, *, wanted_by: str, extra: str) -> Any:
    """An optional module.

    Args:
        module: its import name.
        wanted_by: the term that needs it.
        extra: the extra of this distribution that installs it.

    Raises:
        MissingDependencyError: it is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError as e:
        raise MissingDependencyError(
            f"{wanted_by} needs the package {module.partition('.')[0]!r}, which doesn't import here: {e}",
            hint=f"pip install 'rewardkit-rl[{extra}]'",
        ) from e
