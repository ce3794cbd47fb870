"""The subject of an audit by what a user names: whatever a reward can be named by, or a function of a Python file."""

from __future__ import annotations

from typing import Final

from rewardkit.algebra.expression import Expression
from rewardkit.algebra.term import Term
from rewardkit.audit.function import FunctionSubject
from rewardkit.audit.subject import FormulaSubject, Subject
from rewardkit.engine.loading import file_value, load_reward
from rewardkit.engine.program import compile

FUNCTION: Final = "compute_score"
"""The function that a file without `reward` is expected to define: verl's own name for it."""


def load_subject(text: str) -> Subject:
    """The reward that a formula, a ready-made name, or ``FILE.py[:name]`` stands for.

    Raises:
        FormulaError: a formula that doesn't build.
        ConfigError: no such file or name, or a value that pays nothing.
    """
    value = file_value(text, default=FUNCTION)
    if callable(value) and not isinstance(value, Expression | Term):
        return FunctionSubject(value, text.strip())
    return FormulaSubject(compile(load_reward(text).reward))
