"""Before a run: the rows whose ground truth the formula's answer terms can't grade, and the rows that no route takes.

Such rows cost rollouts and teach nothing: every response to them is unscored. A term is the judge of its own ground
truths: it is run on an empty response, and what it calls BAD_GOLD is reported. Of a term that isn't built in only a
missing ground truth is known. Streams, in memory that doesn't grow; no trainer may enter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from rewardkit.algebra.expression import Expression
from rewardkit.algebra.operations.choice import Route
from rewardkit.algebra.term import Cost
from rewardkit.answers.math_grade import formula_fault
from rewardkit.batch import Batch, Status
from rewardkit.data.whole_file import WholeFile
from rewardkit.diagnostics import Diagnostic, Severity, register
from rewardkit.engine.term_runner import run_term
from rewardkit.errors import DataError, listed
from rewardkit.scoring.fields import SPELLINGS, BadRowAt, column
from rewardkit.scoring.groups import first_rows
from rewardkit.scoring.reading import Chunk, Rows

_NUMBER: Final = "a number, or a solution that ends in `#### N`"
_EXPECTED: Final[Mapping[str, str]] = {
    "gsm8k": _NUMBER,
    "numeric": _NUMBER,
    "choice": "an option's letter, such as C or (C) Paris",
    "exact": "text, or a list of texts",
    "code_tests": "tests in one of the shapes of docs/code.md",
    "math_equal": "a formula, a number or words, or a solution that marks one",
}
"""What the terms take as a ground truth, for messages."""


register(
    "data check",
    {
        "bad-ground-truth": (Severity.ERROR, "A term of the formula can't grade the row's ground truth."),
        "no-route": (Severity.ERROR, "No `route` of the formula takes the row, and it has no `otherwise`."),
    },
)


@dataclass(frozen=True, slots=True)
class RowDiagnostic(Diagnostic):
    """A row that a part of the formula can't score, whatever the response.

    ``where`` is ``FILE:LINE``, or ``FILE:row N`` of parquet.

    Attributes:
        row: the line, or the row of parquet; both from 1.
        term: the term that can't grade the row's ground truth, or ``route``.
    """

    row: int = 0
    term: str = ""

    @property
    def text(self) -> str:
        """The place, the term and the message."""
        return f"{self.where}: {self.term}: {self.message}"


@dataclass(frozen=True, slots=True)
class Checked:
    """How much was looked at, and how many rows have a fault."""

    rows: int
    faulty: int


def check_file(
    reward: Expression,
    data: Path,
    report: Callable[[RowDiagnostic], object],
    *,
    whole: Callable[[Diagnostic], object] | None = None,
    limit: int | None = None,
) -> Checked:
    """Report every row of a file whose ground truth can't be graded by the reward, or that no ``route`` of it takes.

    Args:
        reward: the formula.
        data: JSON lines or parquet: a file, a pipe, or ``-``. :mod:`rewardkit.scoring.fields` says which columns are
            read.
        report: takes the diagnostics of rows, in their order.
        whole: takes those of the file as a whole, at the end; None: they are not looked for. They keep a hash of every
            row.
        limit: the first so many rows only.

    Raises:
        DataError: a file or row that can't be read, no rows, or none of the first rows has a ground truth at all.
        MissingDependencyError: parquet without pyarrow.
    """
    wanted = _fields(reward)
    read = wanted if whole is None else tuple(dict.fromkeys((*wanted, "prompt", "ground_truth")))
    source, file = Rows(data, read, unanswered=True), WholeFile()
    rows = faulty = 0
    for chunk in first_rows(source.chunks(limit), limit):
        columns = _columns(source, chunk, read)
        if whole is not None:
            file.add(chunk.rows, chunk.numbers, columns["prompt"], columns["ground_truth"])
        if (
            not rows
            and "ground_truth" in wanted
            and not any(isinstance(row.get("reward_model"), str) for row in chunk.rows)
            and all(ground_truth is None for ground_truth in columns["ground_truth"])
        ):
            raise _no_truths(source, chunk)
        faults = _faults(reward, columns, len(chunk.rows))
        for i in sorted(faults):
            for term, reason in faults[i]:
                code = "no-route" if term == "route" else "bad-ground-truth"
                report(RowDiagnostic(code, reason, source.where(chunk.numbers[i]), row=chunk.numbers[i], term=term))
        rows += len(chunk.rows)
        faulty += len(faults)
    if not rows:
        raise DataError(f"{source.name} has no rows")
    if whole is not None:
        for diagnostic in file.diagnostics(source.name, source.where):
            whole(diagnostic)
    return Checked(rows, faulty)


def ground_truth_faults(reward: Expression, ground_truths: Sequence[Any]) -> dict[int, tuple[str, str]]:
    """For each ground truth that the reward can't grade, by its place: the first term that can't, and why."""
    faults = _faults(reward, {"ground_truth": list(ground_truths)}, len(ground_truths))
    return {i: next(iter(faults[i])) for i in sorted(faults)}


def _fields(reward: Expression) -> tuple[str, ...]:
    """What of a row is looked at: its ground truth, and what routes go by."""
    fields: set[str] = set()
    for node in reward.walk():
        if isinstance(node.operation, Route):
            fields |= node.operation.needs()
        elif _reads_ground_truth(node):
            fields.add("ground_truth")
    return tuple(field for field in SPELLINGS if field in fields)


def _reads_ground_truth(node: Expression) -> bool:
    return node.term is not None and "ground_truth" in node.term.needs(node)


def _columns(source: Rows, chunk: Chunk, fields: Sequence[str]) -> dict[str, list[Any]]:
    try:
        return {field: column(chunk.rows, field) for field in fields}
    except BadRowAt as why:
        raise source.error(chunk.numbers[why.index], why) from None


def _no_truths(source: Rows, chunk: Chunk) -> DataError:
    names = " or ".join(f"`{'.'.join(path)}`" for path in SPELLINGS["ground_truth"])
    if source.is_parquet and not chunk.rows[0]:
        has = "it has no such column"
    else:
        has = f"the first row's fields are {listed(chunk.rows[0])}"
    return DataError(
        f"the formula grades against a ground truth, and none of the first {len(chunk.rows):,} rows of "
        f"{source.name} has one: "
        f"{has}",
        hint=f"name it {names}",
    )


def _faults(reward: Expression, columns: Mapping[str, list[Any]], n: int) -> dict[int, dict[tuple[str, str], None]]:
    """For each faulty row its terms and reasons, each once."""
    faults: dict[int, dict[tuple[str, str], None]] = {}
    for i, term, reason in _found(reward, columns, n):
        faults.setdefault(i, {})[term, reason] = None
    return faults


def _found(reward: Expression, columns: Mapping[str, list[Any]], n: int) -> Iterator[tuple[int, str, str]]:
    keys = Batch([""] * n, data_sources=columns.get("data_source"), extra_infos=columns.get("extra_info"))
    nodes = list(reward.walk())
    reached: dict[Expression, npt.NDArray[np.bool_]] = {node: np.zeros(n, dtype=bool) for node in nodes}
    reached[reward][:] = True
    for node in reversed(nodes):  # operands stand after what they are operands of
        rows = reached[node]
        if isinstance(node.operation, Route):
            choice = node.operation.choice(node, keys)
            for k, branch in enumerate(node.args):
                reached[branch] |= rows & (choice == k)
            for i in np.flatnonzero(rows & (choice < 0)):
                yield int(i), "route", _no_route(node.operation, columns, int(i))
        else:
            for operand in node.args:
                reached[operand] |= rows
            if _reads_ground_truth(node) and rows.any():
                yield from _bad_golds(node, np.flatnonzero(rows).tolist(), columns["ground_truth"])


def _no_route(route: Route, columns: Mapping[str, list[Any]], i: int) -> str:
    by = route.by
    value = columns["data_source"][i] if by == "data_source" else columns["extra_info"][i].get(by)
    return f"no route for {by}={_short(value)}, and no `otherwise`; routes: {', '.join(map(repr, route.keys))}"


def _bad_golds(node: Expression, rows: list[int], ground_truths: Sequence[Any]) -> Iterator[tuple[int, str, str]]:
    assert node.term is not None
    name = node.term.name
    if node.term.builtin and node.term.cost is not Cost.REMOTE:
        expected = f"; expected {_EXPECTED[name]}" if name in _EXPECTED else ""
        column = run_term(node, Batch([""] * len(rows), ground_truths=[ground_truths[i] for i in rows]))
        for k, i in enumerate(rows):
            if column.statuses[k] == Status.BAD_GOLD:
                yield i, name, f"{column.reasons[k]}{expected}"
            elif name == "math_equal" and (why := formula_fault(ground_truths[i])) is not None:
                yield i, name, f"the ground truth {_short(ground_truths[i])} {why}"
    else:
        yield from ((i, name, "no ground truth") for i in rows if ground_truths[i] is None)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
