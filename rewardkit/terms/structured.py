"""Responses for machines: JSON and tool calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal

import regex
from pydantic import AfterValidator

from rewardkit.algebra.define import term
from rewardkit.batch import Batch, Score, Status
from rewardkit.terms.calling.call import MAX_CALLS
from rewardkit.terms.calling.reading import hermes_blocks
from rewardkit.terms.schemas import checker
from rewardkit.terms.strict_json import OverLimit, read_json

_FENCE: Final = regex.compile(r"```(?:json|JSON)?[ \t]*\n(.*)\n?```", regex.DOTALL)


def _checked_schema(schema: str | None) -> str | None:
    if schema is not None:
        checker(schema)
    return schema


@term(verdict=True, batched=True, cost="cpu")
def json_valid(
    batch: Batch,
    schema: Annotated[str | None, AfterValidator(_checked_schema)] = None,
    *,
    fenced: bool = False,
) -> Sequence[bool | Score]:
    """1 where the whole response is one JSON value that follows the schema; else 0.

    JSON is RFC 8259's: no ``NaN``, no comments, no text around it. Over 100,000 characters, 10,000 values, 64 levels
    or 1,000 digits in a number is LIMIT; a ``pattern`` of the schema that takes over 0.1 s on a string is TIMEOUT. A
    schema needs the extra ``json``. It is text, ``json_valid('{"type": "object", "required": ["answer"]}')``, of draft
    2020-12, without ``patternProperties`` and without references to other documents; it is checked when the formula is
    built.

    Args:
        batch: the responses.
        schema: a JSON schema as JSON text; None: any JSON value will do.
        fenced: the response may also be one block fenced by three backticks, with nothing around it.
    """
    follows = None if schema is None else checker(schema)
    return [_verdict(text, follows, fenced) for text in batch.responses]


def _verdict(text: str, follows: Any, fenced: bool) -> bool | Score:
    body = text.strip()
    if fenced and body.startswith("```") and (block := _FENCE.fullmatch(body)) is not None:
        body = block[1]
    try:
        value = read_json(body)
        return follows is None or bool(follows(value))
    except OverLimit as limit:
        return Score(status=Status.LIMIT, reason=str(limit))
    except TimeoutError:
        return Score(status=Status.TIMEOUT, reason="a pattern of the schema used up its time")
    except ValueError:
        return False
    except RecursionError:
        return Score(status=Status.ERROR, reason="the schema refers to itself without end")


@term(verdict=True, batched=True, cost="cpu")
def tool_call(
    batch: Batch, *, names: Sequence[str] = (), form: Literal["hermes", "openai"] = "hermes"
) -> Sequence[bool | Score]:
    """1 where the response calls at least one tool and every call is well formed; else 0.

    ``hermes`` (Nous Hermes, Qwen; what vLLM's parser of that name reads): each call stands between ``<tool_call>`` and
    ``</tool_call>``, tags in turns and none left open, and is a JSON object ``{"name": text, "arguments": object}``;
    text around the calls is free. ``openai``: the whole response is such an object, or a list of them, or
    ``{"tool_calls": [...]}`` whose entries hold the call under ``function``, with ``arguments`` as an object or as the
    JSON text of one. Whether the arguments are the right ones is not looked at.

    Args:
        batch: the responses.
        names: the tools that exist; a call of another isn't well formed. Empty: any name will do.
        form: how calls are written.
    """
    read = _hermes_calls if form == "hermes" else _openai_calls
    return [_all_formed(text, read, frozenset(names)) for text in batch.responses]


def _all_formed(text: str, read: Any, names: frozenset[str]) -> bool | Score:
    try:
        calls = read(text)
        if len(calls) > MAX_CALLS:
            raise OverLimit(f"more than {MAX_CALLS} tool calls")
        return bool(calls) and all(_is_formed(call, names) for call in calls)
    except OverLimit as limit:
        return Score(status=Status.LIMIT, reason=str(limit))
    except ValueError:
        return False


def _hermes_calls(text: str) -> list[Any]:
    return [read_json(block) for block in hermes_blocks(text)]


def _openai_calls(text: str) -> list[Any]:
    value = read_json(text.strip())
    if isinstance(value, dict) and isinstance(value.get("tool_calls"), list):
        entries = value["tool_calls"]
        if not all(isinstance(e, dict) and e.get("type", "function") == "function" for e in entries):
            return [None]
        value = [e.get("function") for e in entries]
    calls = value if isinstance(value, list) else [value]
    for call in calls:
        if isinstance(call, dict) and isinstance(call.get("arguments"), str):
            call["arguments"] = read_json(call["arguments"])
    return calls


def _is_formed(call: Any, names: frozenset[str]) -> bool:
    if not isinstance(call, dict) or not isinstance(call.get("arguments"), dict):
        return False
    name = call.get("name")
    return isinstance(name, str) and bool(name) and (not names or name in names)
