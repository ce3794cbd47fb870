"""A user's examples of what a reward should pay: a file of rows, or the list EXAMPLES of a Python file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rewardkit.batch import Sample
from rewardkit.errors import BadRow, ConfigError, DataError
from rewardkit.scoring.fields import SPELLINGS, RawRow, column
from rewardkit.scoring.reading import Rows

_FIELDS = tuple(SPELLINGS)


@dataclass(frozen=True, slots=True)
class Example:
    """A response and what it should be paid.

    Attributes:
        sample: the response and its row.
        pay: what it should be paid; None where the example doesn't say.
    """

    sample: Sample
    pay: float | None


def examples_of_file(path: Path, limit: int = 2_000) -> list[Example]:
    """The rows of a file, as `rewardkit score` reads them; `score` is what a row should be paid.

    Raises:
        DataError: no such file, no rows, or a row that can't be read.
    """
    source = Rows(path, None)
    examples: list[Example] = []
    for chunk in source.chunks(limit):
        for row, place in zip(chunk.rows, chunk.numbers, strict=True):
            try:
                examples.append(_example(row))
            except BadRow as e:
                raise source.error(place, e) from None
            if len(examples) >= limit:
                return examples
    if not examples:
        raise DataError(f"{source.name} has no rows")
    return examples


def _example(row: RawRow) -> Example:
    values = {f: column([row], f)[0] for f in _FIELDS if f not in ("tokens", "group")}
    if row.get("tokens") is not None:
        values["tokens"] = column([row], "tokens")[0]
    if any(row.get(name) is not None for name in ("group", "uid")):
        values["group"] = column([row], "group")[0]
    score = row.get("score")
    if score is not None and (isinstance(score, bool) or not isinstance(score, int | float)):
        raise BadRow(f"`score` is {score!r}; expected a number")
    return Example(Sample(**values), None if score is None else float(score))


def examples_of_module(listed: Any, where: str) -> list[Example]:
    """The list EXAMPLES of a reward file: tuples of response, ground truth, pay, and what else the row holds.

    Raises:
        ConfigError: not such a list.
    """
    if not isinstance(listed, Sequence) or isinstance(listed, str):
        raise ConfigError(f"{where}: EXAMPLES is a {type(listed).__name__}; expected a list of tuples")
    return list(_listed(listed, where))


def _listed(listed: Sequence[Any], where: str) -> Iterator[Example]:
    for i, entry in enumerate(listed):
        if not isinstance(entry, tuple | list) or len(entry) not in (3, 4) or not isinstance(entry[0], str):
            raise ConfigError(
                f"{where}: EXAMPLES[{i}] is {entry!r}; expected (response, ground_truth, pay) or these and a dict"
            )
        response, ground_truth, pay, *more = entry
        fields = dict(more[0]) if more else {}
        if isinstance(fields.get("tokens"), int):
            fields["tokens"] = [1] * fields["tokens"]
        try:
            yield Example(Sample(response, ground_truth, **fields), float(pay))
        except TypeError as e:
            raise ConfigError(f"{where}: EXAMPLES[{i}]: {e}") from None
