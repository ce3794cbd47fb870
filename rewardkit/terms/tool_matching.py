"""Whether a response makes the tool calls that its row wants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ValidationInfo

from rewardkit.algebra.define import term
from rewardkit.batch import Batch, Score, Status
from rewardkit.terms.calling import rlla
from rewardkit.terms.calling.matching import share
from rewardkit.terms.calling.reading import calls_of
from rewardkit.terms.calling.wanted import wanted_calls
from rewardkit.terms.strict_json import MAX_CHARS, OverLimit
from rewardkit.turns import Turn


def _bounds(p: Mapping[str, Any]) -> tuple[float, float]:
    return rlla.BOUNDS if p["compat"] == "rlla" else (0.0, 1.0)


def _alone(compat: str | None, info: ValidationInfo) -> str | None:
    if compat is not None and (info.data.get("p_pay"), info.data.get("p_order")) != ("all", False):
        raise ValueError(f"{compat!r} has rules of its own: leave pay and order out")
    return compat


@term(bounds=_bounds, needs=("ground_truth",), reads=("turns",), batched=True, cost="cpu")
def tool_call_match(
    batch: Batch,
    *,
    pay: Literal["all", "share"] = "all",
    order: bool = False,
    compat: Annotated[Literal["rlla"] | None, AfterValidator(_alone)] = None,
) -> Sequence[float | Score]:
    """1 where the response makes the tool calls of the ground truth and no others; else 0, or the share that is right.

    Calls are paired so that most is right; each has one name and its arguments, equal as JSON: ``5`` is ``5.0`` and
    neither ``"5"`` nor ``true``, and no case or punctuation is folded. ``share`` is ``right / (wanted + wrong)`` over
    names and arguments, so that an argument or a call too many costs as much as one that is missing or wrong.

    Calls are read from the policy's turns where the trainer has them apart from the text, else from the text behind the
    reasoning: ``<tool_call>`` tags around JSON (Hermes, Qwen), or nothing but calls: JSON with ``arguments`` (OpenAI)
    or ``parameters`` (Llama 3.1), one after another or in a list, or Python's ``[f(a=1), g()]``. A call that no parser
    would read spoils the response. A response that says nothing is NO_ANSWER; over 64 calls, 100,000 characters of
    JSON or 10,000 of Python is LIMIT.

    The ground truth is a list of calls in any of these shapes, as data or as text, or BFCL's
    ``[{"f": {"a": [1, 2], "b": ["x", ""]}}]``, where any of the listed values is right and an empty text says that the
    argument may be left out; such an argument is worth nothing, and costs where it is wrong. ``[]`` wants no call, and
    pays a response without any. Source: the AST check of the Berkeley Function-Calling Leaderboard (Patil et al.
    2025), which also folds case and punctuation and takes the first pairing that fits.

    Args:
        batch: the responses and their ground truths.
        pay: ``all``: all or nothing; ``share``: the share of names and arguments that are right.
        order: whether calls must come in the ground truth's order.
        compat: ``rlla``: ToolRL's reward for format and calls, between -3 and 4, with verl's values.
    """
    assert batch.ground_truths is not None and batch.turns is not None  # declared
    if compat == "rlla":
        return [_rlla(text, truth) for text, truth in zip(batch.responses, batch.ground_truths, strict=True)]
    return [
        _matched(turns or (), truth, pay == "all", order)
        for turns, truth in zip(batch.turns, batch.ground_truths, strict=True)
    ]


def _matched(turns: Sequence[Turn], ground_truth: Any, everything: bool, in_order: bool) -> float | Score:
    try:
        wanted = wanted_calls(ground_truth)
    except ValueError as e:
        return Score(status=Status.BAD_GOLD, reason=f"no tool calls: {e}"[:300])
    try:
        calls = calls_of(turns)
    except OverLimit as limit:
        return Score(status=Status.LIMIT, reason=str(limit))
    except ValueError:
        return 0.0
    if calls is None:
        return Score(status=Status.NO_ANSWER, reason="the response says nothing")
    if everything and len(calls) != len(wanted):
        return 0.0
    value = share(calls, wanted, in_order=in_order)
    return float(value == 1.0) if everything else value


def _rlla(text: str, ground_truth: Any) -> float | Score:
    try:
        wanted = rlla.wanted_by(ground_truth)
    except ValueError as e:
        return Score(status=Status.BAD_GOLD, reason=f"no row of ToolRL's: {e}"[:300])
    if len(text) > MAX_CHARS:
        return Score(status=Status.LIMIT, reason=f"more than {MAX_CHARS} characters")
    return rlla.score(text, ground_truth, wanted)
