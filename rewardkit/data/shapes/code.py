"""Programs: HumanEval, MBPP, APPS and CodeContests as they come, with their tests as the ground truth.

A reference solution that a row has is kept in `extra_info.solution`; `rewardkit audit` takes it for a right answer.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from rewardkit.data.rows import Problem, as_json, asked, short, text_field, value_of
from rewardkit.data.shapes.shape import Shape
from rewardkit.errors import BadRow

GRADED_BY: Final = "code_tests()"
_PYTHON: Final = 3
"""The number that CodeContests has for Python 3."""
_BLOCK: Final = "Answer with the whole program in one ```python block."


def humaneval_problem(row: object) -> Problem:
    """A problem of HumanEval: `prompt`, `test` and `entry_point`; `canonical_solution` where it is there.

    Raises:
        BadRow: a field is missing.
    """
    prompt, test, entry = (text_field(row, name) for name in ("prompt", "test", "entry_point"))
    assert isinstance(row, Mapping)
    solution = row.get("canonical_solution")
    extra = {"task_id": str(row.get("task_id", "")), "solution": prompt + solution if isinstance(solution, str) else ""}
    text = f"Complete this function.\n\n```python\n{prompt.rstrip()}\n```\n\n{_BLOCK}"
    return Problem(asked(text), as_json({"prompt": prompt, "test": test, "entry_point": entry}), extra)


def mbpp_problem(row: object) -> Problem:
    """A problem of MBPP: `text` or `prompt`, `test_list`; and `test_setup_code`, `test_imports`, `code`, if there.

    The prompt shows the first test alone: it says the function's name, and the rest can't be answered by heart.

    Raises:
        BadRow: a field is missing, or there are no tests.
    """
    tests = value_of(row, "test_list")
    if not isinstance(tests, list) or not tests or not all(isinstance(t, str) for t in tests):
        raise BadRow(f"`test_list` is {short(tests)}; expected a list of assertions")
    assert isinstance(row, Mapping)
    question = text_field(row, "text" if "text" in row else "prompt")
    truth = {name: row[name] for name in ("test_list", "test_setup_code", "test_imports") if row.get(name)}
    extra = {"task_id": str(row.get("task_id", "")), "solution": str(row.get("code") or "")}
    text = f"{question.strip()}\nOne of its tests: {tests[0].strip()}\n\n{_BLOCK}"
    return Problem(asked(text), as_json(truth), extra)


def apps_problem(row: object) -> Problem:
    """A problem of APPS or TACO: `question`, and `input_output` with `inputs`, `outputs` and maybe `fn_name`.

    Raises:
        BadRow: a field is missing, or the tests are no JSON.
    """
    question, tests = text_field(row, "question"), _parsed(row, "input_output")
    assert isinstance(row, Mapping)
    if not isinstance(tests, Mapping) or "inputs" not in tests or "outputs" not in tests:
        raise BadRow(f"`input_output` is {short(tests)}; expected `inputs` and `outputs`")
    starter = str(row.get("starter_code") or "").strip()
    how = "Read from standard input and write to standard output."
    if tests.get("fn_name"):
        how = f"Write the function `{tests['fn_name']}`."
    if starter:
        how += f" Begin with this:\n\n```python\n{starter}\n```"
    solutions = _parsed(row, "solutions") if row.get("solutions") else []
    extra = {
        "difficulty": str(row.get("difficulty") or ""),
        "solution": str(solutions[0]) if isinstance(solutions, list) and solutions else "",
    }
    return Problem(asked(f"{question.strip()}\n\n{how} {_BLOCK}"), as_json(tests), extra)


def codecontests_problem(row: object) -> Problem:
    """A problem of CodeContests: `description`, and `public_tests`, `private_tests`, `generated_tests`.

    Raises:
        BadRow: a field is missing, the statement has an image, or there are no tests.
    """
    statement = text_field(row, "description")
    assert isinstance(row, Mapping)
    if "<image>" in statement:
        raise BadRow("`description` has an image, which no text shows")
    inputs: list[Any] = []
    outputs: list[Any] = []
    for name in ("public_tests", "private_tests", "generated_tests"):
        group = row.get(name) or {}
        if not isinstance(group, Mapping):
            raise BadRow(f"`{name}` is {short(group)}; expected an object with `input` and `output`")
        inputs += group.get("input") or []
        outputs += group.get("output") or []
    if not inputs:
        raise BadRow("has no tests in `public_tests`, `private_tests` or `generated_tests`")
    text = f"{statement.strip()}\n\nRead from standard input and write to standard output. {_BLOCK}"
    extra = {"difficulty": str(row.get("difficulty") or ""), "solution": _in_python(row.get("solutions"))}
    return Problem(asked(text), as_json({"inputs": inputs, "outputs": outputs}), extra)


def _in_python(solutions: Any) -> str:
    """The first solution in Python 3."""
    if not isinstance(solutions, Mapping):
        return ""
    pairs = zip(solutions.get("language") or [], solutions.get("solution") or [], strict=False)
    return next((str(text) for language, text in pairs if language in (_PYTHON, "PYTHON3")), "")


def _parsed(row: object, name: str) -> Any:
    value = value_of(row, name)
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError) as why:
        raise BadRow(f"`{name}` is no JSON: {why}") from None


HUMANEVAL: Final = Shape(
    "humaneval", "openai_humaneval", "code", humaneval_problem,
    GRADED_BY,
)  # fmt: skip
MBPP: Final = Shape("mbpp", "mbpp", "code", mbpp_problem, GRADED_BY)
APPS: Final = Shape(
    "apps", "apps", "code", apps_problem,
    GRADED_BY,
)  # fmt: skip
CODECONTESTS: Final = Shape(
    "codecontests", "codecontests", "code",
    codecontests_problem, GRADED_BY,
)  # fmt: skip
