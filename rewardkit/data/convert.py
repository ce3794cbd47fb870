"""From a source of problems to verl's parquet files: every row checked, then all of it written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rewardkit.algebra.expression import Expression
from rewardkit.algebra.parse import parse
from rewardkit.data.check import ground_truth_faults
from rewardkit.data.parquet import verl_row, write_parquet
from rewardkit.data.rows import Problem, Row, refuse, short
from rewardkit.data.shapes import Shape
from rewardkit.data.shapes.math import GSM8K
from rewardkit.data.sources import open_source
from rewardkit.errors import BadRow, DataError

Good = list[tuple[Row, Problem]]
Bad = list[tuple[str, BadRow]]


@dataclass(frozen=True, slots=True)
class Written:
    """What a conversion wrote.

    Attributes:
        files: rows by file.
        notes: what a reader of the rows would want to know.
    """

    files: dict[Path, int]
    notes: tuple[str, ...]


def convert(
    source: str,
    out: Path,
    *,
    shape: Shape = GSM8K,
    reward: Expression | None = None,
    data_source: str | None = None,
    split: str | None = None,
    limit: int | None = None,
    skip_bad: bool = False,
    prepare: Callable[[list[Row]], list[Row]] | None = None,
) -> Written:
    """Write `OUT/SPLIT.parquet` for every split that a source offers.

    Args:
        source: FILE, HUB_ID or reasoning-gym:DATASET.
        out: the folder.
        shape: how its rows become problems.
        reward: the formula that must be able to grade every ground truth; None: the shape's own, if it has one.
        data_source: the label of the rows; None: the hub's id, or the shape's own.
        split: only this split; for a file, the split that it is.
        limit: at most so many rows a split.
        skip_bad: leave rows out that are not usable, and note them.
        prepare: makes rows of a split's rows before they become problems.

    Raises:
        DataError: rows that are not usable, all named; then nothing is written.
        MissingDependencyError: the source's package or pyarrow is not installed.
    """
    if out.exists() and not out.is_dir():
        raise DataError(f"--out {out} is a file; expected a folder")
    opened = open_source(source, split, limit)
    given = Path(source).expanduser()
    for path in (out / f"{name}.parquet" for name in opened.splits):
        if path.exists() and given.exists() and path.samefile(given):
            raise DataError(f"--out {out} would replace {given}, which is read; expected another folder")
    label = data_source or opened.data_source or shape.data_source
    total = sum(map(len, opened.splits.values()))
    if reward is None and shape.reward is not None and opened.problem is None:
        reward = parse(shape.reward)
    bad: Bad = []
    files: dict[Path, list[dict[str, Any]]] = {}
    notes: list[str] = []
    for name, rows in opened.splits.items():
        good = _problems(prepare(rows) if prepare else rows, opened.problem or shape.problem, reward, bad)
        if shape.unique:
            good = _once(good, notes)
        notes += _repeats(good)
        files[out / f"{name}.parquet"] = [
            verl_row(p, data_source=label, ability=shape.ability, split=name, index=i) for i, (_, p) in enumerate(good)
        ]
    if bad and not (skip_bad and any(files.values())):
        raise refuse(bad, total)
    empty = [path.stem for path, rows_of in files.items() if not rows_of]
    if empty:
        raise DataError(f"the source has no rows{f' in {empty[0]}' if total else ''}; nothing was written")
    write_parquet(files)
    if bad:
        notes.append(f"{len(bad):,} of {total:,} rows are not usable and left out; the first: {bad[0][0]}: {bad[0][1]}")
    return Written({path: len(written) for path, written in files.items()}, tuple(notes))


def _problems(rows: list[Row], problem: Callable[[object], Problem], reward: Expression | None, bad: Bad) -> Good:
    good = []
    for row in rows:
        try:
            good.append((row, problem(row.value)))
        except BadRow as why:
            bad.append((row.where, why))
    if reward is None:
        return good
    faults = ground_truth_faults(reward, [p.ground_truth for _, p in good])
    bad += [(good[i][0].where, BadRow(f"{term}: {reason}")) for i, (term, reason) in faults.items()]
    return [one for i, one in enumerate(good) if i not in faults]


def _once(rows: Good, notes: list[str]) -> Good:
    kept: dict[tuple[str, str], tuple[Row, Problem]] = {}
    for row, p in rows:
        kept.setdefault((p.key, p.ground_truth), (row, p))
    if left_out := len(rows) - len(kept):
        notes.append(f"{left_out:,} of {len(rows):,} rows repeat others and are left out")
    return list(kept.values())


def _repeats(rows: Good) -> list[str]:
    """A note on questions that come twice with different ground truths: one of the two ground truths is wrong."""
    seen: dict[str, tuple[Row, Problem]] = {}
    notes = []
    for row, problem in rows:
        first_row, first = seen.setdefault(problem.key, (row, problem))
        if first.ground_truth != problem.ground_truth:
            notes.append(
                f"{row.where} asks the same as {first_row.where}, with the ground truth "
                f"{_plain(problem.ground_truth)} instead of {_plain(first.ground_truth)}"
            )
    return notes


def _plain(ground_truth: str) -> str:
    return ground_truth if len(ground_truth) <= 40 and ground_truth.isprintable() else short(ground_truth)
