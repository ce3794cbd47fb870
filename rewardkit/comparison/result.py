"""What a comparison found, as plain numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rewardkit.comparison.orders import Pairs
from rewardkit.scoring.tally import Moments


@dataclass(frozen=True, slots=True)
class Difference:
    """A row that is paid differently.

    Attributes:
        where: the row, by file and line.
        response: its text; a long one without its middle.
        ground_truth: its ground truth.
        old: what the old side pays.
        new: what the new side pays.
        parts: by label, what the old side and the new side pay for this part; None where a side has no such part.
    """

    where: str
    response: str
    ground_truth: Any
    old: float
    new: float
    parts: Mapping[str, tuple[float | None, float | None]]


@dataclass(frozen=True, slots=True)
class TermChange:
    """What changes for one part of a formula, over the rows that both sides score.

    Attributes:
        old: its mean pay by the old side; None where that has no such part.
        new: its mean pay by the new side.
        where_different: its mean pay on the rows that are paid differently: the new side's, or else the old side's.
        rows: rows on which it pays differently; None where only one side is a formula.
        of_difference: the share of the variance of the whole difference that goes with it; the shares of all labels add
            up to 1. None where nothing differs, or only one side is a formula.
        correlation: of what it pays (its change, if both sides are formulas) with the whole difference; NaN where one
            of them doesn't vary.
        sign_changes: advantages that change sign, and this part pushes them most; None where one side is not a formula.
    """

    old: float | None
    new: float | None
    where_different: float
    rows: int | None
    of_difference: float | None
    correlation: float
    sign_changes: int | None


@dataclass(frozen=True, slots=True)
class Groups:
    """What changes for the groups of a prompt, over the rows that both sides score.

    Attributes:
        groups: groups of two rows or more.
        rows: the rows in them.
        best_changes: groups in which no response that the old side pays best is one that the new side pays best.
        dead_old: groups whose responses the old side all pays the same, so that GRPO learns nothing.
        dead_new: the same of the new side.
        sign_changes: rows whose advantage has the other sign.
        appear: rows whose advantage was zero and is not.
        vanish: rows whose advantage was not zero and is.
        pairs: how the two sides order the responses of a prompt.
    """

    groups: int
    rows: int
    best_changes: int
    dead_old: int
    dead_new: int
    sign_changes: int
    appear: int
    vanish: int
    pairs: Pairs


@dataclass(frozen=True)
class Comparison:
    """Two rewards on the same rows.

    Attributes:
        old: the name of the old side.
        new: the name of the new side.
        rows: the rows that were read.
        both: the rows that both sides score. All that follows is about these, but for the unscored.
        only_old: rows that only the old side scores.
        only_new: rows that only the new side scores.
        neither: rows that neither side scores.
        reasons: why the first row is unscored, of each side; None where that is not known.
        totals: mean, spread and range of each side's pay.
        different: rows that are paid differently.
        mean_change: the mean of the new pay less the old.
        largest: the largest differences, the largest first.
        spearman: the rank correlation of the two totals; NaN where one of them doesn't vary.
        groups: None where the rows have no groups and no prompts.
        terms: by label; empty where no side is a formula.
    """

    old: str
    new: str
    rows: int
    both: int
    only_old: int
    only_new: int
    neither: int
    reasons: tuple[str | None, str | None]
    totals: tuple[Moments, Moments]
    different: int
    mean_change: float
    largest: tuple[Difference, ...]
    spearman: float
    groups: Groups | None
    terms: Mapping[str, TermChange]

    @property
    def differs(self) -> bool:
        """Whether any row is paid differently, or scored by one side only."""
        return bool(self.different or self.only_old or self.only_new)

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON: None where a number doesn't exist."""
        return {
            "old": self.old,
            "new": self.new,
            "rows": self.rows,
            "scored_by": {"both": self.both, "old": self.only_old, "new": self.only_new, "neither": self.neither},
            "first_unscored": {"old": self.reasons[0], "new": self.reasons[1]},
            "pay": {side: _pay(m) for side, m in zip(("old", "new"), self.totals, strict=True)},
            "paid_differently": {
                "rows": self.different,
                "share": share(self.different, self.both),
                "mean_change": _number(self.mean_change),
                "largest": [
                    {
                        "where": d.where,
                        "response": d.response,
                        "ground_truth": d.ground_truth,
                        "old": d.old,
                        "new": d.new,
                        "terms": {k: {"old": a, "new": b} for k, (a, b) in d.parts.items()},
                    }
                    for d in self.largest
                ],
            },
            "spearman": _number(self.spearman),
            "groups": None if self.groups is None else _groups(self.groups),
            "terms": {
                label: {
                    "old": t.old,
                    "new": t.new,
                    "where_different": _number(t.where_different),
                    "rows": t.rows,
                    "of_difference": t.of_difference,
                    "correlation": _number(t.correlation),
                    "sign_changes": t.sign_changes,
                }
                for label, t in self.terms.items()
            },
        }


def share(part: int, whole: int) -> float | None:
    """A share; None of nothing."""
    return part / whole if whole else None


def _groups(g: Groups) -> dict[str, Any]:
    turned = g.pairs.turned + g.pairs.only_a + g.pairs.only_b
    return {
        "groups": g.groups,
        "rows": g.rows,
        "best_changes": {"groups": g.best_changes, "share": share(g.best_changes, g.groups)},
        "dead": {"old": g.dead_old, "new": g.dead_new},
        "advantages": {
            "sign_changes": g.sign_changes,
            "share": share(g.sign_changes, g.rows),
            "appear": g.appear,
            "vanish": g.vanish,
        },
        "pairs": {
            "alike": g.pairs.alike,
            "turned": g.pairs.turned,
            "ordered_by_old_only": g.pairs.only_a,
            "ordered_by_new_only": g.pairs.only_b,
            "share_turned": share(g.pairs.turned, g.pairs.alike + turned),
        },
        "kendall": _number(g.pairs.kendall),
    }


def _pay(moments: Moments) -> dict[str, float | None]:
    statistics = moments.as_dict()
    return {key: statistics[key] for key in ("mean", "std", "min", "max")}


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
