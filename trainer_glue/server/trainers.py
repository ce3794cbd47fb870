"""Requests in the shapes of trainers that ask a server for rewards, as rows, and the answers that they read.

slime posts a text at a time, NeMo Gym a whole rollout in the form of OpenAI's Responses API. Neither has a word for
"unscored", so such a row is refused with its reason: a number would teach.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from rewardkit.engine.scores import Scores
from rewardkit.errors import BadRow
from trainer_glue.adapters.chat_text import own_text
from trainer_glue.adapters.messages import prompt_text

TRUTHS: Final = ("ground_truth", "expected_answer", "label", "answer", "target")
"""Fields of a NeMo Gym row that hold the ground truth; the first that is there."""
_GYMS: Final = frozenset({"responses_create_params", "response"})


def slime_row(request: Mapping[str, Any]) -> dict[str, Any]:
    """The row of slime's ``{prompt, response, label}``.

    Raises:
        BadRow: no text of a response.
    """
    response = request.get("response")
    if not isinstance(response, str):
        raise BadRow("has no `response` of text; slime posts {prompt, response, label}")
    return {
        "response": own_text(response),
        "prompt": prompt_text(request.get("prompt")),
        "ground_truth": request.get("label"),
    }


def slime_answer(request: Mapping[str, Any], scores: Scores) -> str:
    """One number."""
    return json.dumps(float(scores.total[0]))


def gym_row(request: Mapping[str, Any]) -> dict[str, Any]:
    """The row of a NeMo Gym rollout: its last message of the assistant, and its fields as `extra_info`.

    Raises:
        BadRow: no output of a response.
    """
    response, asked = request.get("response"), request.get("responses_create_params")
    output = response.get("output") if isinstance(response, Mapping) else None
    if not isinstance(output, list):
        raise BadRow("has no `response` with an `output`; NeMo Gym posts {responses_create_params, response, ...}")
    turns = [_message(item) for item in output if isinstance(item, Mapping)]
    said = [turn["content"] for turn in turns if turn["role"] == "assistant"]
    given = asked.get("input") if isinstance(asked, Mapping) else None
    extra = {k: v for k, v in request.items() if k not in _GYMS}
    return {
        "response": next((text for text in reversed(said) if text.strip()), ""),
        "turns": turns,
        "prompt": prompt_text([_message(m) for m in given] if isinstance(given, list) else given),
        "ground_truth": next((extra[name] for name in TRUTHS if extra.get(name) is not None), None),
        "data_source": extra.get("data_source"),
        "extra_info": extra,
    }


def gym_answer(request: Mapping[str, Any], scores: Scores) -> str:
    """The request, with ``reward`` and ``reward_components``."""
    components = {name: float(v[0]) for name, v in scores.values.items() if np.isfinite(v[0])}
    return json.dumps({**request, "reward": float(scores.total[0]), "reward_components": components})


def _message(item: Mapping[str, Any]) -> dict[str, Any]:
    """An item of the Responses API as a chat message."""
    kind = item.get("type", "message")
    if kind == "function_call":
        call = {"name": item.get("name"), "arguments": item.get("arguments")}
        return {"role": "assistant", "content": "", "tool_calls": [{"function": call}]}
    if kind == "function_call_output":
        return {"role": "tool", "content": str(item.get("output", ""))}
    if kind != "message":  # reasoning: neither said nor a call
        return {"role": "reasoning", "content": ""}
    content = item.get("content")
    if isinstance(content, list):
        content = "".join(str(part.get("text", "")) for part in content if isinstance(part, Mapping))
    return {"role": item.get("role", "assistant"), "content": content if isinstance(content, str) else ""}
