"""One problem of a data set, and what makes a row a usable one. No file, no parquet, no hub may enter.

A row in GSM8K form has a `question` and an `answer`: a worked solution, the marker `####`, and the final number.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from rewardkit.errors import BadRow, DataError, listed

MARKER: Final = "####"
SHOWN_BAD_ROWS: Final = 20
"""Bad rows that an error names; of more it gives the number. A file of another form is bad in every row."""
_NUMBER: Final = re.compile(r"[-+]?(?:\d+|\d{1,3}(?:,\d{3})+)(?:\.\d+)?|[-+]?\.\d+")


@dataclass(frozen=True, slots=True)
class Problem:
    """A question, its worked answer and the ground truth.

    Attributes:
        question: what the model is asked.
        answer: the worked solution as the source has it.
        ground_truth: what a response is graded against, thousands separators removed.
        extra: what else the source knows of the row.
    """

    question: str
    answer: str
    ground_truth: str
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Row:
    """A row as its source gives it, before anything is known to be right with it.

    Attributes:
        where: `FILE:LINE`, or the like for a source without lines.
        value: what stands there, or the BadRow that reading it raised.
    """

    where: str
    value: object


def gsm8k_problem(row: object) -> Problem:
    """A problem from a row in GSM8K form.

    Raises:
        BadRow: a field is missing, empty or no text, `####` is missing, or what follows it is no number.
    """
    question, answer = text_field(row, "question"), text_field(row, "answer")
    _, marker, tail = answer.rpartition(MARKER)
    if not marker:
        raise BadRow(f"`answer` has no `{MARKER}` before the final number: {_short(answer)}")
    ground_truth = tail.strip()
    if not ground_truth:
        raise BadRow(f"`answer` ends in `{MARKER}` with no number after it")
    if not _NUMBER.fullmatch(ground_truth):
        raise BadRow(
            f"the ground truth after `{MARKER}` is {_short(ground_truth)}; expected a number such as 42, -3.5 or 1,000"
        )
    return Problem(question, answer, ground_truth.replace(",", "").removeprefix("+"))


def text_field(row: object, name: str) -> str:
    """A field of a row that must hold text.

    Raises:
        BadRow: the row is no object, or the field is missing, no text, or blank.
    """
    if isinstance(row, BadRow):
        raise row
    if not isinstance(row, Mapping):
        raise BadRow(f"is a {type(row).__name__}; expected an object with `question` and `answer`")
    if name not in row:
        raise BadRow(f"has no `{name}`; its fields are {listed(row)}")
    value = row[name]
    if not isinstance(value, str):
        raise BadRow(f"`{name}` is {_short(value)}, a {type(value).__name__}; expected text")
    if not value.strip():
        raise BadRow(f"`{name}` is empty")
    return value


def refuse(bad: Iterable[tuple[str, BadRow]], total: int) -> DataError:
    """One error that names the bad rows.

    Args:
        bad: where each is, and why it is bad.
        total: rows that were read.
    """
    refused = list(bad)
    lines = [f"{where}: {why}" for where, why in refused[:SHOWN_BAD_ROWS]]
    if len(refused) > SHOWN_BAD_ROWS:
        lines.append(f"and {len(refused) - SHOWN_BAD_ROWS} more")
    rows = "row is" if len(refused) == 1 else "rows are"
    return DataError("\n  ".join([f"{len(refused)} of {total} {rows} not usable; nothing was written:", *lines]))


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
