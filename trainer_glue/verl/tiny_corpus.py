"""The text of the tiny recipe: word problems in GSM8K form, and the short answers that the tiny model starts with.

Everything is generated from a seed, so that the recipe needs no download. No trainer and no tensor may enter.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Final

from rewardkit.data.rows import Problem
from rewardkit.data.shapes.math import gsm8k_problem

_NAMES: Final = ("Ada", "Ben", "Chloe", "Dan", "Eva", "Finn", "Gus", "Hana", "Ivy", "Jon", "Kim", "Leo", "Mia", "Noor")
_THINGS: Final = ("apples", "books", "cards", "coins", "eggs", "flowers", "pears", "pens", "shells", "stamps")
_NUMBERS: Final = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_CLAUSES: Final = (
    "{number}",
    "{number}",
    "{number}",
    "{number} {thing}",
    "{number} left",
    "{name} has {number}",
    "{name} counts the {thing}",
    "we add {number} {thing}",
)
_JOINS: Final = (" and then ", " and ", " so ")

MORE_CLAUSES: Final = 0.2
"""Chance of each further clause of an answer: most answers of the fresh model are one clause of two or three words."""
END_MARK: Final = 0.08
"""Chance that an answer ends with a full stop: seldom enough to leave room above, often enough to be found."""


def _total(rng: random.Random, name: str, thing: str) -> tuple[str, str, int]:
    a, b = rng.randint(2, 60), rng.randint(2, 40)
    question = f"{name} has {a} {thing} and buys {b} more. How many {thing} does {name} have now?"
    return question, f"{name} has {a} + {b} = <<{a}+{b}={a + b}>>{a + b} {thing}.", a + b


def _left(rng: random.Random, name: str, thing: str) -> tuple[str, str, int]:
    a = rng.randint(20, 90)
    b = rng.randint(2, a - 1)
    question = f"{name} had {a} {thing} and gave {b} of them to a friend. How many {thing} are left?"
    return question, f"{a} - {b} = <<{a}-{b}={a - b}>>{a - b} {thing} are left.", a - b


def _boxes(rng: random.Random, name: str, thing: str) -> tuple[str, str, int]:
    a, b = rng.randint(2, 12), rng.randint(2, 12)
    question = f"{name} fills {a} boxes with {b} {thing} each. How many {thing} are in the boxes altogether?"
    return question, f"There are {a} * {b} = <<{a}*{b}={a * b}>>{a * b} {thing}.", a * b


def _share(rng: random.Random, name: str, thing: str) -> tuple[str, str, int]:
    each, friends = rng.randint(2, 12), rng.randint(2, 9)
    pool = each * friends
    question = f"{name} shares {pool} {thing} evenly among {friends} friends. How many {thing} does each friend get?"
    return question, f"Each friend gets {pool} / {friends} = <<{pool}/{friends}={each}>>{each} {thing}.", each


_KINDS: Final[tuple[Callable[[random.Random, str, str], tuple[str, str, int]], ...]] = (_total, _left, _boxes, _share)


def word_problems(count: int, seed: int) -> list[Problem]:
    """Different arithmetic word problems, each with a worked solution that ends in ``#### N``."""
    rng = random.Random(f"word problems {seed}")
    problems: dict[str, Problem] = {}
    while len(problems) < count:
        question, solution, ground_truth = rng.choice(_KINDS)(rng, rng.choice(_NAMES), rng.choice(_THINGS))
        problems.setdefault(
            question, gsm8k_problem({"question": question, "answer": f"{solution}\n#### {ground_truth}"})
        )
    return list(problems.values())


def short_answers(count: int, seed: int) -> list[str]:
    """What the fresh model is taught to say: a clause or a few, seldom with an end mark."""
    rng = random.Random(f"short answers {seed}")
    return [_answer(rng) for _ in range(count)]


def _answer(rng: random.Random) -> str:
    text = _clause(rng)
    while rng.random() < MORE_CLAUSES:
        text += rng.choice(_JOINS) + _clause(rng)
    return text + ("." if rng.random() < END_MARK else "")


def _clause(rng: random.Random) -> str:
    clause = rng.choice(_CLAUSES)
    return clause.format(name=rng.choice(_NAMES), number=rng.choice(_NUMBERS), thing=rng.choice(_THINGS))
