"""The turns of a trajectory, whatever a trainer makes its messages of: who wrote what, and which tools were called.

Messages are mappings or objects with `role` and `content`; content is a text or a list of parts. Text of a tool, of a
user or of the system is never what the policy wrote.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

POLICY_ROLES: Final = frozenset({None, "assistant", "model"})
"""Roles whose text the policy wrote. A plain text has no role, and a trainer hands one over as the policy's."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of a trajectory."""

    text: str
    role: str | None = "assistant"
    """``assistant``, ``tool``, ``user``, ...; None where the trainer doesn't say."""
    own: bool = True
    """Whether the policy wrote it."""
    tool_calls: tuple[Mapping[str, Any], ...] = ()
    """Where the trainer has them apart from the text: ``name``, and ``arguments`` as data, or text that is not JSON."""


def turns_of(chat: Any) -> tuple[Turn, ...]:
    """The turns of a chat.

    Args:
        chat: a text, None, a message, or a sequence of them; numpy arrays and the objects of OpenAI's client included.
    """
    if chat is None:
        return ()
    if isinstance(chat, str):
        return (Turn(chat, None),)
    if isinstance(chat, Mapping) or hasattr(chat, "content"):
        chat = [chat]
    return tuple(_turn(message) for message in chat)


def last_said(turns: Sequence[Turn]) -> str:
    """The text of the policy's last turn that says something; empty where it said nothing."""
    own = [turn.text for turn in turns if turn.own]
    return next((text for text in reversed(own) if text.strip()), own[-1] if own else "")


def with_last_said(turns: Sequence[Turn], text: str) -> tuple[Turn, ...]:
    """The same trajectory with another text in the place of what `last_said` gives."""
    own = [i for i, turn in enumerate(turns) if turn.own]
    if not own:
        return (*turns, Turn(text))
    at = next((i for i in reversed(own) if turns[i].text.strip()), own[-1])
    return (*turns[:at], replace(turns[at], text=text), *turns[at + 1 :])


def _turn(message: Any) -> Turn:
    if isinstance(message, Turn):
        return message
    if isinstance(message, str):
        return Turn(message, None)
    content, role = _field(message, "content"), _field(message, "role")
    if not isinstance(content, str):
        content = "".join(_text_of_part(part) for part in content or ())
    calls = _field(message, "tool_calls")
    return Turn(content, role, role in POLICY_ROLES, tuple(_calls(calls)) if calls is not None else ())


def _calls(calls: Iterable[Any]) -> Iterable[Mapping[str, Any]]:
    """Calls in the shapes of OpenAI (`function` holds name and arguments), of others (both at the top), and as JSON."""
    for call in calls:
        if isinstance(call, str):
            call = _data(call)
        inner = _field(call, "function")
        if inner is None or isinstance(inner, str):
            inner = call
        yield {"name": _field(inner, "name"), "arguments": _data(_field(inner, "arguments"))}


def _data(text: Any) -> Any:
    if not isinstance(text, str):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):  # what the policy wrote may be anything
        return text


def _text_of_part(part: Any) -> str:
    if isinstance(part, str):
        return part
    text = _field(part, "text")
    return text if isinstance(text, str) else ""


def _field(item: Any, name: str) -> Any:
    return item.get(name) if isinstance(item, Mapping) else getattr(item, name, None)
