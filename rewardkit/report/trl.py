"""What TRL writes with `log_completions=True`: `completions/completions_STEP.parquet`, a row a completion.

Its columns are `step`, `prompt`, `completion`, one by the name of each reward function, whatever the user's `log_extra`
added, and `advantage`; the first releases had `reward` and `reward_NAME` in place of the names. There is no total but
in those first releases, no weight, and no border between rewards and extras. So the total is the sum of all numeric
columns, or of those that the user weighs, and the logged advantages tell whether that is what the trainer made of it.
Where `trainer_glue.adapters.trl.RewardFunction` paid, its column `rewardkit` is the total and the others are its terms.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from rewardkit.batch import Floats
from rewardkit.errors import DataError, did_you_mean, listed
from rewardkit.report.chunk import Rollouts, presumed
from rewardkit.report.fields import Row, Where, numbers, numeric_names, optional_texts, steps, texts

NAME: Final = "TRL completions"
_TOTALS: Final = ("reward", "rewardkit")
"""Columns that are a total already."""
_OWN: Final = frozenset({"step", "advantage", "ground_truth", "gts", *_TOTALS})


def is_row(row: Row) -> bool:
    """Whether TRL wrote it."""
    return "completion" in row


def rollouts(rows: Sequence[Row], where: Where, weights: Mapping[str, float] | None) -> Rollouts:
    """The columns of rows that TRL wrote.

    Args:
        rows: as they stand in the file.
        where: names a row.
        weights: what each reward counts for in the total; None for all of them, once each.

    Raises:
        DataError: a row lacks a field, one is of the wrong type, or a weight is for no column.
    """
    numeric = numeric_names(rows)
    terms = {name: numbers(rows, name, where) for name in numeric if name not in _OWN}
    prompts = optional_texts(rows, "prompt", where)
    responses = texts(rows, "completion", where)
    logged = next((name for name in _TOTALS if name in numeric), None)
    return Rollouts(
        where=where,
        total=_total(rows, where, terms, weights, logged),
        terms=terms,
        statuses={name: presumed(values) for name, values in terms.items()},
        steps=steps(rows, where),
        groups=None if any(prompt is None for prompt in prompts) else prompts,
        responses=responses,
        prompts=prompts,
        ground_truths=[row.get("ground_truth") for row in rows],
        advantages=numbers(rows, "advantage", where) if "advantage" in numeric else None,
        rows=[{**row, "response": text} for row, text in zip(rows, responses, strict=True)],
    )


def _total(
    rows: Sequence[Row],
    where: Where,
    terms: Mapping[str, Floats],
    weights: Mapping[str, float] | None,
    logged: str | None,
) -> Floats:
    if weights is None and logged is not None:
        return numbers(rows, logged, where)
    chosen = dict.fromkeys(terms, 1.0) if weights is None else weights
    for name in chosen:
        if name not in terms:
            raise DataError(
                f"{where(0)}: no reward {name!r} to weigh; the rows' numeric columns are {listed(terms)}",
                hint=did_you_mean(name, terms),
            )
    if not chosen:
        keys = listed(rows[0])
        raise DataError(f"{where(0)}: no column of rewards; expected a numeric one beside {keys}")
    columns = np.array([weight * terms[name] for name, weight in chosen.items()])
    # As TRL adds them up: a function that returned None steps aside, and a row without any has no reward.
    return np.where(np.isnan(columns).all(axis=0), math.nan, np.nansum(columns, axis=0))
