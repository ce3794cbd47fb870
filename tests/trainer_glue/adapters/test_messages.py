"""What the policy wrote, out of every shape that trainers hand over."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit import Sample, term
from trainer_glue.adapters.messages import prompt_text, reply_text
from trainer_glue.adapters.trl import RewardFunction

ASKED = {"role": "user", "content": "What is 6 * 7?"}
CALL = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"type": "function", "function": {"name": "multiply", "arguments": '{"a": 6, "b": 7}'}}],
}


def said(text: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


@pytest.mark.parametrize(
    ("chat", "reply"),
    [
        ("It is 42.", "It is 42."),
        ([said("It is 42.")], "It is 42."),
        (said("It is 42."), "It is 42."),
        ([said([{"type": "text", "text": "It is "}, {"type": "image"}, "42."])], "It is 42."),
        ([SimpleNamespace(role="assistant", content="It is 42.")], "It is 42."),
        (np.array([said("It is 42.")], dtype=object), "It is 42."),
        ([said("Let me see."), CALL, {"role": "tool", "content": "42"}], "Let me see."),
        ([said("It is 42."), {"role": "user", "content": "Are you sure? I say 43."}], "It is 42."),
        ([CALL, {"role": "tool", "content": "42"}], ""),
        ([{"role": "system", "content": "42"}], ""),
        ([said("")], ""),
        ([], ""),
        (None, ""),
    ],
)
def test_the_reply_is_the_last_text_of_the_policy(chat: Any, reply: str) -> None:
    assert reply_text(chat) == reply


def test_a_prompt_is_all_its_texts() -> None:
    assert prompt_text([{"role": "system", "content": "Be brief."}, ASKED]) == "Be brief.\n\nWhat is 6 * 7?"
    assert (
        prompt_text([{"role": "user", "content": [{"type": "text", "text": "6 * 7?"}, {"type": "image"}]}]) == "6 * 7?"
    )
    assert prompt_text("6 * 7?") == "6 * 7?"
    assert prompt_text(None) == ""


TEXTS = st.one_of(st.text(), st.sampled_from(["42", "#### 42", r"\boxed{42}", "The answer is 42."]))


@given(tool=TEXTS, user=TEXTS, last=st.sampled_from(["tool", "user", "assistant"]))
def test_nothing_that_a_tool_or_a_user_says_is_paid(tool: str, user: str, last: str) -> None:
    reward = RewardFunction("gsm8k() + 0.1 * ends_with('.?!')", ground_truth="answer")
    chat = [said("I will look it up"), CALL, {"role": "tool", "content": tool}, {"role": "user", "content": user}]
    if last == "assistant":
        chat.append(said("It is 41."))
    elif last == "tool":
        chat.append({"role": "tool", "content": tool})
    paid = reward(prompts=[[ASKED]], completions=[chat], answer=["42"])
    assert paid == [0.1 if last == "assistant" else 0.0]


@pytest.mark.parametrize("rows", [100, pytest.param(1000, marks=pytest.mark.long)])
def test_whatever_tools_write_trl_is_given_the_same_rewards(rows: int) -> None:
    rng = random.Random(rows)
    words = ["42", "#### 42", "It is 41.", "\\boxed{42}", "?", "", "\n", "error", "é"]
    reward = RewardFunction("gsm8k() + 0.1 * ends_with('.?!') + 0.01 * length()", ground_truth="answer")
    own = [["I look it up.", "It is 42."], ["#### 41"], ["Let me see", ""], [None, "#### 42 or so"]]
    chats, plain = [], []
    for i in range(rows):
        turns = [said(text) for text in own[i % len(own)]]
        tools = [{"role": rng.choice(["tool", "user"]), "content": " ".join(rng.choices(words, k=4))} for _ in turns]
        chats.append([message for pair in zip(turns, tools, strict=True) for message in pair])
        plain.append(turns)
    given = {"prompts": [[ASKED]] * rows, "answer": ["42"] * rows}
    assert reward(completions=chats, **given) == reward(completions=plain, **given)


@term(bounds=(0, None), needs=("turns",))
def called(sample: Sample) -> float:
    assert sample.turns is not None
    return float(sum(call["name"] == "multiply" for turn in sample.turns for call in turn.tool_calls))


def test_a_term_sees_the_calls_of_all_turns() -> None:
    chat = [CALL, {"role": "tool", "content": "42"}, CALL, {"role": "tool", "content": "42"}, said("It is 42.")]
    reward = RewardFunction(called(), ground_truth="answer")
    assert reward(prompts=[[ASKED]] * 2, completions=[chat, "It is 42."]) == [2.0, 0.0]
