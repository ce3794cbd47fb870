"""The text of a chat, whatever a trainer makes its messages of; :mod:`rewardkit.turns` reads them.

The response is what the policy wrote: text of a tool, of a user or of the system is never part of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from rewardkit.turns import Turn, last_said, turns_of

TURNS_OF_ONE_ANSWER: Final = 2
"""The number of turns that verl counts for a question and its answer."""


def prompt_text(chat: Any) -> str:
    """The text of a prompt: the texts of its messages, a blank line between them."""
    return "\n\n".join(turn.text for turn in turns_of(chat) if turn.text)


def reply_text(chat: Any) -> str:
    """The text of a response: the policy's last message that says something; empty where it said nothing."""
    return chat if isinstance(chat, str) else last_said(turns_of(chat))


def turn_column(chats: Sequence[Any], needs: frozenset[str]) -> list[tuple[Turn, ...]] | None:
    """The turns of each chat, where a formula needs them."""
    return [turns_of(chat) for chat in chats] if "turns" in needs else None
