"""What is known of a data set before any of its rows is read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rewardkit.data.rows import Problem


@dataclass(frozen=True, slots=True)
class Shape:
    """How rows of a data set become problems.

    Attributes:
        name: what `rewardkit data` calls it.
        data_source: the label of its rows, unless another is given or a hub's id is known.
        ability: the field `ability` of verl's rows.
        problem: makes a problem of a row; raises BadRow for one that can't be used.
        reward: the formula that grades its rows, as text; every ground truth must be one that it can grade. None where
            the caller chooses.
        unique: whether rows that ask the same and have the same ground truth are written once.
    """

    name: str
    data_source: str
    ability: str
    problem: Callable[[object], Problem]
    reward: str | None = None
    unique: bool = False
