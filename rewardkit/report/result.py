"""What a dump comes to: everything that the terminal, the JSON and the page show."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rewardkit.batch import Floats
from rewardkit.report.endings import Ending
from rewardkit.report.extremes import Paid
from rewardkit.report.sample import Numbers
from rewardkit.report.similar import Cluster
from rewardkit.report.steps import Timeline, dead_of, term_of, total_of, words_of
from rewardkit.scoring.tally import Moments


@dataclass(frozen=True)
class GroupCount:
    """The groups of a dump.

    Attributes:
        groups: groups of two scored responses or more.
        dead: how many of them are paid the same throughout.
        lowest: how many of the dead are paid the least that anything was.
        highest: how many are paid the most, where that is more than the least.
        agreement: the mean correlation of totals and logged advantages in a group; NaN where none are logged.
    """

    groups: int
    dead: int
    lowest: int
    highest: int
    agreement: float

    @property
    def share(self) -> float:
        """Dead groups among all."""
        return self.dead / self.groups if self.groups else math.nan


@dataclass(frozen=True)
class Relations:
    """What goes with what, within training steps.

    Attributes:
        names: the total, the terms that vary, the length.
        matrix: the correlation of each with each; NaN where it can't be told.
    """

    names: tuple[str, ...]
    matrix: Floats

    def of(self, a: str, b: str) -> float:
        """A correlation; NaN where it can't be told."""
        if a not in self.names or b not in self.names:
            return math.nan
        return float(self.matrix[self.names.index(a), self.names.index(b)])


@dataclass(frozen=True, slots=True)
class Note:
    """Something that a person should look at.

    Attributes:
        code: its kind.
        message: what, with the numbers.
    """

    code: str
    message: str


TOTAL = "total"
WORDS = "words"


@dataclass(frozen=True)
class RolloutReport:
    """A dump of rollouts, summed up.

    Attributes:
        path: the file or folder.
        layout: who wrote it.
        formula: whose terms are shown, where they were worked out afterwards.
        files: how many.
        rows: how many responses.
        unscored: how many of them have no total.
        total: its moments.
        terms: each term's moments and statuses.
        words: the lengths of the responses; without values where there are no texts.
        steps: the same by training step; empty where the dump knows no steps.
        numbers: an even sample of rows: `total`, `words`, `step`, and each term.
        groups: groups and dead groups; None where groups can't be told.
        relations: correlations.
        best: the best-paid texts.
        worst: the worst-paid texts.
        high: what counts as paid well: the upper quartile, or the mean where that is more.
        clusters: near-duplicates that are paid well, the largest first.
        sampled: how many texts were compared for them.
        endings: endings that many responses share.
        compared: rows with a logged total and one by the formula.
        differ: of these, how many differ.
        notes: what to look at first.
    """

    path: str
    layout: str
    formula: str | None
    files: int
    rows: int
    unscored: int
    total: Moments
    terms: Mapping[str, Moments]
    words: Moments
    steps: Timeline
    numbers: Numbers
    groups: GroupCount | None
    relations: Relations
    best: tuple[Paid, ...]
    worst: tuple[Paid, ...]
    high: float
    clusters: tuple[Cluster, ...]
    sampled: int
    endings: tuple[Ending, ...]
    compared: int
    differ: int
    notes: tuple[Note, ...] = ()

    @property
    def has_texts(self) -> bool:
        """Whether the texts were at hand."""
        return self.words.count > 0

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON. What is not a number is None."""
        return {
            "path": self.path,
            "layout": self.layout,
            "formula": self.formula,
            "files": self.files,
            "rows": self.rows,
            "unscored": self.unscored / self.rows,
            "notes": [{"code": n.code, "message": n.message} for n in self.notes],
            TOTAL: self._moments(TOTAL, self.total),
            "terms": {name: self._moments(name, m) for name, m in self.terms.items()},
            WORDS: self._moments(WORDS, self.words) if self.has_texts else None,
            "groups": None if self.groups is None else _groups(self.groups),
            "correlations": {"of": list(self.relations.names), "matrix": _rows(self.relations.matrix.tolist())},
            "steps": [self._step(step) for step, _ in self.steps.items()],
            "best": [_paid(p) for p in self.best],
            "worst": [_paid(p) for p in self.worst],
            "near_duplicates": {
                "compared": self.sampled,
                "paid_at_least": number(self.high),
                "clusters": [_cluster(c) for c in self.clusters],
            },
            "endings": [_ending(e) for e in self.endings],
            "formula_compared": {"rows": self.compared, "differ": self.differ} if self.formula else None,
        }

    def first_and_last(self, name: str) -> tuple[float, float]:
        """The mean of a column over the first and the last steps."""
        of = {TOTAL: total_of, WORDS: words_of}
        return self.steps.first_and_last(of[name] if name in of else term_of(name))

    def _moments(self, name: str, moments: Moments) -> dict[str, Any]:
        first, last = self.first_and_last(name)
        statistics = {**moments.as_dict(), "first_steps": number(first), "last_steps": number(last)}
        if name not in self.terms:
            del statistics["status"]
        return statistics

    def _step(self, step: int) -> dict[str, Any]:
        tally = self.steps[step]
        dead, groups = dead_of(tally)
        return {
            "step": step,
            "rows": tally.rows,
            TOTAL: number(tally.total.mean),
            "std": number(tally.total.std),
            WORDS: number(tally.words.mean),
            "terms": {name: number(m.mean) for name, m in tally.terms.items()},
            "groups": groups,
            "dead_groups": dead,
        }


def number(value: float) -> float | None:
    """A number for JSON, which knows no NaN."""
    return float(value) if math.isfinite(value) else None


def _rows(matrix: Sequence[Sequence[float]]) -> list[list[float | None]]:
    return [[number(value) for value in row] for row in matrix]


def _groups(g: GroupCount) -> dict[str, Any]:
    counts = {"groups": g.groups, "dead": g.dead, "share": number(g.share)}
    return {**counts, "dead_at_lowest": g.lowest, "dead_at_highest": g.highest, "advantages_agree": number(g.agreement)}


def _paid(p: Paid) -> dict[str, Any]:
    return {
        "where": p.where,
        "step": p.step,
        "total": number(p.total),
        "terms": {name: {"value": number(v), "status": status or "scored"} for name, (v, status) in p.terms.items()},
        "text": p.text,
        "characters": p.characters,
        "prompt": p.prompt,
        "gold": p.ground_truth,
    }


def _cluster(c: Cluster) -> dict[str, Any]:
    return {
        "count": len(c.members),
        "paid": number(c.mean),
        "std": number(c.spread),
        "prompts": c.prompts,
        "first_step": c.first,
        "text": c.members[0].text,
    }


def _ending(e: Ending) -> dict[str, Any]:
    return {
        "ending": e.text,
        "count": e.count,
        "paid": number(e.mean),
        "several_prompts": e.across,
        "first_step": e.first,
    }
