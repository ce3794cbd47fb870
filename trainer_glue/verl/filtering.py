"""Dynamic sampling: which groups teach nothing, and are thrown away before the trainer sees them.

GRPO pays a response by its distance from the mean of its group, so a group whose rows are all worth the same teaches
nothing. DAPO (Yu et al. 2025, arXiv 2503.14476, section 3.2) throws it away and draws another prompt. What decides here
is the finished value, as the trainer would read it: group-relative parts, schedules and unscored rows included.

verl hands its own samplers what `algorithm.filter_groups` says, and a custom one only the trainer's method for new
prompts. The settings are read from that trainer.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from rewardkit.batch import Floats
from rewardkit.comparison.orders import near
from rewardkit.engine.scores import Scores
from rewardkit.errors import CompileError, RunError, UnscoredError, did_you_mean
from trainer_glue.adapters.unscored import fill_unscored

TOTAL: Final = "reward"
"""The metric that is the formula's total, as verl calls it."""


def settings_of(refill: Callable[..., Any] | None) -> dict[str, Any]:
    """The arguments that verl gives its own samplers and no custom one, and `max_num_gen_batches`.

    Args:
        refill: verl's method of the trainer that submits new prompts.
    """
    config = getattr(getattr(refill, "__self__", None), "config", None)
    if config is None:
        return {}
    groups = config["algorithm"].get("filter_groups") or {}
    enabled = bool(groups.get("enable"))
    size = int(config["data"]["train_batch_size"])
    failed = bool(config["trainer"]["v1"]["sampler"].get("sync_refill_failed_groups"))
    return {
        "filter_groups_metric": str(groups.get("metric") or TOTAL) if enabled else None,
        "max_inflight_gen_batches": groups.get("max_inflight_gen_batches", 1),
        "max_num_gen_batches": int(groups.get("max_num_gen_batches") or 0),
        "train_batch_size": size,
        "sync_refill_failed_groups": failed,
        "gen_batch_size": 1 if enabled or failed else config["data"].get("gen_batch_size") or size,
    }


def check_metric(metric: str, names: Collection[str]) -> None:
    """Refuse a metric that the formula doesn't have.

    Raises:
        CompileError: it is neither `reward` nor a name of the formula.
    """
    if metric != TOTAL and metric not in names:
        known = [TOTAL, *names]
        raise CompileError(
            f"algorithm.filter_groups.metric is {metric!r}, and the formula has no such name",
            hint=did_you_mean(metric, known) or f"one of {', '.join(known)}",
        )


@dataclass
class GroupFilter:
    """Judges finished groups, and counts what it threw away since the last batch.

    Args:
        metric: `reward`, or a name of the formula.
        prompts: prompts of a training step.
        most: batches of prompts that a step may use up; 0 for any number.
        unscored_limit: the share of all judged rows that may be unscored.
    """

    metric: str
    prompts: int
    most: int
    unscored_limit: float
    _judged: int = 0
    _rows: int = 0
    _sum: float = 0.0
    _unscored_rows: int = 0
    _unscored: int = 0
    _equal: list[float] = field(default_factory=list)
    _low: float = math.inf
    _high: float = -math.inf

    def judge(self, scores: Scores, groups: Sequence[str]) -> dict[str, float | None]:
        """For each group the value that all its rows have, NaN where no row has a score, None where rows differ.

        Args:
            scores: finished, shape (n,).
            groups: each row's group; the groups are whole.

        Raises:
            UnscoredError: too many rows of as many groups as a step has are unscored.
            RunError: more groups than the config allows came for one step, and too many were thrown away.
        """
        values = self._values(scores, groups)
        members: dict[str, list[int]] = {}
        for row, group in enumerate(groups):
            members.setdefault(group, []).append(row)
        judged = {g: _common(values[rows], scores.unscored[rows]) for g, rows in members.items()}
        self._judged += len(judged)
        self._rows += len(values)
        self._sum += float(values.sum())
        self._unscored_rows += int(scores.unscored.sum())
        self._unscored += sum(value is not None and math.isnan(value) for value in judged.values())
        self._equal += [value for value in judged.values() if value is not None and not math.isnan(value)]
        self._low = min(self._low, float(values.min(initial=math.inf)))
        self._high = max(self._high, float(values.max(initial=-math.inf)))
        self._check(scores)
        return judged

    def _values(self, scores: Scores, groups: Sequence[str]) -> Floats:
        """What decides, a number a row. A row that the metric has nothing to say about counts with its total."""
        total = fill_unscored(scores, groups)
        if self.metric == TOTAL:
            return total
        own = scores.values[self.metric]
        return np.where(np.isfinite(own), own, total)

    def _check(self, scores: Scores) -> None:
        if self._judged >= self.prompts and self._unscored_rows > self.unscored_limit * self._rows:
            reason = scores.first_reason()
            raise UnscoredError(
                f"{self._unscored_rows} of {self._rows} responses could not be scored, and the limit is "
                f"{self.unscored_limit:.0%}: dynamic sampling would go on for new prompts without end"
                + (f"\nfirst reason: {reason.strip()}" if reason else ""),
                hint="mend the term or the data; `unscored_limit` raises the limit where such rows are expected",
            )
        thrown = len(self._equal) + self._unscored
        if self.most and self._judged >= self.most * self.prompts and self._judged - thrown < self.prompts:
            lowest, highest = self._ends()
            raise RunError(
                f"{thrown} of {self._judged} groups for one step taught nothing ({lowest} all at the lowest "
                f"{self.metric}, {highest} all at the highest, {self._unscored} unscored), and "
                f"algorithm.filter_groups.max_num_gen_batches is {self.most}",
                hint="prompts of another difficulty, a larger rollout.n, or a larger max_num_gen_batches (0: no limit)",
            )

    def _ends(self) -> tuple[int, int]:
        """How many of the groups of equal rows are at the lowest and at the highest value that was seen."""
        equal = np.asarray(self._equal)
        return int(near(equal, np.full(len(equal), self._low)).sum()), int(
            (near(equal, np.full(len(equal), self._high)) & (self._high > self._low)).sum()
        )

    def metrics(self, prefix: str) -> dict[str, float]:
        """What was thrown away since the last call, and why, and the mean of all rows; then it counts anew."""
        if not self._judged:
            return {}
        lowest, highest = self._ends()
        counts = {
            "judged": self._judged,
            "thrown_away": len(self._equal) + self._unscored,
            "share": (len(self._equal) + self._unscored) / self._judged,
            "all_lowest": lowest,
            "all_highest": highest,
            "all_between": len(self._equal) - lowest - highest,
            "unscored": self._unscored,
            "mean": self._sum / self._rows,
        }
        self._judged = self._rows = self._unscored_rows = self._unscored = 0
        self._sum = 0.0
        self._equal, self._low, self._high = [], math.inf, -math.inf
        return {f"{prefix}/groups/{name}": float(count) for name, count in counts.items()}


def counts_of(judged: Mapping[str, float | None]) -> Counter[float]:
    """How many groups of equal rows have which value."""
    return Counter(value for value in judged.values() if value is not None and not math.isnan(value))


def _common(values: Floats, unscored: Any) -> float | None:
    if unscored.all():
        return math.nan
    return float(values[0]) if len(values) > 1 and near(values.min(), values.max()) else None
