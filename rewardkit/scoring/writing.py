"""Scores as JSON lines, one object a row; and files that are whole or absent.

The keys of a line: `score` (null where the row is unscored), `total_status`, `terms` (each name's own value, before any
weight; null where it has none) and `status` (each name's status). A row that has a group keeps it: `group`.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import numpy as np

from rewardkit.batch import Floats, Status, Statuses
from rewardkit.engine.scores import Scores
from rewardkit.errors import DataError

_SURROGATES: Final = "backslashreplace"
"""What becomes of a lone surrogate, which JSON can hold and a file of text can't."""
_STATUS: Final = [json.dumps(status.name.lower()) for status in Status]


class Lines:
    """Turns scores into text. One template for all rows: only the numbers and the statuses differ."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        keys = [json.dumps(name).replace("%", "%%") for name in names]
        slots = ", ".join(f"{key}: %s" for key in keys)
        self._template = f'{{"score": %s, "total_status": %s, "terms": {{{slots}}}, "status": {{{slots}}}}}\n'

    def __call__(self, scores: Scores, groups: Sequence[str | int | None] | None = None) -> str:
        """One line a row, with its group where there are groups."""
        columns = [_numbers(scores.total), _statuses(scores.status)]
        columns += [_numbers(scores.values[name]) for name in self._names]
        columns += [_statuses(scores.statuses[name]) for name in self._names]
        template = self._template
        if groups is not None:
            columns.append([_group(group) for group in groups])
            template = f'{template[:-2]}, "group": %s}}\n'
        return "".join([template % row for row in zip(*columns, strict=True)])


def _group(group: object) -> str:
    try:
        return json.dumps(group, default=str, allow_nan=False)
    except ValueError:  # JSON has no NaN and no infinity
        return json.dumps(str(group))


def _numbers(values: Floats) -> list[str]:
    texts = list(map(repr, values.tolist()))
    for i in np.flatnonzero(np.isnan(values)).tolist():
        texts[i] = "null"
    return texts


def _statuses(statuses: Statuses) -> list[str]:
    return [_STATUS[s] for s in statuses.tolist()]


@contextmanager
def whole_file(path: Path) -> Iterator[Callable[[str], object]]:
    """A function that writes text to a file which appears under its name only when all went well.

    A device or a pipe is written to as it is.

    Raises:
        DataError: the folder is missing, or the file can't be written.
    """
    check_place(path)
    if path.exists() and not path.is_file():
        try:
            with path.open("w", encoding="utf-8", errors=_SURROGATES, newline="") as file:
                yield file.write
        except OSError as e:
            raise _cannot(path, e) from e
        return
    with whole(path) as partial, partial.open("x", encoding="utf-8", errors=_SURROGATES, newline="") as file:
        yield file.write


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """A place beside a file to write it to, under a name of its own; the file appears only when all went well.

    Raises:
        DataError: the file can't be written.
    """
    target = path.resolve()
    partial = target.with_name(f".{target.name}.{secrets.token_hex(4)}.partial")
    try:
        try:  # before the file is there: a signal may end the command at any moment
            yield partial
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)
    except OSError as e:
        raise _cannot(path, e) from e


def check_place(path: Path) -> None:
    """See that a file can stand under a name.

    Raises:
        DataError: it is a folder, or its folder is missing.
    """
    if path.is_dir():
        raise DataError(f"{path} is a folder; expected a file")
    if not path.parent.is_dir():
        raise DataError(f"can't write {path}: no folder {path.parent}")


def _cannot(path: Path, why: OSError) -> DataError:
    return DataError(f"can't write {path}: {why.strerror or why}")
