"""One problem of a data set, and what makes a row a usable one. No file, no parquet, no hub may enter.

A row in GSM8K form has a `question` and an `answer`: a worked solution, a line with `####`, and the gold number.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

MARKER: Final = "####"
_NUMBER: Final = re.compile(r"[-+]?(?:\d+|\d{1,3}(?:,\d{3})+)(?:\.\d+)?")


@dataclass(frozen=True, slots=True)
class Problem:
    """A question, its worked answer and the gold answer.

    Attributes:
        question: what the model is asked.
        answer: the worked solution as the source has it.
        gold: what a response is graded against, thousands separators removed.
        extra: what else the source knows of the row, such as its difficulty.
    """

    question: str
    answer: str
    gold: str
    extra: Mapping[str, Any] = field(default_factory=dict)


class BadRow(ValueError):
    """Why a row is not usable, in words that follow `FILE:LINE:`."""


def gsm8k_problem(row: object) -> Problem:
    """A problem from a row in GSM8K form.

    Raises:
        BadRow: a field is missing, empty or no text, `####` is missing, or what follows it is no number.
    """
    if not isinstance(row, Mapping):
        raise BadRow(f"is a {type(row).__name__}; expected an object with `question` and `answer`")
    question, answer = _text(row, "question"), _text(row, "answer")
    solution, marker, tail = answer.rpartition(MARKER)
    if not marker:
        raise BadRow(f"`answer` has no `{MARKER}` before the gold number: {_short(answer)}")
    gold = tail.strip()
    if not gold:
        raise BadRow(f"`answer` ends in `{MARKER}` with no gold number after it")
    if not _NUMBER.fullmatch(gold):
        raise BadRow(f"the gold after `{MARKER}` is {_short(gold)}; expected a number such as 42, -3.5 or 1,000")
    return Problem(question, answer, gold.replace(",", "").removeprefix("+"))


def _text(row: Mapping[str, Any], name: str) -> str:
    if name not in row:
        raise BadRow(f"has no `{name}`; its fields are {', '.join(map(repr, row)) or 'none'}")
    value = row[name]
    if not isinstance(value, str):
        raise BadRow(f"`{name}` is {_short(value)}, a {type(value).__name__}; expected text")
    if not value.strip():
        raise BadRow(f"`{name}` is empty")
    return value


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
