"""Instructions that a program can check: IF-Eval, RLVR-IFeval and IF_multi_constraints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from rewardkit.data.rows import Problem, as_json, messages_field, short, truth_field, value_of
from rewardkit.data.shapes.shape import Shape
from rewardkit.errors import BadRow


def ifeval_problem(row: object) -> Problem:
    """A problem of IF-Eval (`prompt`, `instruction_id_list`, `kwargs`), or one with `messages` and `ground_truth`.

    Arguments that are null are dropped: a column of objects has every key in every row.

    Raises:
        BadRow: the prompt or the instructions are missing.
    """
    fields: Mapping[str, Any] = row if isinstance(row, Mapping) else {}
    prompt = messages_field(row, "messages" if "messages" in fields else "prompt")
    if "instruction_id_list" not in fields:
        return Problem(prompt, truth_field(row, "ground_truth"))
    ids, kwargs = value_of(row, "instruction_id_list"), fields.get("kwargs")
    kwargs = [{}] * len(ids) if kwargs is None else kwargs
    if not isinstance(ids, list) or not isinstance(kwargs, list) or len(ids) != len(kwargs) or not ids:
        raise BadRow(
            f"`instruction_id_list` is {short(ids)} and `kwargs` {short(kwargs)}; expected lists of one length"
        )
    given = [{k: v for k, v in (arguments or {}).items() if v is not None} for arguments in kwargs]
    return Problem(prompt, as_json({"instruction_id_list": ids, "kwargs": given}))


IFEVAL: Final = Shape(
    "ifeval",
    "ifeval",
    "instructions",
    ifeval_problem,
    "follows()",
)
