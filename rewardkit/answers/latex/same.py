"""The cascade for formulas: form, exact number, list and set, point identity, and at last sympy, which is asked for.

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
    because ground truths are written both ways. Without a percent sign on either side nothing is ever rescaled."""
    digits: int | None = 6
    r"""A decimal stands for a value that no decimal equals (``\sqrt{2}``, ``1/3``) when it is right to its last place
    and has this many significant digits; None: never. Two decimals, or integers, are only ever compared exactly."""
    order_matters: bool = False
    """Whether ``1, 2`` and ``2, 1`` differ. Most lists of answers are solution sets; tuples are always ordered."""
    assume_positive: bool = True
    r"""Variables may be taken as positive where that decides (``\sqrt{1/n}`` and ``1/\sqrt{n}``), unless bars are
    written."""


@dataclass
class Cascade:
    """One comparison: the rules, whom to ask, and the deepest stage that was needed."""

    rules: MathRules
    ask: Ask
    stage: str = "form"

    def same(self, truth: Tree, answer: Tree) -> bool:
        """Whether two answers are the same."""
        truth, answer = stated(truth), stated(answer)
        if truth == answer:
            self.stage = "number" if truth[0] == "num" else self.stage
            return True
        if is_strictly_region(truth) or is_strictly_region(answer):
            verdict = self._same_region(truth, answer)
            if verdict is not None:
                return verdict
        several = named_values(truth), named_values(answer)
        if several[0] is not None or several[1] is not None:
            verdict = self._same_named(truth, answer, *several)
            if verdict is not None:
                return verdict
        lists = members(truth), members(answer)
        if lists[0] is not None or lists[1] is not None:
            return self._same_lists(truth, answer, lists[0], lists[1])
        name, value = named(truth)
        other_name, other_value = named(answer)
        if name is not None and other_name is not None:
            return (self._same_names(name, other_name) and self._same_value(value, other_value)) or (
                truth[0] == answer[0] == "rel" and self._same_relation(truth, answer)
            )
        if (name is None) != (other_name is None):
            if truth[0] == answer[0] == "rel" and self._same_relation(truth, answer):
                return True
            return self._same_value(value, other_value)
        return self._same_value(truth, answer)

    def _same_named(self, truth: Tree, answer: Tree, left: Named | None, right: Named | None) -> bool | None:
        """Several values of which at least one side names each; None where only their trees can be compared."""
        if left is not None and right is not None:
            rows = left.rows, right.in_order_of(left.names)
        elif left is not None:
            rows = left.rows, bare_rows(answer, len(left.rows), len(left.names))
        else:
            assert right is not None
            rows = bare_rows(truth, len(right.rows), len(right.names)) or (), right.rows
        if not rows[0] or not rows[1]:
            bare = answer if right is None else truth
            unfit = (
                None in (left, right)
                and bare[0] in ("list", "pair", "tuple")
                and not any(t[0] == "rel" for t in bare[1:])
            )
            return False if unfit else None
        self.stage = "list"
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
        self, truth: Tree, answer: Tree, left: tuple[str, list[Tree]] | None, right: tuple[str, list[Tree]] | None
    ) -> bool:
        self.stage = "list"
        if left is None or right is None:
            kind, items = left or right or ("list", [])
            single = truth if left is None else answer
            if len(items) == 1 or (kind == "list" and len(items) <= _MAX_WRITINGS and single[0] not in _COMPOUND):
                # one value, written once or several times: "1/2, or 0.5"
                verdict = all(self.same(i, single) if left is not None else self.same(single, i) for i in items)
                self.stage = "list" if len(items) > 1 else self.stage
                return verdict
            _, value = named(single)
            if kind == "list" and value[0] in ("pair", "tuple") and len(value) - 1 == len(items):
                bare = [named(i)[1] for i in items]
                return all(self.same(v, i) for v, i in zip(value[1:], bare, strict=True))
            return False
        if {truth[0], answer[0]} == {"all", "any"}:
            return False
        truths, answers = left[1], right[1]
        names, other_names = [named(t)[0] for t in truths], [named(t)[0] for t in answers]
        if not _are_apart(names, other_names):
            truths = [v if n is not None else t for t, (n, v) in zip(truths, map(named, truths), strict=True)]
            answers = [v if n is not None else t for t, (n, v) in zip(answers, map(named, answers), strict=True)]
        if self.rules.order_matters and "set" not in (left[0], right[0]):
            return len(truths) == len(answers) and all(self.same(g, a) for g, a in zip(truths, answers, strict=True))
        return self._match(truths, answers)

    def _match(self, truths: list[Tree], answers: list[Tree]) -> bool:
        """Equality as sets: a value that is listed twice counts once."""
        if max(len(truths), len(answers)) > _MAX_MEMBERS:
            return [canonical(t) for t in truths] == [canonical(t) for t in answers]
        unseen = list(range(len(answers)))
        for truth in truths:
            equal = [i for i, answer in enumerate(answers) if self.same(truth, answer)]
            if not equal:
                return False
            unseen = [i for i in unseen if i not in equal]
        return not unseen

    def _same_value(self, truth: Tree, answer: Tree) -> bool:
        if truth[0] == "percent" or answer[0] == "percent":
            return self._same_percent(truth, answer)
        if truth[0] == "rel" and answer[0] == "rel":
            return self._same_relation(truth, answer)
        if truth[0] == "rel" or answer[0] == "rel":
            return False
        if truth[0] in ("pair", "tuple") and answer[0] in ("pair", "tuple"):
            self.stage = "tuple"
            return len(truth) == len(answer) and all(
                self.same(g, a) for g, a in zip(truth[1:], answer[1:], strict=True)
            )
        if truth[0] == "matrix" and answer[0] == "matrix":
            self.stage = "matrix"
            shapes = [len(r) for r in truth[1:]] == [len(r) for r in answer[1:]]
            return shapes and all(
                self.same(g, a) for rows in zip(truth[1:], answer[1:], strict=True) for g, a in zip(*rows, strict=True)
            )
        if {truth[0], answer[0]} <= {"matrix", "pair", "tuple"} and "matrix" in (truth[0], answer[0]):
            self.stage = "tuple"
            points = _as_point(truth), _as_point(answer)
            return len(points[0]) == len(points[1]) and all(map(self.same, *points))
        if truth[0] in _COMPOUND or answer[0] in _COMPOUND:
            return canonical(truth) == canonical(answer)
        return self._same_expression(truth, answer)

    def _same_percent(self, truth: Tree, answer: Tree) -> bool:
        both = truth[0] == answer[0] == "percent"
        bare_truth = truth[1] if truth[0] == "percent" else truth
        bare_answer = answer[1] if answer[0] == "percent" else answer
        if (both or self.rules.percent in ("either", "unit")) and self.same(bare_truth, bare_answer):
            return True
        if both or self.rules.percent == "unit":
            return False
        hundredth = ("num", Fraction(1, 100), -1)
        truth = ("mul", hundredth, bare_truth) if truth[0] == "percent" else truth
        answer = ("mul", hundredth, bare_answer) if answer[0] == "percent" else answer
        return self.same(truth, answer)

    def _same_region(self, truth: Tree, answer: Tree) -> bool | None:
        """Sets of reals, of which ``(a, b)`` is an open interval; None where one of the two isn't a set."""
        try:
            (left, name), (right, other_name) = region(truth), region(answer)
        except NoRegion:
            return None
        self.stage = "interval"
        if name is not None and other_name is not None and not self._same_names(name, other_name):
            return False
        if left[0] == right[0] == "interval" and left[3:] == right[3:]:
            return self.same(left[1], right[1]) and self.same(left[2], right[2])
        verdict = same_cells(left, right, self.same)
        if verdict is not None:
            return verdict
        if left[0] == right[0] == "union" and len(left) == len(right) and self._match(list(left[1:]), list(right[1:])):
            return True
        if left == truth and right == answer and len(truth[2]) == len(answer[2]) == 2:
            return None  # two relations that nobody solved yet
        self.stage = "sympy"
        return self.ask("same-region", left, right)

    def _same_relation(self, truth: Tree, answer: Tree) -> bool:
        truth, answer = upward(truth), upward(answer)
        if truth[1] == answer[1] and len(truth[2]) == len(answer[2]):
            self.stage = "relation"
            if all(self.same(g, a) for g, a in zip(truth[2], answer[2], strict=True)):
                return True
        if len(truth[2]) != 2 or truth[1] != answer[1] or truth[1][0] not in ("=", "!=", "<", "<="):
            return False
        if any(t[0] in _COMPOUND for t in (*truth[2], *answer[2])):
            return False
        left, right = _difference(truth), _difference(answer)
        if truth[1][0] in ("<", "<="):
            self.stage = "sympy"
            return not differ(left, right, up_to_factor=True) and self.ask("same-region", truth, answer)
        exact_verdict = proportional(left, right)
        if exact_verdict is not None:
            self.stage = "identity"
            return exact_verdict
        if differ(left, right, up_to_factor=True):
            self.stage = "points"
            return False
        self.stage = "sympy"
        return self.ask("proportional", left, right)

    def _same_expression(self, truth: Tree, answer: Tree) -> bool:
        left, right = exact(truth), exact(answer)
        if left is not None and right is not None:
            self.stage = "number"
            return left == right or self._is_rounded(truth, answer, left, right)
        if is_closed(truth) and is_closed(answer) and self._is_rounded(truth, answer, left, right):
            self.stage = "rounded"
            return True
        if canonical(truth) == canonical(answer):
            return True
        if any(t[0] in ("big", *_COMPOUND) or t == INFINITY for tree in (truth, answer) for t in subtrees(tree)):
            return False
        identical = rational_identity(truth, answer)
        if identical is not None:
            self.stage = "identity"
            return identical
        if differ(truth, answer):
            self.stage = "points"
            return False
        self.stage = "sympy"
        return self.ask("equal", truth, answer)

    def _is_rounded(self, truth: Tree, answer: Tree, left: object, right: object) -> bool:
        """One side is a decimal, the other a value that no decimal equals."""
        if self.rules.digits is None:
            return False
        for decimal, other, value in ((answer, truth, left), (truth, answer, right)):
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
