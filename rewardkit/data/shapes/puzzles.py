"""Countdown: reach a number from others, each used once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from rewardkit.data.rows import Problem, as_json, asked, short
from rewardkit.data.shapes.shape import Shape
from rewardkit.errors import BadRow, listed

_ASK: Final = (
    "Using the numbers {numbers}, write an expression that equals {target}. You may use +, -, *, / and parentheses, "
    "and each number exactly once. Think first, then give the expression in <answer> </answer> tags, for example "
    "<answer> (1 + 2) / 3 </answer>."
)


def countdown_problem(row: object) -> Problem:
    """A problem from `nums` (or `numbers`) and `target`.

    Raises:
        BadRow: one is missing, or no whole number.
    """
    if isinstance(row, BadRow):
        raise row
    if not isinstance(row, Mapping):
        raise BadRow(f"is a {type(row).__name__}; expected an object with `nums` and `target`")
    numbers: Any = row.get("nums") if row.get("nums") is not None else row.get("numbers")
    target: Any = row.get("target")
    if not isinstance(numbers, list) or not numbers or any(type(n) is not int for n in numbers):
        given = f"`nums` is {short(numbers)}" if numbers is not None else f"has no `nums`; its fields are {listed(row)}"
        raise BadRow(f"{given}; expected a list of whole numbers")
    if type(target) is not int:
        raise BadRow(f"`target` is {short(target)}; expected a whole number")
    ask = _ASK.format(numbers=", ".join(map(str, numbers)), target=target)
    return Problem(asked(ask), as_json({"numbers": numbers, "target": target}))


COUNTDOWN: Final = Shape(
    "countdown",
    "countdown",
    "puzzle",
    countdown_problem,
    "countdown()",
)
