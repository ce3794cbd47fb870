"""What `rewardkit score` writes, with the file that was scored beside it: scores have no texts, that file has."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from rewardkit.batch import Floats, Status, Statuses
from rewardkit.errors import DataError
from rewardkit.report import verl
from rewardkit.report.chunk import Rollouts
from rewardkit.report.fields import Row, Where, numbers, steps
from rewardkit.scoring.fields import SPELLINGS, BadRowAt, column

NAME: Final = "rewardkit score"
_CODES: Final = {status.name.lower(): status for status in Status}
_NOTHING: Final[Mapping[str, Any]] = {}


def is_row(row: Row) -> bool:
    """Whether `rewardkit score` wrote it."""
    return "total_status" in row and "terms" in row


def rollouts(rows: Sequence[Row], where: Where, data: Sequence[Row] | None, data_where: Where | None) -> Rollouts:
    """The columns of scored rows.

    Args:
        rows: the scores.
        where: names a row of the scores.
        data: the rows that were scored, in the same order; None where they are not at hand.
        data_where: names a row of them.

    Raises:
        DataError: a row lacks a field, or one is of the wrong type.
    """
    terms: dict[str, Floats] = {}
    statuses: dict[str, Statuses] = {}
    values = [_mapping(row, "terms", where, i) for i, row in enumerate(rows)]
    codes = [_mapping(row, "status", where, i) for i, row in enumerate(rows)]
    for name in dict.fromkeys(name for by_name in values for name in by_name):
        terms[name] = numbers(values, name, where)
        statuses[name] = np.array(
            [_code(by_name.get(name), where, i) for i, by_name in enumerate(codes)], dtype=np.int8
        )
    texts = prompts = ground_truths = found_steps = None
    if data is not None:
        assert data_where is not None
        try:
            texts, prompts = column(data, "response"), column(data, "prompt")
            ground_truths = column(data, "ground_truth")
        except BadRowAt as why:
            raise DataError(f"{data_where(why.index)}: {why}") from None
        found_steps = steps(data, data_where)
    return Rollouts(
        where=where,
        total=numbers(rows, "score", where, needed=True),
        terms=terms,
        statuses=statuses,
        steps=found_steps,
        groups=_groups(rows, data, prompts),
        responses=texts,
        prompts=prompts,
        ground_truths=ground_truths,
        advantages=None,
        rows=rows if data is None else data,
    )


def _groups(rows: Sequence[Row], data: Sequence[Row] | None, prompts: Sequence[Any] | None) -> list[Hashable] | None:
    dumped = data is not None and verl.is_row(data[0])  # its uid is another one for each response of a prompt
    if data is not None and dumped:
        return verl.groups(data, prompts or [None])
    keys = ["group", *(spelling[0] for spelling in SPELLINGS["group"])]
    for source in (rows, data or ()):
        for key in keys:
            groups = [row.get(key) for row in source]
            if groups and all(isinstance(group, str | int) for group in groups):
                return list(groups)
    return list(prompts) if prompts and all(prompt is not None for prompt in prompts) else None


def _mapping(row: Row, name: str, where: Where, i: int) -> Row:
    value = row.get(name, _NOTHING)
    if not isinstance(value, Mapping):
        raise DataError(f"{where(i)}: `{name}` is {value!r:.60}; expected an object, as `rewardkit score` writes it")
    return value


def _code(value: object, where: Where, i: int) -> Status:
    if not isinstance(value, str) or value not in _CODES:
        raise DataError(f"{where(i)}: `status` has {value!r:.60}; expected one of {', '.join(_CODES)}")
    return _CODES[value]
