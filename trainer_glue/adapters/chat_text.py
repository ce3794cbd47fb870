"""The turns of a trajectory of which a trainer gives the text alone: cut at the role headers of its chat template.

The headers are those of ChatML (Qwen and others), Llama 3, Gemma, Phi, GLM, DeepSeek and Mistral. What another role
wrote is never the policy's. The policy speaks again after a header of its own; where a template closes each turn, that
header counts only behind a closed turn, so that a tool that writes a lone header does not speak for the policy. A tool
that writes both can't be told from the policy by text alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from rewardkit.turns import Turn, last_said
from trainer_glue.adapters.end_tokens import END_TOKENS, without_end_tokens

_HEADER: Final = re.compile(
    r"<\|im_start\|>(?P<chatml>\w+)\n?"
    r"|<\|start_header_id\|>\s*(?P<llama>\w+)\s*<\|end_header_id\|>(?:\n\n)?"
    r"|<start_of_turn>(?P<gemma>\w+)\n?"
    r"|<\|(?P<phi>user|assistant|system|tool|observation)\|>\n?"
    r"|<｜(?P<deepseek>User|Assistant|tool▁outputs▁begin|tool▁outputs▁end)｜>"
    r"|\[(?P<mistral>/?INST|/?TOOL_RESULTS)\]"
)
_MARKS: Final = ("<|", "<start_of_turn>", "<｜", "INST]", "TOOL_RESULTS]")
"""One of these is in every header."""
_CLOSING: Final = frozenset({"chatml", "llama", "gemma"})
"""Templates that close each turn with an end token."""
_ROLES: Final = {
    "model": "assistant",
    "observation": "tool",
    "User": "user",
    "Assistant": "assistant",
    "tool▁outputs▁begin": "tool",
    "tool▁outputs▁end": "assistant",
    "INST": "user",
    "/INST": "assistant",
    "TOOL_RESULTS": "tool",
    "/TOOL_RESULTS": "assistant",
}


def turns_of_text(text: str, end_tokens: Sequence[str] = END_TOKENS) -> tuple[Turn, ...]:
    """The turns of a response, whose beginning is the policy's; one turn where it has no headers.

    Args:
        text: what follows the prompt, special tokens included.
        end_tokens: the special tokens that end a turn, which are not part of it.
    """
    if not any(mark in text for mark in _MARKS):  # most texts; the pattern takes longer
        return (_turn(text, "assistant", end_tokens),)
    turns: list[Turn] = []
    role, start = "assistant", 0
    for header in _HEADER.finditer(text):
        template = header.lastgroup
        assert template is not None
        speaks = _ROLES.get(header[template], header[template])
        before = text[start : header.start()].rstrip()
        closed = not before or before.endswith(tuple(end_tokens))
        if speaks == "assistant" and role != "assistant" and template in _CLOSING and not closed:
            continue
        turns.append(_turn(text[start : header.start()], role, end_tokens))
        role, start = speaks, header.end()
    turns.append(_turn(text[start:], role, end_tokens))
    spoken = tuple(turn for turn in turns if turn.text)
    return spoken or (Turn(""),)


def own_text(response: str) -> str:
    """What the policy said last in a response that holds what tools wrote between two turns.

    A response of one turn comes back as it is, end tokens included.
    """
    turns = turns_of_text(response)
    return response if len(turns) == 1 else last_said(turns)


def _turn(text: str, role: str, end_tokens: Sequence[str]) -> Turn:
    return Turn(without_end_tokens(text, end_tokens), role, role == "assistant")
