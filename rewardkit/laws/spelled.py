"""Laws stated as text, on a command line: ``dominates(gsm8k())``, ``bounded_by_length(0.5)``, ``ignores(strip)``.

Nothing is evaluated: the name is one of a few, and what stands in its brackets is a formula, a number, or the name of a
transformation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from rewardkit.algebra.expression import Verdict
from rewardkit.algebra.parse import parse
from rewardkit.errors import ParameterError, did_you_mean
from rewardkit.laws.law import Law
from rewardkit.laws.stated import bounded_by_length, dominates, ignores, monotone

TRANSFORMATIONS: Final[Mapping[str, Callable[[str], str]]] = {
    "strip": str.strip, "rstrip": str.rstrip, "lower": str.lower, "upper": str.upper,
}  # fmt: skip
"""What `ignores` and `monotone` can be told by name."""
_CALL: Final = re.compile(r"\s*([a-z_]+)\s*\((.*)\)\s*", re.DOTALL)
_LAWS: Final = ("dominates", "bounded_by_length", "ignores", "monotone")


def law_of(text: str) -> Law:
    """The law that a text states.

    Raises:
        ParameterError: no such law, or not what it takes.
        FormulaError: `dominates` of text that is not a formula.
    """
    match = _CALL.fullmatch(text)
    name, inside = (match[1], match[2].strip()) if match else (text, "")
    if match is None or name not in _LAWS:
        hint = did_you_mean(name, _LAWS) or f"one of {', '.join(_LAWS)}, such as dominates(gsm8k())"
        raise ParameterError(f"unknown law: {text!r}", hint=hint)
    if name == "dominates":
        verdict = parse(inside)
        if not isinstance(verdict, Verdict):
            raise ParameterError(f"{text}: {inside} is a {type(verdict).__name__}; expected a verdict such as gsm8k()")
        return dominates(verdict)
    if name == "bounded_by_length":
        try:
            return bounded_by_length(float(inside))
        except ValueError:
            raise ParameterError(f"{text}: expected a number in the brackets, bounded_by_length(0.5)") from None
    inside = inside.removeprefix("str.")
    if inside not in TRANSFORMATIONS:
        raise ParameterError(f"{text}: expected one of {', '.join(TRANSFORMATIONS)} in the brackets")
    build = ignores if name == "ignores" else monotone
    return build(TRANSFORMATIONS[inside], name=inside)


def source_of(text: str) -> str:
    """The Python expression for such a law, for a test file."""
    match = _CALL.fullmatch(text)
    assert match is not None  # law_of has read it
    name, inside = match[1], match[2].strip()
    if name == "dominates":
        return f"dominates(parse({inside!r}))"
    return f"{name}({inside})" if name == "bounded_by_length" else f"{name}(str.{inside.removeprefix('str.')})"
