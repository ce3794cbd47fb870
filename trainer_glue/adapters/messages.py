"""The text of a chat, whatever a trainer makes its messages of.

Messages are mappings or objects with `role` and `content`; content is a text or a list of parts. The response is what
the policy wrote: text of a tool, of a user or of the system is never part of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

POLICY_ROLES: Final = frozenset({None, "assistant", "model"})
"""Roles whose text the policy wrote. A plain text has no role, and a trainer hands one over as the policy's."""


class Message(NamedTuple):
    """One message of a chat."""

    role: str | None
    text: str


def messages_of(chat: Any) -> list[Message]:
    """Role and text of each message of a chat.

    Args:
        chat: a text, None, or a sequence of messages; numpy arrays and the objects of OpenAI's client included.
    """
    if chat is None:
        return []
    if isinstance(chat, str):
        return [Message(None, chat)]
    if isinstance(chat, Mapping) or hasattr(chat, "content"):
        chat = [chat]
    return [_message(message) for message in chat]


def prompt_text(chat: Any) -> str:
    """The text of a prompt: the texts of its messages, a blank line between them."""
    return "\n\n".join(message.text for message in messages_of(chat) if message.text)


def reply_text(chat: Any) -> str:
    """The text of a response: the policy's last message that says something; empty where it said nothing."""
    said = [message.text for message in messages_of(chat) if message.role in POLICY_ROLES and message.text]
    return said[-1] if said else ""


def _message(message: Any) -> Message:
    if isinstance(message, str):
        return Message(None, message)
    content = _field(message, "content")
    if not isinstance(content, str):
        content = "".join(_text_of_part(part) for part in content or ())
    return Message(_field(message, "role"), content)


def _text_of_part(part: Any) -> str:
    if isinstance(part, str):
        return part
    text = _field(part, "text")
    return text if isinstance(text, str) else ""


def _field(item: Any, name: str) -> Any:
    return item.get(name) if isinstance(item, Mapping) else getattr(item, name, None)
