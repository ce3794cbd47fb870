"""Real rows to audit on: a prompt and its ground truth, from whatever file holds them.

Read are the columns of `rewardkit score` (:mod:`rewardkit.scoring.fields`), verl's parquet, and what public data sets
call these: `question` or `problem`, and `answer`, `gold` or `solution`. A response is welcome and not needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from rewardkit.audit.ground_truths import GroundTruth, truth_of
from rewardkit.audit.programs.truth import program_truth
from rewardkit.batch import Sample
from rewardkit.errors import BadRow, DataError
from rewardkit.scoring.fields import RawRow, column
from rewardkit.scoring.reading import Rows
from rewardkit.turns import Turn

MOST_READ: Final = 200
"""Rows that are read; what is audited is spread over them."""
_PROMPTS: Final = ("question", "problem")
_GROUND_TRUTHS: Final = ("gold", "answer", "solution", "target")
_FIELDS: Final = ("response", "ground_truth", "prompt", "data_source", "extra_info")


@dataclass(frozen=True, slots=True)
class Problem:
    """One row: what the reward is told about it, and its ground truth as a short text."""

    ground_truth: Any
    truth: GroundTruth
    prompt: str = ""
    data_source: str | None = None
    extra_info: Mapping[str, Any] = field(default_factory=dict)
    solution: str | None = None
    """A worked solution that ends in the ground truth, where the row has one."""
    response: str | None = None

    def sample(self, response: str, truncated: bool = False, turns: Sequence[Turn] = ()) -> Sample:
        """A response to this row. With turns, the policy's last one in them."""
        return Sample(
            response,
            ground_truth=self.ground_truth,
            prompt=self.prompt,
            data_source=self.data_source,
            extra_info=self.extra_info,
            truncated=truncated,
            turns=turns or None,
        )


class _Problems(Rows):
    """A data file whose rows need no response."""

    def _columns(self, schema: Any) -> list[str]:
        known = {*_FIELDS, *_PROMPTS, *_GROUND_TRUTHS, "responses", "output", "input", "gts", "reward_model"}
        return [name for name in schema.names if name in known]


def read_problems(path: Path, most: int) -> tuple[Problem, ...]:
    """Problems of a file, spread evenly over its first rows, each ground truth once where there are enough.

    Raises:
        DataError: no such file, no rows, a row that can't be read, or none with a usable ground truth.
        MissingDependencyError: parquet without pyarrow.
    """
    source = _Problems(path, _FIELDS)
    problems: list[Problem] = []
    seen = 0
    first: RawRow = {}
    for chunk in source.chunks(4 * MOST_READ):
        for row, number in zip(chunk.rows, chunk.numbers, strict=True):
            first = first or row
            seen += 1
            try:
                problem = problem_of(row)
            except BadRow as e:
                raise source.error(number, e) from None
            if problem is not None:
                problems.append(problem)
            if len(problems) >= MOST_READ or seen >= 4 * MOST_READ:
                break
        if len(problems) >= MOST_READ or seen >= 4 * MOST_READ:
            break
    if not seen:
        raise DataError(f"{source.name} has no rows")
    if not problems:
        fields = ", ".join(f"`{name}`" for name in first) or "none"
        raise DataError(
            f"no row of {source.name} has a ground truth; the first row's fields are {fields}",
            hint="name it `ground_truth` (or `reward_model.ground_truth`, `answer`, `gold`, `solution`)",
        )
    return spread(problems, most)


def spread(problems: Sequence[Problem], most: int) -> tuple[Problem, ...]:
    """At most so many, evenly spaced, different ground truths first."""
    fresh = list({p.truth.text: p for p in reversed(problems)}.values())[::-1]
    chosen = fresh if len(fresh) >= most else list(problems)
    step = max(1, len(chosen) // most)
    return tuple(chosen[::step][:most])


def _reference(row: RawRow) -> str | None:
    """A reference program of a row, where it has one."""
    extra = row.get("extra_info")
    value = extra.get("solution") if isinstance(extra, Mapping) else None
    return value if isinstance(value, str) and value.strip() else None


def problem_of(row: RawRow) -> Problem | None:
    """The problem that a row states. None where it has no ground truth that can be used.

    Raises:
        BadRow: a field is of the wrong type.
    """
    truth = column([row], "ground_truth")[0]
    solution: str | None = None
    for name in _GROUND_TRUTHS:
        value = row.get(name)
        if value is None:
            continue
        if truth is None:
            truth = value
        if isinstance(value, str) and ("####" in value or "\\boxed" in value):
            solution = value
    solution = _reference(row) or solution
    expected: GroundTruth | None = program_truth(truth, solution)
    if expected is None:
        expected = truth_of(truth)
    if expected is None:
        return None
    if truth is solution:  # what a trainer's preparation hands to a reward is the answer, not the work
        truth = expected.text
    prompt = column([row], "prompt")[0]
    for name in _PROMPTS:
        if prompt is None and isinstance(row.get(name), str):
            prompt = row[name]
    has_response = any(row.get(name) is not None for name in ("response", "responses", "output"))
    return Problem(
        ground_truth=truth,
        truth=expected,
        prompt=prompt or "",
        data_source=column([row], "data_source")[0],
        extra_info=column([row], "extra_info")[0],
        solution=solution,
        response=column([row], "response")[0] if has_response else None,
    )
