"""What an expression of a reward stands for: a number of the algebra, a condition, the response, an answer in it.

Numbers are kept as sums of weighted nodes, so that `score += 0.5` under an `if` becomes one more summand. Every value
has a level: how far the formula's value is the function's. No syntax tree may enter.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Final

from rewardkit.expression import Condition, Reward, Verdict, number
from rewardkit.functions import when
from rewardkit.terms import length, tag_count

_MOST_TAGS: Final = 32
"""What `tag_count` takes."""
UNSEEN: Final = 1000
"""What a count that nothing bounds counts at most."""


class Level(IntEnum):
    """How a formula's value relates to the function's, best first."""

    EQUAL = 0
    """The same number for every response."""
    NEARLY = 1
    """The same number but for the rare texts that the note names."""
    SIMILAR = 2
    """It asks for the same thing by another rule, which the note tells."""
    LEFT_OUT = 3
    """Not in the formula."""


@dataclass(frozen=True)
class Value:
    """Anything an expression can stand for."""

    level: Level = field(default=Level.EQUAL, kw_only=True)


@dataclass(frozen=True)
class Constant(Value):
    """A Python value that the file spells out."""

    value: Any


@dataclass(frozen=True)
class Number(Value):
    """A sum of weighted nodes and a constant."""

    parts: tuple[tuple[Reward, float], ...] = ()
    constant: float = 0.0

    def node(self) -> Reward:
        """The sum as one node."""
        by_weight: dict[float, list[str]] = {}
        parts: list[tuple[Reward, float]] = []
        for node, weight in self.parts:
            if node.term is tag_count:
                tags = list(node.param("tags"))
                known = by_weight.setdefault(weight / len(tags), [])
                if len(known) + len(tags) <= _MOST_TAGS and not set(known) & set(tags):
                    known.extend(tags)
                else:
                    parts.append((node, weight))
            else:
                parts.append((node, weight))
        parts += [(tag_count(tags), each * len(tags)) for each, tags in by_weight.items() if tags]
        parts.sort(key=lambda part: part[1] < 0)
        if not parts:
            return number(self.constant)
        total = _weighted(*parts[0])
        for node, weight in parts[1:]:
            total = total - _weighted(node, -weight) if weight < 0 else total + _weighted(node, weight)
        if self.constant:
            total = total - -self.constant if self.constant < 0 else total + self.constant
        return total


@dataclass(frozen=True)
class Truth(Value):
    """A condition. Some are more than their node."""

    node: Condition
    as_number: Reward | None = None
    """A node that is 1 where it holds and 0 elsewhere, where there is a plainer one than `when`."""
    routes: tuple[str, tuple[str, ...]] | None = None
    """By what, and which values of it, where it asks for a row's kind."""
    missing: Found | Answer | None = None
    """What the response lacks where it holds."""
    present: Found | Answer | None = None
    """What it has."""

    def number(self) -> Reward:
        """1 where it holds, else 0."""
        if self.as_number is not None:
            return self.as_number
        return self.node if isinstance(self.node, Verdict) else when(self.node, 1, 0)


@dataclass(frozen=True)
class Text(Value):
    """The response, or what a few string methods make of it."""

    tail: int | None = None
    stripped: str = ""
    lower: bool = False


@dataclass(frozen=True)
class Words(Value):
    """The response's pieces between blanks."""


@dataclass(frozen=True)
class Tokens(Value):
    """The response's token ids."""


@dataclass(frozen=True)
class Gold(Value):
    """The ground truth, or something made of it."""

    changed: bool = False


@dataclass(frozen=True)
class Field(Value):
    """A column that tells a row's kind: `data_source`, or an entry of `extra_info`."""

    name: str


@dataclass(frozen=True)
class Info(Value):
    """`extra_info`, or the keyword arguments of a function."""

    batched: bool = False


@dataclass(frozen=True)
class Found(Value):
    """What a pattern finds in the response: matches, or the first one."""

    pattern: str
    """As the `regex` package takes it."""
    raw: str
    """As the file has it."""
    literal: str | None = None
    """The text, where it is `str.count` that looks for it."""
    tail: int | None = None


@dataclass(frozen=True)
class Counted(Number):
    """A count, as long as nothing was done to it."""

    counted: Found | None = None


@dataclass(frozen=True)
class Answer(Value):
    """A part of the response that is held against the ground truth."""

    marker: str
    """The pattern, separator or function that finds it."""
    tail: int | None = None
    last: bool = False
    changes: tuple[str, ...] = ()
    found: Found | None = None


@dataclass(frozen=True)
class Difference(Value):
    """The answer minus the ground truth."""

    answer: Value


@dataclass(frozen=True)
class Column(Value):
    """A list with one entry a response, of which this is one."""

    entry: Value


@dataclass(frozen=True)
class Message(Value):
    """A chat message whose content is the response, or a list of such."""


@dataclass(frozen=True)
class Items(Value):
    """A list or tuple whose entries are known."""

    entries: tuple[Value, ...]


@dataclass(frozen=True)
class Record(Value):
    """A dictionary whose keys are known."""

    entries: tuple[tuple[str, Value], ...]

    def get(self, key: str) -> Value | None:
        """The value under a key."""
        return dict(self.entries).get(key)


@dataclass(frozen=True)
class Pattern(Value):
    """A compiled regular expression."""

    raw: str
    flags: str = ""
    """Letters of inline flags."""


@dataclass(frozen=True)
class Raised(Value):
    """An exception instead of a value."""


@dataclass(frozen=True)
class Unknown(Value):
    """What can't be said in the algebra."""

    why: str
    line: int = field(default=0, compare=False)
    column: int = field(default=0, compare=False)
    code: str = field(default="", compare=False)
    level: Level = field(default=Level.LEFT_OUT, kw_only=True)


def _weighted(node: Reward, weight: float) -> Reward:
    if node.term is length and weight > 0 and node.param("per_unit") == 1.0 and node.param("cap") is None:
        return length(weight, unit=node.param("unit"))
    if weight in (1.0, -1.0):
        return node if weight == 1.0 else -node
    parts = round(1 / weight) if abs(weight) < 1 else 0
    if parts > 1 and len(repr(weight)) > 6 and math.isclose(parts * weight, 1.0, rel_tol=1e-12):
        return node / parts
    return weight * node
