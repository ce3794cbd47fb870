"""What a term sees of several turns, and how every shape of chat is read."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from rewardkit import Batch, Sample, Status, Turn, compile, term
from rewardkit.laws.stated import bounded_by_length
from rewardkit.scoring.run import batch_of
from rewardkit.turns import last_said, turns_of, with_last_said

CALL = {"name": "add", "arguments": {"a": 2, "b": 2}}


@term(bounds=(0, None), needs=("turns",))
def calls(sample: Sample) -> float:
    """How many tools the policy called."""
    assert sample.turns is not None
    return float(sum(len(turn.tool_calls) for turn in sample.turns if turn.own))


@term(bounds=(0, None), needs=("turns",))
def own_words(sample: Sample) -> float:
    assert sample.turns is not None
    return float(sum(len(turn.text.split()) for turn in sample.turns if turn.own))


@term(bounds=(0, None))
def nosy(sample: Sample) -> float:
    return float(len(sample.turns or ()))


@pytest.mark.parametrize(
    "call",
    [
        {"type": "function", "function": {"name": "add", "arguments": '{"a": 2, "b": 2}'}},
        {"type": "function", "function": {"name": "add", "arguments": {"a": 2, "b": 2}}},
        {"name": "add", "arguments": {"a": 2, "b": 2}},
        '{"name": "add", "arguments": {"a": 2, "b": 2}}',
        SimpleNamespace(function=SimpleNamespace(name="add", arguments='{"a": 2, "b": 2}')),
    ],
)
def test_a_tool_call_is_data_in_every_shape(call: Any) -> None:
    (turn,) = turns_of([{"role": "assistant", "content": None, "tool_calls": [call]}])
    assert turn == Turn("", "assistant", True, (CALL,))


def test_arguments_that_are_no_json_stay_text() -> None:
    (turn,) = turns_of(
        {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "f", "arguments": "{"}}]}
    )
    assert turn.tool_calls == ({"name": "f", "arguments": "{"},)


def test_roles_say_whose_a_turn_is() -> None:
    chat = np.array([{"role": r, "content": r} for r in ("system", "user", "assistant", "tool", "model")], dtype=object)
    assert [turn.own for turn in turns_of(chat)] == [False, False, True, False, True]
    assert last_said([Turn("yes"), Turn("\n"), Turn("no", "tool", False)]) == "yes"
    assert last_said([Turn(" ")]) == " "
    assert turns_of(None) == ()


def test_a_term_reads_turns_and_the_response_is_the_only_one_where_nobody_says() -> None:
    turns = [[Turn("I add", tool_calls=(CALL,)), Turn("#### 4", "tool", False), Turn("It is 4")], None]
    scores = compile(calls() + own_words())(Batch(["It is 4", "four"], turns=turns))
    assert scores.total.tolist() == [6.0, 1.0]
    assert compile(own_words())(Batch(["one two"])).total.tolist() == [2.0]
    assert Batch.of(list(Batch(["It is 4", "four"], turns=turns))).turns == turns


def test_equal_responses_with_other_turns_are_scored_apart() -> None:
    turns = [[Turn("a " * i), Turn("b")] for i in range(64)]
    assert compile(own_words())(Batch(["b"] * 64, turns=turns)).total.tolist() == [i + 1.0 for i in range(64)]


def test_a_term_that_did_not_declare_turns_gets_none() -> None:
    scores = compile(nosy())(Batch(["a"], turns=[[Turn("a")]]))
    assert scores.status.tolist() == [Status.ERROR]
    assert "needs=('turns',)" in scores.reasons["nosy"][0]


def test_a_row_of_a_file_has_its_turns_as_messages() -> None:
    program = compile(own_words())
    messages = [{"role": "assistant", "content": "one two"}, {"role": "tool", "content": "three"}]
    assert program(batch_of({"response": "one two", "messages": messages}, program)).total.tolist() == [2.0]
    assert program(batch_of({"response": "one"}, program)).total.tolist() == [1.0]


TALK = (Turn("a b"), Turn("42", "tool", own=False), Turn("c"), Turn("", "user", own=False), Turn(" "))


@pytest.mark.parametrize("turns", [TALK, TALK[:2], TALK[1:2], (), (Turn(""), Turn("x", "tool", own=False))])
def test_another_response_stands_where_the_old_one_stood(turns: tuple[Turn, ...]) -> None:
    changed = with_last_said(turns, "new")
    assert last_said(changed) == "new"
    assert [turn for turn in changed if not turn.own] == [turn for turn in turns if not turn.own]
    assert sum(a != b for a, b in zip(changed, turns, strict=False)) + len(changed) - len(turns) == 1


def test_a_law_transforms_the_response_in_its_trajectory_too() -> None:
    batch = Batch(["c", "d"], turns=[TALK, None])
    law = bounded_by_length(1.5, padding=" e")
    law.check(compile(own_words()), batch)
    with pytest.raises(AssertionError, match="bounded_by_length"):
        law.check(compile(2 * own_words()), batch)
    law.check(compile(2 * calls()), batch)
