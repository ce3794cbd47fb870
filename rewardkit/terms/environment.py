"""Numbers that come with a response: an environment's own scores, and how many turns there were."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from rewardkit.algebra.define import term
from rewardkit.batch import Sample, Score, Status

Reduce = Literal["sum", "mean", "last", "min", "max"]


def _bounds(p: Mapping[str, Any]) -> tuple[float, float]:
    return (p["low"], p["high"])


@term(bounds=_bounds, needs=("extra_info",))
def column(
    sample: Sample,
    name: Annotated[str, Field(min_length=1)],
    *,
    low: Annotated[float, Field(allow_inf_nan=False)],
    high: Annotated[float, Field(allow_inf_nan=False)],
    reduce: Reduce = "sum",
) -> Score:
    """The number that a row's `extra_info` has under a name, such as the score of an environment or a tool.

    In verl these are the data set's `extra_info` and what the agent loop left in an output's `extra_fields`:
    ``column('turn_scores', low=0, high=1)``. A list, of one number for each turn, is made one number.

    A row without the name, or with anything but numbers under it, is BAD_GOLD and not scored: the policy did not cause
    it. A number outside the bounds is an ERROR. An empty list sums to 0 (to the nearer end where 0 is out of bounds);
    for the other ways to reduce it is NO_ANSWER, since the policy left the environment nothing to score.

    Args:
        sample: the response.
        name: the name in `extra_info`.
        low: the least it can be.
        high: the most it can be.
        reduce: how a list is made one number: ``sum``, ``mean``, ``last``, ``min`` or ``max``.
    """
    value = sample.extra_info.get(name)
    if value is None:
        return Score(status=Status.BAD_GOLD, reason=f"extra_info has no {name!r}")
    try:
        numbers = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.full(1, np.nan)
    if isinstance(value, str) or numbers.ndim > 1 or not np.isfinite(numbers).all():
        return Score(
            status=Status.BAD_GOLD, reason=f"extra_info[{name!r}] is {value!r:.80}; expected a number, or a list"
        )
    if numbers.size:
        return Score(float(_REDUCERS[reduce](numbers.reshape(-1))))
    if reduce == "sum":
        return Score(float(np.clip(0.0, low, high)))
    return Score(status=Status.NO_ANSWER, reason=f"extra_info[{name!r}] is empty")


_REDUCERS: Mapping[str, Any] = {
    "sum": np.sum,
    "mean": np.mean,
    "last": lambda numbers: numbers[-1],
    "min": np.min,
    "max": np.max,
}


@term(bounds=(0, None), needs=("turns",))
def turn_count(sample: Sample) -> float:
    """How many turns the policy wrote; 1 where the response is all there is.

    Args:
        sample: the response.
    """
    return float(sum(turn.own for turn in sample.turns or ()))
