"""ToolRL's reward as verl ships it (``reward_score/rlla.py``), value for value, faults included.

Format is worth 1. Calls are worth -3 to 3: names by the Jaccard index of their multisets, then for each wanted call, in
turn, the argument names' Jaccard index and the number of equal values, of the call that has most.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any, Final

import regex

BOUNDS: Final = (-3.0, 4.0)

_OPENING, _CLOSING = "<tool_call>", "</tool_call>"
_CALL: Final = r"<tool_call>\n.*?\n</tool_call>"
_REPLY: Final = r"<response>.*?</response>"
_FORMS: Final = {
    (calls, reply): regex.compile(
        "^<think>.*?</think>" + (rf"\n{_CALL}" if calls else "") + (rf"\n{_REPLY}" if reply else "") + "$", regex.DOTALL
    )
    for calls in (False, True)
    for reply in (False, True)
}


def wanted_by(ground_truth: Any) -> list[Any] | None:
    """The calls of a ground truth; None where it has no ``<tool_call>``, and then only format is paid.

    Raises:
        ValueError: it can't be read.
    """
    if not isinstance(ground_truth, str):
        raise ValueError("expected a text as ToolRL's data has it, with <tool_call> or <response>")
    if _OPENING not in ground_truth:
        return None
    calls = _calls(ground_truth)
    if not all(isinstance(c, dict) and "name" in c and isinstance(c.get("parameters"), dict) for c in calls):
        raise ValueError("a call has no `name`, or no `parameters` that are an object")
    return calls


def score(response: str, ground_truth: str, wanted: list[Any] | None) -> float:
    """``format + calls`` of one response."""
    text = response.strip()
    return _format(text, ground_truth) + (0.0 if wanted is None else _worth(text, wanted))


def _format(text: str, ground_truth: str) -> float:
    calls, reply = _OPENING in ground_truth, "<response>" in ground_truth
    tags = [*((_OPENING, _CLOSING) if calls else ()), *(("<response>", "</response>") if reply else ())]
    return float(
        all(text.count(tag) == 1 for tag in tags)  # first: tags without end are dear for the pattern
        and _FORMS[calls, reply].search(text) is not None
    )


def _worth(text: str, wanted: list[Any]) -> float:
    if _OPENING not in text or _CLOSING not in text:
        return -3.0
    try:
        given = _calls(text)
        return 3.0 if given == wanted else _pairwise(given, wanted)
    except Exception:  # one call that lacks what is looked for costs all
        return -3.0


def _pairwise(given: list[Any], wanted: list[Any]) -> float:
    got = _jaccard([call["name"] for call in wanted], [call["name"] for call in given])
    most, used = 1.0, set()
    for call in wanted:
        parameters = call["parameters"]
        most += 1.0 + len(parameters)
        best, which = 0.0, -1
        for i, other in enumerate(given):
            if i in used or other["name"] != call["name"]:
                continue
            theirs = other["parameters"]
            worth = _jaccard(list(parameters.keys()), list(theirs.keys()))
            worth += sum(1.0 for name, value in parameters.items() if name in theirs and theirs[name] == value)
            if worth > best:
                best, which = worth, i
        if which >= 0:
            used.add(which)
            got += best
    return 6.0 * got / most - 3.0


def _jaccard(one: list[Any], other: list[Any]) -> float:
    if one == other:
        return 1.0
    common = (Counter(one) & Counter(other)).total()
    return common / (len(one) + len(other) - common)


def _calls(text: str) -> list[Any]:
    return [json.loads(line) for line in text.split(_OPENING)[1].split(_CLOSING, 1)[0].strip().split("\n")]
