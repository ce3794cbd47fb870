"""The ladder for formulas: form, exact number, list and set, point identity, and at last sympy, which is asked for.

``same`` answers in the calling process whenever it can. What only computer algebra can decide it hands to ``ask``, a
function of two trees and the kind of question; who answers (a worker, a table of earlier answers) is the caller's
affair.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from rewardkit.answers.latex.exact import exact
from rewardkit.answers.latex.identity import approximate, differ, is_decimal_of, proportional, rational_identity
from rewardkit.answers.latex.meaning import (
    canonical,
    members,
    named,
    stated,
    upward,
)
from rewardkit.answers.latex.naming import Named, bare_rows, named_values, stem
from rewardkit.answers.latex.regions import NoRegion, is_strictly_region, region, same_cells
from rewardkit.answers.latex.tree import INFINITY, Tree, is_closed, negative, subtrees

Question = Literal["equal", "proportional", "same-region"]
Ask = Callable[[Question, Tree, Tree], bool]


@dataclass(frozen=True, slots=True)
class MathRules:
    """The contested rules of formula answers, each with its default and the reason for it.

    Two sets of rules that differ give different verdicts, so they are part of a formula's fingerprint.
    """

    percent: Literal["either", "unit", "value"] = "either"
    r"""``10\%`` against a number without a percent sign: ``unit`` is 10, ``value`` is 0.1, ``either`` takes both,
    because golds are written both ways. Without a percent sign on either side nothing is ever rescaled."""
    digits: int | None = 6
    r"""A decimal stands for a value that no decimal equals (``\sqrt{2}``, ``1/3``) when it is right to its last place
    and has this many significant digits; None: never. Two decimals, or integers, are only ever compared exactly."""
    order_matters: bool = False
    """Whether ``1, 2`` and ``2, 1`` differ. Most lists of answers are solution sets; tuples are always ordered."""
    assume_positive: bool = True
    r"""Variables may be taken as positive where that decides (``\sqrt{1/n}`` and ``1/\sqrt{n}``), unless bars are
    written."""


@dataclass
class Ladder:
    """One comparison: the rules, whom to ask, and the deepest rung that was needed."""

    rules: MathRules
    ask: Ask
    rung: str = "form"

    def same(self, gold: Tree, answer: Tree) -> bool:
        """Whether two answers are the same."""
        gold, answer = stated(gold), stated(answer)
        if gold == answer:
            self.rung = "number" if gold[0] == "num" else self.rung
            return True
        if is_strictly_region(gold) or is_strictly_region(answer):
            verdict = self._same_region(gold, answer)
            if verdict is not None:
                return verdict
        several = named_values(gold), named_values(answer)
        if several[0] is not None or several[1] is not None:
            verdict = self._same_named(gold, answer, *several)
            if verdict is not None:
                return verdict
        lists = members(gold), members(answer)
        if lists[0] is not None or lists[1] is not None:
            return self._same_lists(gold, answer, lists[0], lists[1])
        name, value = named(gold)
        other_name, other_value = named(answer)
        if name is not None and other_name is not None:
            return (self._same_names(name, other_name) and self._same_value(value, other_value)) or (
                gold[0] == answer[0] == "rel" and self._same_relation(gold, answer)
            )
        if (name is None) != (other_name is None):
            if gold[0] == answer[0] == "rel" and self._same_relation(gold, answer):
                return True
            return self._same_value(value, other_value)
        return self._same_value(gold, answer)

    def _same_named(self, gold: Tree, answer: Tree, left: Named | None, right: Named | None) -> bool | None:
        """Several values of which at least one side names each; None where only their trees can be compared."""
        if left is not None and right is not None:
            rows = left.rows, right.in_order_of(left.names)
        elif left is not None:
            rows = left.rows, bare_rows(answer, len(left.rows), len(left.names))
        else:
            assert right is not None
            rows = bare_rows(gold, len(right.rows), len(right.names)) or (), right.rows
        if not rows[0] or not rows[1]:
            bare = answer if right is None else gold
            unfit = (
                None in (left, right)
                and bare[0] in ("list", "pair", "tuple")
                and not any(t[0] == "rel" for t in bare[1:])
            )
            return False if unfit else None
        self.rung = "list"
        return self._match([("tuple", *row) for row in rows[0]], [("tuple", *row) for row in rows[1]])

    def _same_names(self, left: Tree, right: Tree) -> bool:
        """``x`` isn't ``y``; ``y`` may be ``f(x)``."""
        return (
            canonical(left) == canonical(right)
            or "app" in (left[0], right[0])
            or "text" in (left[0], right[0])
            or _is_word(left)
            or _is_word(right)
        )

    def _same_lists(
        self, gold: Tree, answer: Tree, left: tuple[str, list[Tree]] | None, right: tuple[str, list[Tree]] | None
    ) -> bool:
        self.rung = "list"
        if left is None or right is None:
            kind, items = left or right or ("list", [])
            single = gold if left is None else answer
            if len(items) == 1 or (kind == "list" and len(items) <= _MAX_WRITINGS and single[0] not in _COMPOUND):
                # one value, written once or several times: "1/2, or 0.5"
                verdict = all(self.same(i, single) if left is not None else self.same(single, i) for i in items)
                self.rung = "list" if len(items) > 1 else self.rung
                return verdict
            _, value = named(single)
            if kind == "list" and value[0] in ("pair", "tuple") and len(value) - 1 == len(items):
                bare = [named(i)[1] for i in items]
                return all(self.same(v, i) for v, i in zip(value[1:], bare, strict=True))
            return False
        if {gold[0], answer[0]} == {"all", "any"}:
            return False
        golds, answers = left[1], right[1]
        names, other_names = [named(t)[0] for t in golds], [named(t)[0] for t in answers]
        if not _are_apart(names, other_names):
            golds = [v if n is not None else t for t, (n, v) in zip(golds, map(named, golds), strict=True)]
            answers = [v if n is not None else t for t, (n, v) in zip(answers, map(named, answers), strict=True)]
        if self.rules.order_matters and "set" not in (left[0], right[0]):
            return len(golds) == len(answers) and all(self.same(g, a) for g, a in zip(golds, answers, strict=True))
        return self._match(golds, answers)

    def _match(self, golds: list[Tree], answers: list[Tree]) -> bool:
        """Equality as sets: a value that is listed twice counts once."""
        if max(len(golds), len(answers)) > _MAX_MEMBERS:
            return [canonical(t) for t in golds] == [canonical(t) for t in answers]
        unseen = list(range(len(answers)))
        for gold in golds:
            found = [i for i, answer in enumerate(answers) if self.same(gold, answer)]
            if not found:
                return False
            unseen = [i for i in unseen if i not in found]
        return not unseen

    def _same_value(self, gold: Tree, answer: Tree) -> bool:
        if gold[0] == "percent" or answer[0] == "percent":
            return self._same_percent(gold, answer)
        if gold[0] == "rel" and answer[0] == "rel":
            return self._same_relation(gold, answer)
        if gold[0] == "rel" or answer[0] == "rel":
            return False
        if gold[0] in ("pair", "tuple") and answer[0] in ("pair", "tuple"):
            self.rung = "tuple"
            return len(gold) == len(answer) and all(self.same(g, a) for g, a in zip(gold[1:], answer[1:], strict=True))
        if gold[0] == "matrix" and answer[0] == "matrix":
            self.rung = "matrix"
            shapes = [len(r) for r in gold[1:]] == [len(r) for r in answer[1:]]
            return shapes and all(
                self.same(g, a) for rows in zip(gold[1:], answer[1:], strict=True) for g, a in zip(*rows, strict=True)
            )
        if {gold[0], answer[0]} <= {"matrix", "pair", "tuple"} and "matrix" in (gold[0], answer[0]):
            self.rung = "tuple"
            points = _as_point(gold), _as_point(answer)
            return len(points[0]) == len(points[1]) and all(map(self.same, *points))
        if gold[0] in _COMPOUND or answer[0] in _COMPOUND:
            return canonical(gold) == canonical(answer)
        return self._same_expression(gold, answer)

    def _same_percent(self, gold: Tree, answer: Tree) -> bool:
        both = gold[0] == answer[0] == "percent"
        bare_gold = gold[1] if gold[0] == "percent" else gold
        bare_answer = answer[1] if answer[0] == "percent" else answer
        if (both or self.rules.percent in ("either", "unit")) and self.same(bare_gold, bare_answer):
            return True
        if both or self.rules.percent == "unit":
            return False
        hundredth = ("num", Fraction(1, 100), -1)
        gold = ("mul", hundredth, bare_gold) if gold[0] == "percent" else gold
        answer = ("mul", hundredth, bare_answer) if answer[0] == "percent" else answer
        return self.same(gold, answer)

    def _same_region(self, gold: Tree, answer: Tree) -> bool | None:
        """Sets of reals, of which ``(a, b)`` is an open interval; None where one of the two isn't a set."""
        try:
            (left, name), (right, other_name) = region(gold), region(answer)
        except NoRegion:
            return None
        self.rung = "interval"
        if name is not None and other_name is not None and not self._same_names(name, other_name):
            return False
        if left[0] == right[0] == "interval" and left[3:] == right[3:]:
            return self.same(left[1], right[1]) and self.same(left[2], right[2])
        verdict = same_cells(left, right, self.same)
        if verdict is not None:
            return verdict
        if left[0] == right[0] == "union" and len(left) == len(right) and self._match(list(left[1:]), list(right[1:])):
            return True
        if left == gold and right == answer and len(gold[2]) == len(answer[2]) == 2:
            return None  # two relations that nobody solved yet
        self.rung = "sympy"
        return self.ask("same-region", left, right)

    def _same_relation(self, gold: Tree, answer: Tree) -> bool:
        gold, answer = upward(gold), upward(answer)
        if gold[1] == answer[1] and len(gold[2]) == len(answer[2]):
            self.rung = "relation"
            if all(self.same(g, a) for g, a in zip(gold[2], answer[2], strict=True)):
                return True
        if len(gold[2]) != 2 or gold[1] != answer[1] or gold[1][0] not in ("=", "!=", "<", "<="):
            return False
        if any(t[0] in _COMPOUND for t in (*gold[2], *answer[2])):
            return False
        left, right = _difference(gold), _difference(answer)
        if gold[1][0] in ("<", "<="):
            self.rung = "sympy"
            return not differ(left, right, up_to_factor=True) and self.ask("same-region", gold, answer)
        exact_verdict = proportional(left, right)
        if exact_verdict is not None:
            self.rung = "identity"
            return exact_verdict
        if differ(left, right, up_to_factor=True):
            self.rung = "points"
            return False
        self.rung = "sympy"
        return self.ask("proportional", left, right)

    def _same_expression(self, gold: Tree, answer: Tree) -> bool:
        left, right = exact(gold), exact(answer)
        if left is not None and right is not None:
            self.rung = "number"
            return left == right or self._is_rounded(gold, answer, left, right)
        if is_closed(gold) and is_closed(answer) and self._is_rounded(gold, answer, left, right):
            self.rung = "rounded"
            return True
        if canonical(gold) == canonical(answer):
            return True
        if any(t[0] in ("big", *_COMPOUND) or t == INFINITY for tree in (gold, answer) for t in subtrees(tree)):
            return False
        identical = rational_identity(gold, answer)
        if identical is not None:
            self.rung = "identity"
            return identical
        if differ(gold, answer):
            self.rung = "points"
            return False
        self.rung = "sympy"
        return self.ask("equal", gold, answer)

    def _is_rounded(self, gold: Tree, answer: Tree, left: object, right: object) -> bool:
        """One side is a decimal, the other a value that no decimal equals."""
        if self.rules.digits is None:
            return False
        for decimal, other, value in ((answer, gold, left), (gold, answer, right)):
            if decimal[0] != "num" or decimal[2] < 1:
                continue
            if value is None:
                number = approximate(other)
                if number is not None and is_decimal_of(decimal, number, self.rules.digits):
                    return True
            elif (
                isinstance(value, Fraction)
                and not _terminates(value)
                and is_decimal_of(decimal, value, self.rules.digits)
            ):
                return True
        return False


_MAX_WRITINGS = 4
"""How often one value may be written in a list of its writings."""
_MAX_MEMBERS = 64
"""Longer lists are compared in order: unordered comparison is quadratic."""
_COMPOUND = (
    "pair", "tuple", "list", "set", "interval", "union", "intersect", "minus", "all", "any", "matrix", "rel", "text",
)  # fmt: skip


def _are_apart(names: list[Tree | None], others: list[Tree | None]) -> bool:
    """Whether names tell values apart: all have one, and they aren't the roots ``x_1, x_2`` of what others call x."""
    if None in names or None in others:
        return False
    several = len(set(names)) > 1, len(set(others)) > 1
    return all(several) or (any(several) and len({stem(n) for n in (*names, *others) if n is not None}) > 1)


def _as_point(tree: Tree) -> list[Tree]:
    """The members of a point, or of a matrix with one row or column; of any other matrix none."""
    if tree[0] != "matrix":
        return list(tree[1:])
    rows = tree[1:]
    return list(rows[0]) if len(rows) == 1 else [row[0] for row in rows] if all(len(row) == 1 for row in rows) else []


def _is_word(tree: Tree) -> bool:
    return tree[0] == "sym" and len(tree[1]) > 1 and tree[1].isalpha()


def _terminates(value: Fraction) -> bool:
    bottom = value.denominator
    for prime in (2, 5):
        while bottom % prime == 0:
            bottom //= prime
    return bottom == 1


def _difference(relation: Tree) -> Tree:
    return ("add", relation[2][0], negative(relation[2][1]))
