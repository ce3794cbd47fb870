"""The metrics of a run, step by step, as verl's `file` logger writes them.

The logger empties its file when a run starts (verl/utils/tracking.py, FileLogger), so each start writes a file of its
own, which is folded into the run's history before the next start and at the end.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rewardkit.errors import DataError
from trainer_glue.verl.launch.folder import RunFolder, write_whole

TOTAL: Final = "reward/total/mean"
_FALLBACK_TOTAL: Final = "critic/score/mean"
"""verl's own mean score, where the run's sampler is not rewardkit's."""
_TRAINING: Final = "training/global_step"
"""In every training step's metrics, and not in those of a validation alone."""


@dataclass(frozen=True, slots=True)
class Step:
    """The metrics of one step.

    Attributes:
        number: the trainer's global step.
        values: every number that verl logged, by name; NaN where it logged none.
    """

    number: int
    values: Mapping[str, float]

    @property
    def is_training(self) -> bool:
        """False for a validation before or after the training."""
        return _TRAINING in self.values

    @property
    def total(self) -> float:
        """The mean reward of the batch."""
        return self.values.get(TOTAL, self.values.get(_FALLBACK_TOTAL, math.nan))

    @property
    def terms(self) -> dict[str, float]:
        """The mean of each term, in the formula's order."""
        names = (key.split("/") for key in self.values if key != TOTAL and key.startswith("reward/"))
        return {"/".join(p[1:-1]): self.values["/".join(p)] for p in names if p[-1] == "mean" and len(p) > 2}

    @property
    def unscored(self) -> float:
        """The share of the batch that has no score."""
        return self.values.get("reward/unscored", 0.0)

    @property
    def validation(self) -> float:
        """The mean of verl's core validation metric over the data sets, NaN where the step did not validate."""
        core = [v for k, v in self.values.items() if k.startswith("val-core/") and "/mean@" in k]
        return math.fsum(core) / len(core) if core else math.nan

    @property
    def seconds(self) -> float:
        """The step's wall time, saving and validation included."""
        return self.values.get("timing_s/step", math.nan) + self.values.get("timing_s/testing", 0.0)

    @property
    def response_length(self) -> float:
        """Mean response length in tokens."""
        return self.values.get("response_length/mean", math.nan)

    def to_json(self) -> str:
        """One line, as verl writes it."""
        return json.dumps({"step": self.number, "data": {k: _json_number(v) for k, v in self.values.items()}})


def parse_lines(text: str, where: str = "metrics") -> list[Step]:
    """Steps from JSON lines. A last line without its end is left out: its writer was killed, or is still writing.

    Raises:
        DataError: any other line that isn't a step.
    """
    steps = []
    lines = text.split("\n")
    for i, line in enumerate(lines[:-1]):
        try:
            row = json.loads(line)
            steps.append(Step(int(row["step"]), {k: _number(v) for k, v in row["data"].items() if _is_number(v)}))
        except (ValueError, KeyError, TypeError, AttributeError) as e:
            raise DataError(f"{where}, line {i + 1}: expected a step's metrics, got {line[:80]!r}") from e
    return steps


def read_steps(folder: RunFolder) -> list[Step]:
    """Every step of the run so far, training and validation."""
    return joined(_read(folder.metrics), _read(folder.live_metrics))


def fold(folder: RunFolder) -> list[Step]:
    """Put the latest start's steps into the run's history; all steps of the run."""
    steps = read_steps(folder)
    if folder.live_metrics.exists():
        write_whole(folder.metrics, "".join(f"{s.to_json()}\n" for s in steps).encode())
        folder.live_metrics.unlink()
    return steps


def joined(history: Iterable[Step], latest: Iterable[Step]) -> list[Step]:
    """The history with a later start's steps: what that start trained again replaces what came before it."""
    new = list(latest)
    first = min((s.number for s in new if s.is_training), default=math.inf)
    steps = {s.number: s for s in history if s.number < first}
    for step in new:
        before = steps.get(step.number)
        steps[step.number] = step if before is None else Step(step.number, {**before.values, **step.values})
    return [steps[number] for number in sorted(steps)]


class Reader:
    """Reads a metrics file as it grows; verl's start empties it, which begins it anew."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen = 0

    def new_steps(self) -> list[Step]:
        """The steps since the last call."""
        steps = _read(self._path)
        if len(steps) < self._seen:
            self._seen = 0
        new = steps[self._seen :]
        self._seen = len(steps)
        return new


def _read(path: Path) -> list[Step]:
    return parse_lines(path.read_text(encoding="utf-8"), str(path)) if path.exists() else []


def _is_number(value: Any) -> bool:
    return value is None or isinstance(value, int | float)


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)


def _json_number(value: float) -> float | None:
    return value if math.isfinite(value) else None
