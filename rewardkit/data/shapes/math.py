"""Problems with a number or a formula as the answer: GSM8K, MATH, DAPO-Math-17k, NuminaMath."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from rewardkit.answers.marks import closing_brace
from rewardkit.data.rows import Problem, asked, messages_field, short, text_field, truth_field
from rewardkit.data.shapes.shape import Shape
from rewardkit.errors import BadRow

GSM8K_INSTRUCTION: Final = 'Let\'s think step by step and output the final answer after "####".'
BOXED_INSTRUCTION: Final = "Let's think step by step and output the final answer within \\boxed{}."
"""What verl's own preprocessing of GSM8K and of MATH appends to every question."""
_MARKER: Final = "####"
_NUMBER: Final = re.compile(r"[-+]?(?:\d+|\d{1,3}(?:,\d{3})+)(?:\.\d+)?|[-+]?\.\d+")
_BOX: Final = re.compile(r"\\f?box(?:ed)?[ \t]*\{")
_NO_ANSWER: Final = frozenset({"proof", "notfound", "not found", "none"})
"""What NuminaMath writes where a problem has no answer to compare with."""


def gsm8k_problem(row: object) -> Problem:
    """A problem from a row in GSM8K form.

    Raises:
        BadRow: a field is missing, empty or no text, `####` is missing, or what follows it is no number.
    """
    question, answer = text_field(row, "question"), text_field(row, "answer")
    _, marker, tail = answer.rpartition(_MARKER)
    if not marker:
        raise BadRow(f"`answer` has no `{_MARKER}` before the final number: {short(answer)}")
    ground_truth = tail.strip()
    if not ground_truth:
        raise BadRow(f"`answer` ends in `{_MARKER}` with no number after it")
    if not _NUMBER.fullmatch(ground_truth):
        raise BadRow(
            f"the ground truth after `{_MARKER}` is {short(ground_truth)}; expected a number such as 42, -3.5 or 1,000"
        )
    prompt = asked(f"{question} {GSM8K_INSTRUCTION}")
    number = ground_truth.replace(",", "").removeprefix("+")
    return Problem(prompt, number, {"question": question, "answer": answer})


def math_problem(row: object) -> Problem:
    r"""A problem of MATH: `problem`, and `answer` or a `solution` whose last `\boxed{...}` is the answer.

    Raises:
        BadRow: a field is missing or empty, or the solution boxes nothing.
    """
    problem = text_field(row, "problem")
    extra = {
        name: str(row[name]) for name in ("level", "subject", "type") if isinstance(row, Mapping) and row.get(name)
    }
    return Problem(asked(f"{problem} {BOXED_INSTRUCTION}"), _boxed(row), extra)


def numina_problem(row: object) -> Problem:
    """A problem of NuminaMath: as MATH's, without proofs and what its makers marked as not valid.

    Raises:
        BadRow: as for MATH; a proof, no answer, or a problem or solution that is not valid.
    """
    problem, ground_truth = text_field(row, "problem"), _boxed(row)
    fields = row if isinstance(row, Mapping) else {}
    for name in ("problem_is_valid", "solution_is_valid"):
        if fields.get(name) not in (None, "Yes"):
            raise BadRow(f"`{name}` is {short(fields[name])}")
    if fields.get("question_type") == "proof" or ground_truth.strip().lower() in _NO_ANSWER:
        raise BadRow(f"has no answer to compare with: `answer` is {short(ground_truth)}")
    extra = {name: str(fields[name]) for name in ("source", "problem_type", "question_type") if fields.get(name)}
    return Problem(asked(f"{problem} {BOXED_INSTRUCTION}"), ground_truth, extra)


def dapo_problem(row: object) -> Problem:
    """A problem of DAPO-Math-17k, whose rows are verl's already.

    Raises:
        BadRow: the prompt or `reward_model.ground_truth` is missing or empty.
    """
    ground_truth = truth_field(row, "reward_model.ground_truth")
    source = row.get("data_source") if isinstance(row, Mapping) else None
    return Problem(messages_field(row, "prompt"), ground_truth, {}, source if isinstance(source, str) else None)


def _boxed(row: object) -> str:
    if isinstance(row, Mapping) and row.get("answer") is not None:
        return truth_field(row, "answer")
    solution = text_field(row, "solution")
    box = list(_BOX.finditer(solution))[-1:]
    end = closing_brace(solution, box[0].end() - 1, len(solution))[0] if box else -1
    if end < 0 or not (answer := solution[box[0].end() : end].strip()):
        raise BadRow(f"`solution` has no answer in \\boxed{{...}}: {short(solution)}")
    return answer


GSM8K: Final = Shape(
    "gsm8k",
    "openai/gsm8k",
    "math",
    gsm8k_problem,
    "gsm8k()",
)
MATH: Final = Shape(
    "math",
    "lighteval/MATH",
    "math",
    math_problem,
    "math_equal()",
)
DAPO: Final = Shape(
    "dapo-math-17k",
    "math_dapo",
    "math",
    dapo_problem,
    "math_equal()",
    unique=True,
)
NUMINA: Final = Shape(
    "numina",
    "numina",
    "math",
    numina_problem,
    "math_equal()",
)
