"""From a dump to its report, in one pass and in memory that does not grow with its texts."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final, TypeVar

import numpy as np

from rewardkit.batch import Floats
from rewardkit.engine.program import Program
from rewardkit.errors import DataError
from rewardkit.report.chunk import Rollouts
from rewardkit.report.endings import Endings
from rewardkit.report.extremes import Extremes
from rewardkit.report.files import open_dump
from rewardkit.report.groups import Groups
from rewardkit.report.notes import notes
from rewardkit.report.relations import matrix, within
from rewardkit.report.rescoring import Rescoring
from rewardkit.report.result import TOTAL, WORDS, GroupCount, Relations, RolloutReport
from rewardkit.report.sample import TEXTS, Kept, Numbers, Reservoir
from rewardkit.report.similar import clusters
from rewardkit.report.steps import Timeline
from rewardkit.report.texts import kept
from rewardkit.scoring.tally import Moments
from rewardkit.terms.units import word_counts

_TAKEN: Final = frozenset({TOTAL, WORDS, "step"})
"""Names of columns that every dump has; a term of that name gets another one."""
T = TypeVar("T")
_SHOWN: Final = 10
"""Clusters and endings that are reported."""
_LEAST: Final = 5
"""Responses that make a cluster, or an ending worth a line."""
_LEAST_SHARE: Final = 0.005
"""The share of the texts that they are."""


def report_on(
    path: Path,
    *,
    data: Path | None = None,
    reward: Program | None = None,
    weights: Mapping[str, float] | None = None,
    progress: Callable[[int, int, int], object] | None = None,
) -> RolloutReport:
    """Read a dump and sum it up.

    Args:
        path: a folder that verl or TRL dumped, one file of it, or the output of `rewardkit score`.
        data: the file that was scored, for the texts that scores lack.
        reward: a formula whose terms are worked out from the texts and shown in place of logged ones.
        weights: what each of TRL's rewards counts for in the total.
        progress: told the files begun, the files, and the rows read.

    Raises:
        DataError: nothing that can be read, or a row that is malformed, named by file and line.
        MissingDependencyError: parquet without pyarrow.
    """
    dump = open_dump(path, data=data, weights=weights)
    rescoring = None if reward is None else Rescoring(reward)
    tally = _Found()
    chunks = dump.chunks()
    for number, rows in chunks if rescoring is None else rescoring.chunks(chunks):
        tally.add(number, rows)
        if progress is not None:
            progress(number + 1, len(dump.sources), tally.rows)
    if not tally.total.count:
        raise DataError(f"{path}: none of {tally.rows:,} rows has a score")
    tally.close_groups()
    high = tally.high()
    paid_well = [text for text in tally.texts if text.total >= high - 1e-9]
    least = max(_LEAST, math.ceil(_LEAST_SHARE * len(tally.texts)))
    alike = [cluster for cluster in clusters(paid_well) if len(cluster.members) >= least]
    alike.sort(key=lambda cluster: (cluster.prompts == 1, -len(cluster.members)))
    report = RolloutReport(
        path=str(path),
        layout=dump.layout,
        formula=None if reward is None else repr(reward.reward),
        files=len(dump.sources),
        rows=tally.rows,
        unscored=tally.rows - tally.total.count,
        total=tally.total,
        terms=tally.terms,
        words=tally.words,
        steps=tally.steps,
        numbers=tally.numbers,
        groups=tally.group_count(),
        relations=tally.relations(),
        best=tally.best.found(),
        worst=tally.worst.found(),
        high=high,
        clusters=tuple(alike[:_SHOWN]),
        sampled=len(tally.texts),
        endings=tuple(tally.endings.found(max(_LEAST, math.ceil(_LEAST_SHARE * tally.rows)))[:_SHOWN]),
        compared=0 if rescoring is None else rescoring.compared,
        differ=0 if rescoring is None else rescoring.differ,
    )
    return replace(report, notes=notes(report))


class _Found:
    """All that is counted, as chunks come."""

    def __init__(self) -> None:
        self.rows = 0
        self.total, self.words = Moments(), Moments()
        self.terms: dict[str, Moments] = {}
        self.steps = Timeline()
        self.numbers = Numbers()
        self.texts: list[Kept] = []
        self.best, self.worst = Extremes(best=True), Extremes(best=False)
        self.endings = Endings()
        self._places = Reservoir(TEXTS)
        self._groups = Groups()
        self._grouped = False
        self._compared = 0
        self._dead = array("d")
        self._agreements = Moments()
        self._file = 0

    def add(self, file: int, rows: Rollouts) -> None:
        """Take in a chunk of a file."""
        if file != self._file:
            self.close_groups()
            self._file = file
        if not _TAKEN.isdisjoint(rows.terms):
            rows = replace(rows, terms=_renamed(rows.terms), statuses=_renamed(rows.statuses))
        n = len(rows)
        self.rows += n
        plain = np.zeros(n, dtype=np.int8)
        self.total.add(rows.total, plain)
        for name, values in rows.terms.items():
            self.terms.setdefault(name, Moments()).add(values, rows.statuses[name])
        columns: dict[str, Floats] = {TOTAL: rows.total, **rows.terms}
        words = None
        if rows.responses is not None:
            words = columns[WORDS] = word_counts(rows.responses)
            self.words.add(words, plain)
        if rows.steps is not None:
            columns["step"] = rows.steps.astype(np.float64)
            self.steps.add(rows.steps, rows.total, rows.terms, rows.statuses, words)
        self.numbers.add(columns, n)
        self._sample_texts(rows)
        for part in (self.best, self.worst, self.endings, self._groups):
            part.add(rows)
        self._grouped |= rows.groups is not None

    def _sample_texts(self, rows: Rollouts) -> None:
        if rows.responses is None:
            return
        for slot, row in sorted(self._places.place(len(rows)).items()):
            prompt = None if rows.prompts is None else rows.prompts[row]
            text = Kept(
                text=kept(rows.responses[row]),
                total=float(rows.total[row]),
                prompt=None if prompt is None else hash(prompt),
                step=None if rows.steps is None else int(rows.steps[row]),
            )
            if slot < len(self.texts):
                self.texts[slot] = text
            else:
                self.texts.append(text)

    def close_groups(self) -> None:
        """Count the groups of the file that ends here."""
        agreements = []
        for group in self._groups.close():
            if not group.compares:
                continue
            self._compared += 1
            dead = group.dead
            if dead:
                self._dead.append(group.high)
            if group.step is not None:
                tally = self.steps[group.step]
                tally.groups += 1
                tally.dead += dead
            agreements.append(group.agreement)
        self._agreements.add(np.array(agreements), np.zeros(len(agreements), dtype=np.int8))

    def group_count(self) -> GroupCount | None:
        """The groups of all files."""
        if not self._grouped:
            return None
        dead, near = np.array(self._dead), 1e-6 * max(1.0, abs(self.total.low), abs(self.total.high))
        lowest = dead <= self.total.low + near
        return GroupCount(
            groups=self._compared,
            dead=len(dead),
            lowest=int(lowest.sum()),
            highest=int(((dead >= self.total.high - near) & ~lowest).sum()),
            agreement=self._agreements.mean,
        )

    def high(self) -> float:
        """From where on a response is paid well."""
        return max(float(np.nanquantile(self.numbers.column(TOTAL), 0.75)), self.total.mean)

    def relations(self) -> Relations:
        """The total, each term that varies, and the length, within steps."""
        total = self.numbers.column(TOTAL)
        steps = self.numbers.column("step") if "step" in self.numbers else np.full(len(total), math.nan)
        columns = {TOTAL: total}
        columns |= {name: self.numbers.column(name) for name, m in self.terms.items() if m.std > 0}
        if self.words.std > 0:
            columns[WORDS] = self.numbers.column(WORDS)
        return Relations(tuple(columns), matrix([within(values, steps) for values in columns.values()]))


def _renamed(columns: Mapping[str, T]) -> dict[str, T]:
    return {f"{name} (term)" if name in _TAKEN else name: column for name, column in columns.items()}
