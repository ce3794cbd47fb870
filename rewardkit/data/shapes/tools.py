"""Tool calls: BFCL's questions with their functions and accepted answers."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from rewardkit.data.files import file_rows
from rewardkit.data.rows import Problem, Row, as_json, messages_field, short, value_of
from rewardkit.data.shapes.shape import Shape
from rewardkit.errors import BadRow, DataError

_SYSTEM: Final = (
    "You may call functions to answer the user. Write each call as a JSON object with `name` and `arguments` between "
    "<tool_call> and </tool_call>. If no function fits, or an argument is missing, say so and call none.\n\n"
    "The functions, one a line:\n{functions}"
)


def bfcl_problem(row: object) -> Problem:
    """A problem of one turn from `question`, `function` and the accepted `ground_truth`.

    The functions stand in a system message. The ground truth is BFCL's own: of each call its function, and for each
    argument the values that are accepted.

    Raises:
        BadRow: a field is missing, or the question has several turns.
    """
    turns, functions = value_of(row, "question"), value_of(row, "function")
    if isinstance(turns, list) and turns and isinstance(turns[0], list):
        if len(turns) != 1:
            raise BadRow(f"`question` has {len(turns)} turns; expected one")
        turns = turns[0]
    if not isinstance(functions, list):
        raise BadRow(f"`function` is {short(functions)}; expected a list of functions")
    if isinstance(row, Mapping) and "ground_truth" not in row:
        raise BadRow("has no `ground_truth`; give the file of accepted answers: --answers FILE")
    prompt = messages_field({"question": turns}, "question")
    system = _SYSTEM.format(functions="\n".join(json.dumps(f, ensure_ascii=False) for f in functions))
    if prompt[0]["role"] == "system":
        system, prompt = f"{prompt[0]['content']}\n\n{system}", prompt[1:]
    return Problem([{"role": "system", "content": system}, *prompt], as_json(value_of(row, "ground_truth")))


def with_answers(rows: Iterable[Row], answers: Mapping[Any, Any]) -> list[Row]:
    """Rows with the accepted answers of their `id`; a row of BFCL's irrelevance sets accepts no call at all."""
    return [dataclasses.replace(row, value=_answered(row.value, answers)) for row in rows]


def accepted(path: Path) -> dict[Any, Any]:
    """The accepted answers of a file, by `id`.

    Raises:
        DataError: the file can't be read, or a row of it has no `id` or `ground_truth`.
    """
    answers = {}
    for row in file_rows(path, None):
        try:
            answers[value_of(row.value, "id")] = value_of(row.value, "ground_truth")
        except BadRow as why:
            raise DataError(f"{row.where}: {why}; expected accepted answers with `id` and `ground_truth`") from None
    return answers


def _answered(row: object, answers: Mapping[Any, Any]) -> object:
    if not isinstance(row, Mapping) or "ground_truth" in row:
        return row
    key = row.get("id")
    if key in answers:
        return {**row, "ground_truth": answers[key]}
    if isinstance(key, str) and "irrelevance" in key:
        return {**row, "ground_truth": []}
    return BadRow(f"`id` is {short(key)}, which the file of answers has not")


BFCL: Final = Shape(
    "bfcl",
    "bfcl",
    "tools",
    bfcl_problem,
    "tool_call_match()",
)
