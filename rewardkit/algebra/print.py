"""How a node is written as text: what binds more tightly than what, and where brackets go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

COMPARE, OR, AND, ADD, MUL, UNARY, NUMBER, ATOM = range(1, 9)
"""How tightly a text holds together, as in Python; a number is an atom, but as a receiver: ``(1).spread()``."""


@dataclass(slots=True)
class Text:
    """A node as text that reads back to an equal node."""

    text: str
    level: int = ATOM
    negated: Text | None = None
    """What is written after a minus sign to mean the same: ``x`` for ``-x``, ``2`` for ``-2``."""

    def at(self, level: int) -> str:
        """The text where at least this level is wanted, in brackets if it holds less tightly."""
        return f"({self.text})" if self.level < level else self.text


def call(name: str, *arguments: str) -> Text:
    """``name(a, b)``."""
    return Text(f"{name}({', '.join(arguments)})")


def method(receiver: Text, name: str, *arguments: object) -> Text:
    """``receiver.name('argument')``."""
    return Text(f"{receiver.at(ATOM)}.{name}({', '.join(map(repr, arguments))})")


def chain(sign: str, level: int, operands: Sequence[Text]) -> Text:
    """``a & b & c``, which reads back from the left."""
    first, *rest = operands
    return Text(f" {sign} ".join([first.at(level), *(operand.at(level + 1) for operand in rest)]), level)


def number_text(value: float) -> str:
    """A number as people write it: 1, not 1.0; exact all the same."""
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)


def value_text(value: object) -> str:
    """A term's parameter as people write it."""
    if isinstance(value, float):
        return number_text(value)
    if isinstance(value, tuple):
        return f"[{', '.join(value_text(v) for v in value)}]"
    return repr(value)
