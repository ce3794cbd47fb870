"""The share of groups that would teach nothing, from a file of scores.

GRPO pays a response by its distance from the mean of its group: where all rewards of a group are equal, all
advantages are 0. DAPO (Yu et al. 2025, arXiv 2503.14476, section 3.2) filters such groups out for that reason.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rewardkit.errors import DataError
from trainer_glue.verl.config.diagnostics import ConfigDiagnostic
from trainer_glue.verl.preflight.subject import ROLLOUT, Subject

MANY: Final = 0.5
"""Share of dead groups from which a run wastes more than it uses."""
_NAMES: Final = ("group", "uid")


@dataclass(frozen=True, slots=True)
class Groups:
    """What a file of scores says.

    Attributes:
        groups: how many have two scored responses or more.
        dead: how many of them have equal scores throughout.
        lowest: how many of the dead have the lowest score of the file.
        highest: how many have the highest.
        alone: groups of one scored response.
    """

    groups: int
    dead: int
    lowest: int
    highest: int
    alone: int

    @property
    def share(self) -> float:
        """Dead groups among all with something to compare."""
        return self.dead / self.groups if self.groups else math.nan


def read_groups(path: Path, size: int) -> Groups:
    """Group the scores of a JSON-lines file.

    Args:
        path: lines with `score`, and `group` or `uid`; where no line has one, every `size` lines are a group.
        size: responses to a prompt.

    Raises:
        DataError: a line that isn't a score, or lines that can't be grouped.
    """
    scores: dict[Any, list[float]] = {}
    grouped: bool | None = None
    number = 0
    try:
        with path.open(encoding="utf-8") as lines:
            for number, line in enumerate((text for text in lines if text.strip()), 1):
                row = _row(path, number, line)
                name = next((row[k] for k in _NAMES if row.get(k) is not None), None)
                if grouped is None:
                    grouped = name is not None
                elif grouped != (name is not None):
                    raise DataError(f"{path}:{number}: some lines have a `group` and some have none")
                value = row["score"]
                scores.setdefault(name if grouped else (number - 1) // size, [])
                if value is not None:
                    scores[name if grouped else (number - 1) // size].append(float(value))
    except OSError as e:
        raise DataError(f"--scores {path} can't be read: {e.strerror}") from e
    if not number:
        raise DataError(f"{path} has no rows")
    if not grouped and (size < 2 or number % size):
        raise DataError(
            f"{path} has {number:,} lines without `group`, which are not whole groups of {ROLLOUT}.n={size}",
            hint="give each line the `group` of its prompt",
        )
    return _counted([values for values in scores.values() if values])


def _row(path: Path, number: int, line: str) -> Mapping[str, Any]:
    try:
        row = json.loads(line)
    except ValueError:
        row = None
    if not isinstance(row, dict) or "score" not in row:
        raise DataError(
            f"{path}:{number} is not a score: {line.strip()[:60]}",
            hint="the output of `rewardkit score` has one a line",
        )
    value = row["score"]
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise DataError(f"{path}:{number}: score is {value!r}; expected a number or null")
    return row


def _counted(groups: list[list[float]]) -> Groups:
    every = [value for values in groups for value in values]
    low, high = min(every, default=math.nan), max(every, default=math.nan)
    compared = [values for values in groups if len(values) > 1]
    dead = [values[0] for values in compared if max(values) - min(values) <= 1e-9 * max(1.0, abs(values[0]))]
    return Groups(
        groups=len(compared),
        dead=len(dead),
        lowest=sum(math.isclose(v, low) for v in dead),
        highest=sum(math.isclose(v, high) for v in dead if high > low),
        alone=len(groups) - len(compared),
    )


def check_groups(subject: Subject) -> Iterator[ConfigDiagnostic]:
    """Dead groups of the file of scores, when one was given."""
    if subject.scores is None:
        return
    key, n = f"{ROLLOUT}.n", subject.integer(f"{ROLLOUT}.n", 1)
    seen = read_groups(subject.scores, n)
    if not seen.groups:
        message = f"{subject.scores} has no group with two scored responses: nothing can be said of dead groups"
        yield subject.diagnostic("RKD703", key, message, "score several responses to each prompt")
    elif seen.share > MANY:
        message = (
            f"{seen.dead:,} of {seen.groups:,} groups ({seen.share:.0%}) have equal scores: {seen.lowest:,} all at the "
            f"lowest, {seen.highest:,} all at the highest; they teach nothing"
        )
        fix = f"{_easier(seen)}, or a larger {key} (now {n})"
        yield subject.diagnostic("RKD703", key, message, fix)


def _easier(seen: Groups) -> str:
    if seen.lowest >= seen.highest:
        return "easier prompts, or a term that tells wrong answers apart"
    return "harder prompts, or a term that tells right answers apart"
