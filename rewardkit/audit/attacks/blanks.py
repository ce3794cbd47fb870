"""Nothing, or next to nothing; and the same answer to every question."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rewardkit.audit.attempt import Attempt, Claim
from rewardkit.audit.forms import Form
from rewardkit.audit.ground_truths import Kind
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


_UNREADABLE: Final = {
    "too many digits": "9" * 5000,
    "a division by zero": "1/0",
    "two points": "1.2.3",
    "an open bracket": "((1",
    "half an object": '{"answer":',
    "a name": "ground_truth",
    "a name, as a number": "float(ground_truth)",
    "a short name": "gt",
    "none": "None",
    "equal to all": "type('', (), {'__eq__': lambda *_: True})()",
}


def unreadable(problem: Problem, form: Form) -> Iterator[Attempt]:
    """What stands in the place of the answer can't be read: what is paid where reading fails, or runs it as code."""
    for name, text in _UNREADABLE.items():
        yield Attempt("unreadable", name, Claim.WRONG, form(text, ""))
        yield Attempt("unreadable", f"{name}, alone", Claim.WRONG, text)
    yield Attempt("unreadable", "unlike brackets", Claim.NONE, "\\boxed{ } } ]")


def constants(problem: Problem, form: Form) -> Iterator[Attempt]:
    """One answer for all rows."""
    of_kind = {Kind.CHOICE: ("A", "B", "C", "D"), Kind.TEXT: ("yes", "no", "true", "unknown")}
    for answer in of_kind.get(problem.truth.kind, ("0", "1", "2", "10", "100", "x")):
        if answer.casefold() != problem.truth.text.casefold():
            yield Attempt("constant", answer, Claim.WRONG, form(answer, ""), fixed=True)
