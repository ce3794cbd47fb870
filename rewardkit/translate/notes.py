"""Where a translation keeps what became of each place of the file, and which answers its verdicts are about."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from rewardkit.expression import Expression
from rewardkit.terms import exact
from rewardkit.translate import patterns
from rewardkit.translate.combining import as_number, choose, leveled
from rewardkit.translate.values import Answer, Found, Level, Number, Raised, Record, Truth, Unknown, Value

Scope = dict[str, Value]
_SHOWN: Final = 90
"""Characters of a piece of code in a note."""


@dataclass(frozen=True)
class Function(Value):
    """A function of the file."""

    tree: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    scope: Mapping[str, Value] = field(compare=False, hash=False, default_factory=dict)


@dataclass(frozen=True)
class Note:
    """What became of one place of the file."""

    line: int
    code: str
    level: Level
    says: str
    formula: Expression | None = None


class Notes:
    """The notes of one translation.

    Args:
        source: the file's text.
    """

    def __init__(self, source: str) -> None:
        self.source = source
        self.notes: dict[tuple[int, int, str, str], Note] = {}
        self._asked: dict[Expression, set[str]] = {}  # the answers, by how they are found, that a verdict is about

    def note(self, tree: ast.AST, level: Level, says: str, formula: Expression | None = None) -> None:
        """Tell what became of a piece of code; once for each piece and outcome."""
        line, column = getattr(tree, "lineno", 0), getattr(tree, "col_offset", 0)
        note = Note(line, self._code(tree), level, says, formula)
        self.notes.setdefault((line, column, says, repr(formula)), note)

    def blame(self, unknown: Value, what: str) -> None:
        """Tell of what is not in the formula, at the place where it got lost."""
        if isinstance(unknown, Unknown):
            note = Note(unknown.line, unknown.code, Level.LEFT_OUT, f"{unknown.why}; {what}")
            self.notes.setdefault((unknown.line, unknown.column, unknown.why, ""), note)

    def _code(self, tree: ast.AST) -> str:
        code = " ".join((ast.get_source_segment(self.source, tree) or "").split())
        return code if len(code) <= _SHOWN else code[: _SHOWN - 3] + "..."

    def told(self, tree: ast.AST, value: Value, says: str = "") -> Value:
        """The value, after a note of what it is in the formula."""
        formula: Expression | None = None
        if isinstance(value, Truth):
            formula = value.as_number if value.as_number is not None else value.node
        elif isinstance(value, Number):
            formula = value.node()
        elif isinstance(value, Found):
            formula = patterns.holds(value).node
        if formula is not None:
            self.note(tree, value.level, says, formula)
        return value

    def lost(self, tree: ast.AST, why: str) -> Unknown:
        """No value. Whoever misses it tells; see `blame`."""
        return Unknown(why, getattr(tree, "lineno", 0), getattr(tree, "col_offset", 0), self._code(tree))

    def choose(self, tree: ast.AST, condition: Truth, then: Value, otherwise: Value) -> Value:
        """One value where the condition holds and another elsewhere; of a number and what is none, the number."""
        then, otherwise = _scored(then), _scored(otherwise)
        for lost, kept in ((then, otherwise), (otherwise, then)):
            known = as_number(kept)
            if isinstance(lost, Unknown) and known is not None:
                self.blame(lost, "the other branch is taken in its place")
                if condition.routes is not None and lost is otherwise:
                    return replace(choose(condition, known, Raised()), level=Level.LEFT_OUT)
                return replace(known, level=Level.LEFT_OUT)
        if condition.routes is None and isinstance(then, Raised) != isinstance(otherwise, Raised):
            self.note(tree, Level.SIMILAR, "the function raises here; the formula pays what it pays elsewhere")
        if self._says_nothing_new(condition.missing, then, otherwise):
            return leveled(otherwise, then)
        if self._says_nothing_new(condition.present, otherwise, then):
            return leveled(then, otherwise)
        chosen = choose(condition, then, otherwise)
        if isinstance(chosen, Unknown) and not chosen.line:
            return self.lost(tree, chosen.why)
        return chosen

    def asks(self, tree: ast.AST, answer: Value, found: Truth, says: str) -> Truth:
        """A verdict on an answer, told of."""
        if isinstance(answer, Answer) and found.node.term is not exact:  # which also takes a response without a marker
            self._asked.setdefault(found.node, set()).add(answer.marker)
        self.told(tree, found, says)
        return found

    def _says_nothing_new(self, answer: Answer | Found | None, without: Value, paid: Value) -> bool:
        """Whether a response without this answer is paid the same anyhow, as it has no right one."""
        a, b = as_number(without), as_number(paid)
        if answer is None or a is None or b is None or a.parts or not b.parts or a.constant != b.constant:
            return False
        return all(self._is_about(answer, node) for node, _ in b.parts)

    def _is_about(self, answer: Answer | Found, node: Expression) -> bool:
        key = answer.raw if isinstance(answer, Found) else answer.marker
        return key in self._asked.get(node, ())


def _scored(value: Value) -> Value:
    """A dictionary's score, which is what verl pays."""
    return value.get("score") or value if isinstance(value, Record) else value
