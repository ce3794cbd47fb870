"""How the rows of known data sets become problems: one shape a data set, all in `SHAPES`.

A shape says which fields it reads, what the model is asked, what the ground truth is, and by which formula the rows are
graded. `rewardkit data NAME --from FILE` writes them; a new shape is one function here and one entry.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from rewardkit.data.shapes.code import APPS, CODECONTESTS, HUMANEVAL, MBPP
from rewardkit.data.shapes.instructions import IFEVAL
from rewardkit.data.shapes.math import DAPO, GSM8K, MATH, NUMINA
from rewardkit.data.shapes.puzzles import COUNTDOWN
from rewardkit.data.shapes.shape import Shape as Shape
from rewardkit.data.shapes.tools import BFCL

SHAPES: Final[Mapping[str, Shape]] = {
    shape.name: shape
    for shape in (GSM8K, MATH, DAPO, NUMINA, IFEVAL, BFCL, COUNTDOWN, HUMANEVAL, MBPP, APPS, CODECONTESTS)
}
"""By the names that `rewardkit data` knows them by."""
