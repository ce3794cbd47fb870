"""Short texts that match a regular expression, one for each of its alternatives."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final

MOST: Final = 6
"""Texts of one pattern."""
_LONGEST_RUN: Final = 50
_TRIED: Final = "so7 .-\n<A_"
_CATEGORIES: Final = {
    "DIGIT": r"\d", "SPACE": r"\s", "WORD": r"\w", "NOT_DIGIT": r"\D", "NOT_SPACE": r"\S", "NOT_WORD": r"\W",
}  # fmt: skip
_parser: Any = import_module("re._parser")  # `re`'s own reading of a pattern; it has no public name


def samples(pattern: str) -> tuple[str, ...]:
    """Texts that a pattern is found in. None where it is not a pattern, or nothing short matches it."""
    made = _made(pattern, None)
    return tuple(t for t in made if re.search(pattern, t))[:MOST]


def templates(pattern: str) -> tuple[str, ...]:
    """Texts that a pattern is found in, with `{answer}` in the place of what its groups catch."""
    made = [t for t in _made(pattern, "7") if re.search(pattern, t)]
    filled = _made(pattern, "{answer}")
    return tuple(dict.fromkeys(t for t in filled if "{answer}" in t and t.replace("{answer}", "7") in made))[:2]


def _made(pattern: str, group: str | None) -> list[str]:
    try:
        re.compile(pattern)
        tree = _parser.parse(pattern)
        made = _Maker(0, group).sequence(tree) + _Maker(1, group).sequence(tree)
    except (re.error, OverflowError, RecursionError):
        return []
    return list(dict.fromkeys(t for t in made if t))


@dataclass(frozen=True, slots=True)
class _Maker:
    """Texts of a pattern.

    Attributes:
        least: how often an optional part is taken.
        group: what stands in the place of a group; None: what it matches.
    """

    least: int
    group: str | None

    def sequence(self, tree: Any) -> list[str]:
        """What a sequence matches."""
        made = [""]
        for operation, argument in tree:
            ends = self._one(str(operation), argument)
            made = [before + after for before in made for after in ends][:MOST]
        return made

    def _one(self, operation: str, argument: Any) -> list[str]:
        match operation:
            case "LITERAL":
                return [chr(argument)]
            case "NOT_LITERAL":
                return [next(c for c in _TRIED if c != chr(argument))]
            case "ANY":
                return ["s"]
            case "IN":
                return [_member(argument)]
            case "BRANCH":
                return [text for branch in argument[1] for text in self.sequence(branch)][:MOST]
            case "SUBPATTERN":
                return (
                    [self.group] if self.group is not None and argument[0] is not None else self.sequence(argument[3])
                )
            case "ATOMIC_GROUP":
                return self.sequence(argument)
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                low, high, inner = argument
                times = min(max(low, self.least), high, _LONGEST_RUN)
                return [text * times for text in self.sequence(inner)] if times else [""]
            case _:  # an anchor, an assertion, a reference: the match is checked in the end
                return [""]


def _member(items: Any) -> str:
    """A character of a class."""
    negated = bool(items) and str(items[0][0]) == "NEGATE"
    first = [chr(a if str(o) == "LITERAL" else a[0]) for o, a in items if str(o) in ("LITERAL", "RANGE")]
    return next((c for c in [*first, *_TRIED] if _is_in(items, c) != negated), "s")


def _is_in(items: Any, char: str) -> bool:
    for operation, argument in items:
        kind = str(operation)
        if (
            (kind == "LITERAL" and ord(char) == argument)
            or (kind == "RANGE" and argument[0] <= ord(char) <= argument[1])
            or (kind == "CATEGORY" and re.match(_CATEGORIES[str(argument).removeprefix("CATEGORY_")], char))
        ):
            return True
    return False
