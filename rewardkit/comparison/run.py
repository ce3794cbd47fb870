"""From rows to a comparison: one pass in chunks, then the order of what was paid.

Texts are forgotten with their chunk. What is held is numbers, whatever the order of the rows: for each row two totals,
its group and, where both sides are formulas, a number for each part; for each group some 100 bytes.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from rewardkit.batch import Batch, Floats
from rewardkit.comparison.orders import Codes, best_changes, in_groups, near, pairs, spearman
from rewardkit.comparison.result import Comparison, Difference, Groups, TermChange
from rewardkit.comparison.sides import FLOOR, Paid, Side, matched
from rewardkit.errors import DataError
from rewardkit.report.texts import kept
from rewardkit.scoring.fields import SPELLINGS, groups_of
from rewardkit.scoring.files import data_files
from rewardkit.scoring.reading import Chunk, Rows
from rewardkit.scoring.run import RequiredFields, columns, read
from rewardkit.scoring.tally import Moments

MOST: Final = 20
"""Differences that are kept."""
_ALSO_READ: Final = ("response", "ground_truth", "prompt", "group")
"""Fields of a row that are read whether a side needs them or not, where the file has them."""


def compare(
    old: Side,
    new: Side,
    data: Path,
    *,
    step: int | None = None,
    limit: int | None = None,
    progress: Callable[[float, int], object] | None = None,
) -> Comparison:
    """What changes where `new` takes the place of `old`.

    Args:
        old: what pays today.
        new: what might.
        data: rows with responses, as :func:`rewardkit.scoring.score_file` reads them.
        step: the training step, for schedules; None takes each schedule's first value.
        limit: the first so many rows only; a group that is begun is finished if a side compares its rows.
        progress: told the share of the files that is read, and the rows compared.

    Raises:
        DataError: rows that can't be read or lack what a side needs; no rows.
        CompileError: a formula needs groups, and none came.
        MissingDependencyError: parquet without pyarrow.
    """
    tally = _Found((old, new))
    for part in parts_of((old, new), data, step=step, limit=limit):
        tally.add(part)
        if progress is not None:
            progress(part.done, tally.rows)
    return tally.comparison()


@dataclass(frozen=True, slots=True)
class Part:
    """Rows that are paid together.

    Attributes:
        source: the file.
        chunk: the rows.
        batch: the same, as sides take them.
        truths: the ground truth of each row, whether a side needs it or not.
        codes: shape (n,): equal for the rows of one group over all files; -1 where a row has none.
        done: the share of the files that has been read.
    """

    source: Rows
    chunk: Chunk
    batch: Batch
    truths: Sequence[Any]
    codes: Codes
    done: float


def parts_of(sides: Sequence[Side], data: Path, *, step: int | None, limit: int | None) -> Iterator[Part]:
    """The rows of files, with what each side needs of them.

    Raises:
        DataError: rows that can't be read or lack what a side needs; no rows.
        MissingDependencyError: parquet without pyarrow.
    """
    fields = RequiredFields(
        tuple(f for f in SPELLINGS if any(f in s.required.fields for s in sides)),
        frozenset().union(*(s.required.needed for s in sides)),
        any(s.required.whole for s in sides),
    )
    files = data_files(data)
    code_of: dict[int, int] = {}
    left, empty = limit, True
    for number, path in enumerate(files):
        if left is not None and left <= 0:
            break
        source = _Rows(path, tuple(dict.fromkeys((*fields.fields, *_ALSO_READ))))
        for chunk in read(source, fields, left):
            given = columns(source, chunk, fields.fields)
            batch = Batch(**given, step=step)
            truths = batch.ground_truths or columns(source, chunk, ["ground_truth"])["ground_truths"]
            prompts = batch.prompts or columns(source, chunk, ["prompt"])["prompts"]
            groups = groups_of(chunk.rows, prompts)
            names = [
                None if g is None else hash((number, row.get("step"), g))
                for g, row in zip(groups, chunk.rows, strict=True)
            ]
            codes = [-1 if name is None else code_of.setdefault(name, len(code_of)) for name in names]
            done = (number + chunk.done) / len(files)
            yield Part(source, chunk, batch, truths, np.array(codes, dtype=np.int64), done)
            left, empty = None if left is None else left - len(chunk.rows), False
    if empty:
        raise DataError(f"{data} has no rows")


class _Rows(Rows):
    """A file of which the training step is read too: a prompt that comes back later is another group."""

    def _columns(self, schema: Any) -> list[str]:
        return [*super()._columns(schema), *({"step"} & set(schema.names))]


class _Found:
    """All that is counted, as chunks come."""

    def __init__(self, sides: tuple[Side, Side]) -> None:
        self.sides = sides
        self.rows = 0
        self._scored = np.zeros(4, dtype=np.int64)  # by neither, the old, the new, both
        self._reasons: list[str | None] = [None, None]
        self._pay = (Moments(), Moments())
        self._totals: list[tuple[Floats, Floats]] = []
        self._codes: list[Codes] = []
        self._changes: list[Any] = []  # shape (labels, rows), float32
        self._largest: list[tuple[float, int, Difference]] = []
        self._names = matched(*sides)
        self._labels = tuple(dict.fromkeys(self._names[label] for side in sides for label in side.labels))
        self._of = tuple({self._names[label] for label in side.labels} for side in sides)
        self._sums = np.zeros((len(self._labels), 3))  # old, new, and where the rows are paid differently
        self._changed = np.zeros(len(self._labels), dtype=np.int64)
        self._with = np.zeros((len(self._labels), 3))  # of a part p and the difference d: p, p * p, p * d
        self._d = np.zeros(2)  # d, d * d
        self._different = 0

    @property
    def _both_formulas(self) -> bool:
        return all(side.is_formula for side in self.sides)

    def add(self, part: Part) -> None:
        """Take in rows."""
        source, chunk, batch, truths = part.source, part.chunk, part.batch, part.truths
        old, new = (self._paid(side, batch) for side in self.sides)
        self.rows += len(batch)
        has = [~np.isnan(paid.total) for paid in (old, new)]
        self._scored += np.bincount(has[0] + 2 * has[1], minlength=4)
        for i, paid in enumerate((old, new)):
            if self._reasons[i] is None and paid.reasons:
                row = min(paid.reasons)
                self._reasons[i] = f"{source.where(chunk.numbers[row])}: {paid.reasons[row]}"
        rows = np.flatnonzero(has[0] & has[1])
        a, b = old.total[rows], new.total[rows]
        for moments, values in zip(self._pay, (a, b), strict=True):
            moments.add(values, np.zeros(len(rows), dtype=np.int8))
        self._totals.append((a, b))
        self._codes.append(part.codes[rows])
        differ = ~near(a, b)
        self._different += int(differ.sum())
        self._add_parts(old, new, rows, b - a, differ)
        for at in np.flatnonzero(differ)[np.argsort(-np.abs(b - a)[differ], kind="stable")][:MOST].tolist():
            self._keep(source, chunk, int(rows[at]), old, new, batch, truths)

    def _paid(self, side: Side, batch: Batch) -> Paid:
        paid = side.pay(batch)
        return replace(paid, parts={self._names[label]: values for label, values in paid.parts.items()})

    def _add_parts(self, old: Paid, new: Paid, rows: Any, d: Floats, differ: Any) -> None:
        nothing = np.zeros(len(rows))
        changes = np.zeros((len(self._labels), len(rows)), dtype=np.float32)
        for i, label in enumerate(self._labels):
            was, now = (p.parts[label][rows] if label in p.parts else nothing for p in (old, new))
            change = now - was
            cause = change if self._both_formulas else now if label in new.parts else was
            shown = now if label in new.parts else was
            self._sums[i] += (was.sum(), now.sum(), shown[differ].sum())
            self._changed[i] += int((~near(was, now)).sum())
            self._with[i] += (cause.sum(), cause @ cause, cause @ d)
            changes[i] = change
        self._d += (d.sum(), d @ d)
        if self._both_formulas:
            self._changes.append(changes)

    def _keep(
        self, source: Rows, chunk: Chunk, row: int, old: Paid, new: Paid, batch: Batch, truths: Sequence[Any]
    ) -> None:
        size = abs(float(new.total[row] - old.total[row]))
        if len(self._largest) == MOST and size <= self._largest[0][0]:
            return
        parts = {
            label: tuple(float(p.parts[label][row]) if label in p.parts else None for p in (old, new))
            for label in self._labels
            if label != FLOOR or any(p.parts.get(label, np.zeros(row + 1))[row] for p in (old, new))
        }
        difference = Difference(
            source.where(chunk.numbers[row]),
            kept(batch.responses[row]),
            truths[row],
            float(old.total[row]),
            float(new.total[row]),
            parts,  # type: ignore[arg-type]
        )
        heapq.heappush(self._largest, (size, -self.rows - row, difference))
        if len(self._largest) > MOST:
            heapq.heappop(self._largest)

    def comparison(self) -> Comparison:
        """What it comes to."""
        a, b = (np.concatenate([pair[i] for pair in self._totals]) for i in (0, 1))
        codes = np.concatenate(self._codes)
        groups, blamed = self._groups(a, b, codes)
        n = len(a)
        return Comparison(
            old=self.sides[0].name,
            new=self.sides[1].name,
            rows=self.rows,
            both=int(self._scored[3]),
            only_old=int(self._scored[1]),
            only_new=int(self._scored[2]),
            neither=int(self._scored[0]),
            reasons=(self._reasons[0], self._reasons[1]),
            totals=self._pay,
            different=self._different,
            mean_change=float(self._d[0]) / n if n else math.nan,
            largest=tuple(d for _, _, d in sorted(self._largest, key=lambda kept: (-kept[0], -kept[1]))),
            spearman=spearman(a, b),
            groups=groups,
            terms=self._terms(n, blamed),
        )

    def _groups(self, a: Floats, b: Floats, codes: Codes) -> tuple[Groups | None, Any]:
        blamed = np.zeros(len(self._labels), dtype=np.int64)
        rows = np.flatnonzero(codes >= 0)
        if not len(rows):
            return None, blamed
        a, b, codes = a[rows], b[rows], codes[rows]
        old, new = in_groups(a, codes), in_groups(b, codes)
        signs = np.sign(old.centred), np.sign(new.centred)
        turned = np.flatnonzero(signs[0] * signs[1] < 0)
        if len(turned) and self._both_formulas:
            blamed = self._blamed(rows, codes, turned, signs[1][turned])
        grouped = pairs(a[old.member], b[old.member], codes[old.member])
        return (
            Groups(
                groups=old.groups,
                rows=int(old.member.sum()),
                best_changes=best_changes(old, new, codes),
                dead_old=old.dead,
                dead_new=new.dead,
                sign_changes=len(turned),
                appear=int(((signs[0] == 0) & (signs[1] != 0)).sum()),
                vanish=int(((signs[0] != 0) & (signs[1] == 0)).sum()),
                pairs=grouped,
            ),
            blamed,
        )

    def _blamed(self, rows: Any, codes: Codes, turned: Any, direction: Floats) -> Any:
        """By label, how many of the advantages that changed sign it pushed most."""
        pushes = np.empty((len(self._labels), len(turned)))
        for i in range(len(self._labels)):
            change = np.concatenate([part[i] for part in self._changes])[rows].astype(np.float64)
            pushes[i] = in_groups(change, codes).centred[turned] * direction
        return np.bincount(pushes.argmax(axis=0), minlength=len(self._labels))

    def _terms(self, n: int, blamed: Any) -> dict[str, TermChange]:
        changes: dict[str, TermChange] = {}
        both = self._both_formulas
        spread = self._d[1] - self._d[0] ** 2 / n if n else 0.0
        for i, label in enumerate(self._labels):
            old, new, where = (float(x) for x in self._sums[i])
            if label == FLOOR and not (old or new):
                continue
            p, pp, pd = self._with[i]
            along = pd - p * self._d[0] / n if n else 0.0
            own = pp - p * p / n if n else 0.0
            varies = spread > 1e-12 and own > 1e-12
            changes[label] = TermChange(
                old=old / n if n and label in self._of[0] else None,
                new=new / n if n and label in self._of[1] else None,
                where_different=where / self._different if self._different else math.nan,
                rows=int(self._changed[i]) if both else None,
                of_difference=float(along / spread) if both and spread > 1e-12 else None,
                correlation=float(along / math.sqrt(spread * own)) if varies else math.nan,
                sign_changes=int(blamed[i]) if both else None,
            )
        return changes
