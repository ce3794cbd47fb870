"""What verl dumps into `trainer.rollout_data_dir`: one file a step, a line a response.

Each line has `input`, `output`, `gts`, `score` and `step`. The trainer of verl 0.9 adds `uid`
(`{prompt}_{rollout}_{output}`) and nothing else; with `trainer.use_v1=false`, and in validation, each key of the
manager's extra info stands beside them: a term's value, `TERM/status`, `TERM/ms`, and `unscored`.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Final

import numpy as np

from rewardkit.batch import Floats, Status, Statuses
from rewardkit.engine.scores import UNSCORED_KEY, milliseconds_key, status_key
from rewardkit.errors import DataError
from rewardkit.report.chunk import Rollouts, presumed
from rewardkit.report.fields import Row, Where, numbers, numeric_names, optional_texts, steps, texts
from rewardkit.scoring.fields import group_of

NAME: Final = "verl dump"
_OWN: Final = frozenset({"input", "output", "gts", "score", "step", "uid", "request_id", UNSCORED_KEY})


def is_row(row: Row) -> bool:
    """Whether verl wrote it."""
    return "output" in row and "score" in row


def rollouts(rows: Sequence[Row], where: Where) -> Rollouts:
    """The columns of rows that verl wrote.

    Raises:
        DataError: a row lacks a field, or one is of the wrong type.
    """
    total = numbers(rows, "score", where, needed=True)
    numeric = numeric_names(rows)
    if UNSCORED_KEY in numeric:  # the score is a placeholder then
        total[numbers(rows, UNSCORED_KEY, where) > 0] = np.nan
    terms: dict[str, Floats] = {}
    statuses: dict[str, Statuses] = {}
    status_keys = {name for name in numeric if name.endswith(status_key(""))}
    # A term without one value among these rows has a status all the same.
    named = [*(n for n in numeric if n not in status_keys), *(key.removesuffix(status_key("")) for key in status_keys)]
    for name in dict.fromkeys(named):
        if name in _OWN or name.endswith(milliseconds_key("")):
            continue
        terms[name] = numbers(rows, name, where)
        key = status_key(name)
        statuses[name] = _statuses(rows, key, where) if key in status_keys else presumed(terms[name])
    prompts = optional_texts(rows, "input", where)
    return Rollouts(
        where=where,
        total=total,
        terms=terms,
        statuses=statuses,
        steps=steps(rows, where),
        groups=groups(rows, prompts),
        responses=texts(rows, "output", where),
        prompts=prompts,
        ground_truths=[row.get("gts") for row in rows],
        advantages=None,
        rows=rows,
    )


def _statuses(rows: Sequence[Row], key: str, where: Where) -> Statuses:
    codes = numbers(rows, key, where, needed=True)
    for i, value in enumerate(codes.tolist()):
        if value not in _CODES:
            raise DataError(f"{where(i)}: `{key}` is {value:g}; expected a status code from 0 to {max(_CODES):g}")
    return codes.astype(np.int8)


_CODES: Final = frozenset(float(status) for status in Status)


def groups(rows: Sequence[Row], prompts: Sequence[str | None]) -> list[Hashable] | None:
    """By the prompt's part of the uid, else by the prompt itself."""
    if all(isinstance(row.get("uid"), str) for row in rows):
        return [group_of(row) for row in rows]
    return None if any(prompt is None for prompt in prompts) else list(prompts)
