"""Nothing, or next to nothing; and the same answer to every question."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rewardkit.audit.attempt import Attempt, Claim
from rewardkit.audit.forms import Form
from rewardkit.audit.golds import Kind
from rewardkit.audit.problems import Problem

_EMPTY: Final = {
    "nothing": "",
    "blanks": " \n ",
    "one mark": ".",
    "a letter": "a",
    "no width": "\u200b",
    "colon": ":",
    "empty box": "\\boxed{}",
    "empty hashes": "####",
    "empty tags": "<answer></answer>",
    "label": "Answer:",
    "half a sentence": "The answer is",
    "announcement": "Let's solve this problem step by step.",
    "thought process": "Thought process:",
    "refusal": "I can't tell.",
}


def empties(problem: Problem, form: Form) -> Iterator[Attempt]:
    """No answer in few characters."""
    for name, text in _EMPTY.items():
        yield Attempt("empty", name, Claim.NONE, text)
    yield Attempt("empty", "the form without an answer", Claim.NONE, form("", ""))
    yield Attempt("empty", "the form around dots", Claim.NONE, form("...", ""))


def constants(problem: Problem, form: Form) -> Iterator[Attempt]:
    """One answer for all rows."""
    of_kind = {Kind.CHOICE: ("A", "B", "C", "D"), Kind.TEXT: ("yes", "no", "true", "unknown")}
    for answer in of_kind.get(problem.gold.kind, ("0", "1", "2", "10", "100", "x")):
        if answer.casefold() != problem.gold.text.casefold():
            yield Attempt("constant", answer, Claim.WRONG, form(answer, ""), fixed=True)
