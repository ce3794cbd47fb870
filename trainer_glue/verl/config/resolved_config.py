"""A config that is filled in and not yet accepted: what checks from outside this package look at."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from rewardkit.engine.loading import RewardSource
from trainer_glue.verl.config.diagnostics import ConfigDiagnostic
from trainer_glue.verl.config.keys import Where


@dataclass(frozen=True)
class ResolvedConfig:
    """What resolving has so far.

    Attributes:
        config: verl's whole config, filled in, without the keys that were refused: any key may be missing.
        reward: what pays the run; None when that can't be said, about which there is a diagnostic.
        rows: rows of the training files; None when not known.
        ranks: processes that train, over all nodes; 0 when not known.
        accelerator: whether the run is for accelerators.
        present: whether this machine has one.
        made: keys of files that are made before the run starts.
        where: from a key to where the user set it.
    """

    config: Mapping[str, Any]
    reward: RewardSource | None
    rows: int | None
    ranks: int
    accelerator: bool
    present: bool
    made: frozenset[str]
    where: Where


Check = Callable[[ResolvedConfig], Iterable[ConfigDiagnostic]]
"""Looks at a draft and says what it finds."""
