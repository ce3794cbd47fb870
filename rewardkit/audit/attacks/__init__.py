"""Ways to be paid without being right, one family or a few a file.

A family is a function from a row and the form in which the reward reads answers to texts. Every text carries what it
claims, known from how it was made: no reward and no grader is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from rewardkit.audit.attacks.blanks import constants, empties, unreadable
from rewardkit.audit.attacks.bombs import bombs
from rewardkit.audit.attacks.claims import enumeration, mentions, negation
from rewardkit.audit.attacks.copies import echo
from rewardkit.audit.attacks.cuts import cuts
from rewardkit.audit.attacks.judges import injections
from rewardkit.audit.attacks.length import padding, punctuation, repetition
from rewardkit.audit.attacks.numbers import lookalikes, near_numbers
from rewardkit.audit.attacks.shape import shapes
from rewardkit.audit.attempt import Attempt
from rewardkit.audit.forms import Form
from rewardkit.audit.problems import Problem

Family = Callable[[Problem, Form], Iterator[Attempt]]

FAMILIES: Final[Mapping[str, Family]] = {
    "enumeration": enumeration,
    "negation": negation,
    "mention": mentions,
    "number": near_numbers,
    "look-alike": lookalikes,
    "empty": empties,
    "constant": constants,
    "unreadable": unreadable,
    "format": shapes,
    "echo": echo,
    "padding": padding,
    "repetition": repetition,
    "punctuation": punctuation,
    "judge": injections,
    "truncation": cuts,
}
"""By name. Those that are after time, not pay, are apart: :data:`BOMBS`."""
BOMBS: Final[Family] = bombs

__all__ = ["BOMBS", "FAMILIES", "Family"]
