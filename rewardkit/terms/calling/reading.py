"""The calls that a response makes, in whichever of the usual forms it writes them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import regex

from rewardkit.answers.marks import visible_part
from rewardkit.terms.calling.call import MAX_CALLS, Call, Malformed
from rewardkit.terms.calling.python_calls import python_calls
from rewardkit.terms.strict_json import OverLimit, read_json, read_json_sequence
from rewardkit.turns import Turn

_OPENING: Final = "<tool_call>"
_CLOSING: Final = "</tool_call>"
_LEADS: Final = ("<|python_tag|>", "[TOOL_CALLS]")
"""What Llama and Mistral write before calls; a decoder that drops special tokens drops it."""
_FENCE: Final = regex.compile(r"```(?:json|tool_call|python)?[ \t]*\n(.*?)\n?```", regex.DOTALL)
_ARGUMENTS: Final = ("arguments", "parameters")


def calls_of(turns: Sequence[Turn]) -> list[Call] | None:
    """All calls of the policy's turns: those that the trainer has apart from the text, else those in the text.

    None where no turn says anything: an empty text, or reasoning that was cut off.

    Raises:
        ValueError: a turn means to call, and no parser would read it.
        OverLimit: too many calls, or a text over the limits of :mod:`~rewardkit.terms.strict_json`.
    """
    calls: list[Call] | None = None
    for turn in turns:
        if not turn.own:
            continue
        found = structured(turn.tool_calls) if turn.tool_calls else calls_in(turn.text)
        if found is not None:
            calls = [*(calls or ()), *found]
            if len(calls) > MAX_CALLS:
                raise OverLimit(f"more than {MAX_CALLS} tool calls")
    return calls


def structured(entries: Iterable[Mapping[str, Any]]) -> list[Call]:
    """The calls of a turn's ``tool_calls``. A call without arguments may leave them out."""
    return [call_of({**entry, "arguments": entry.get("arguments") or {}}) for entry in entries]


def calls_in(text: str) -> list[Call] | None:
    """The calls that a text makes behind its reasoning; None where it says nothing.

    Raises:
        ValueError, OverLimit: as :func:`calls_of`.
    """
    part = visible_part(text)
    body = "" if part is None else text[slice(*part)].strip()
    if not body:
        return None
    if _OPENING in body or _CLOSING in body:
        return [call_of(value) for block in hermes_blocks(body) for value in read_json_sequence(block, MAX_CALLS)]
    for lead in _LEADS:
        if body.startswith(lead):
            return _bare(body.removeprefix(lead).strip(), meant=True)
    if body.startswith("```") and (fence := _FENCE.fullmatch(body)) is not None:
        body = fence[1].strip()
    return _bare(body, meant=False)


def hermes_blocks(text: str) -> list[str]:
    """What stands between the tags ``<tool_call>`` and ``</tool_call>``.

    Raises:
        Malformed: the tags don't alternate.
        OverLimit: more than ``MAX_CALLS`` of them.
    """
    before, *parts = text.split(_OPENING, MAX_CALLS + 1)
    if _CLOSING in before:
        raise Malformed("closed before it was opened")
    if len(parts) > MAX_CALLS:
        raise OverLimit(f"more than {MAX_CALLS} tool calls")
    blocks = []
    for part in parts:
        body, closed, rest = part.partition(_CLOSING)
        if not closed or _CLOSING in rest:
            raise Malformed("tags don't alternate")
        blocks.append(body.strip())
    return blocks


def _bare(text: str, *, meant: bool) -> list[Call]:
    """The calls of a text that is nothing but calls: Python's syntax, or JSON values one after another."""
    if (calls := python_calls(text)) is not None:
        return calls
    if text.startswith(("{", "[")):
        try:
            return [call_of(entry) for value in read_json_sequence(text, MAX_CALLS) for entry in entries_of(value)]
        except ValueError:
            if meant or '"tool_calls"' in text or ('"name"' in text and any(f'"{key}"' in text for key in _ARGUMENTS)):
                raise
    elif meant:
        raise Malformed("no calls where calls were announced")
    return []


def entries_of(value: Any) -> list[Any]:
    """The entries of a list of calls, of OpenAI's ``{"tool_calls": [...]}``, or of a single call."""
    if isinstance(value, dict) and isinstance(value.get("tool_calls"), list):
        value = value["tool_calls"]
    return value if isinstance(value, list) else [value]


def call_of(entry: Any) -> Call:
    """A call in OpenAI's shape, under ``function`` or at the top, or in Llama's with ``parameters``.

    Raises:
        ValueError: it is none.
    """
    if isinstance(entry, Mapping) and isinstance(entry.get("function"), Mapping):
        entry = entry["function"]
    if not isinstance(entry, Mapping):
        raise Malformed("a call is an object")
    name = entry.get("name")
    arguments = next((entry[key] for key in _ARGUMENTS if key in entry), None)
    if isinstance(arguments, str):
        arguments = read_json(arguments)
    if not isinstance(name, str) or not name or not isinstance(arguments, dict):
        raise Malformed("a call has a name, and arguments that are an object")
    return Call(name, arguments)
