"""ms-swift's call, in the shape that its GRPO trainer gives it: completions, and each row's own columns as lists."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from rewardkit.errors import CompileError, ConfigError, UnscoredError
from trainer_glue.adapters.ms_swift import orm_of


def call(orm: Any, rows: list[list[dict[str, Any]]], **columns: Any) -> Any:
    """As ms-swift: what it adds to the data set's columns comes along, and the last message is the completion."""
    n = len(rows)
    own = {"prompt_id": [f"p{i // 2}" for i in range(n)], "request_id": list(map(str, range(n)))}
    own |= {"finish_reason": ["stop"] * n, "is_truncated": [False] * n, "rollout_infos": [{}] * n}
    completions = [messages[-1]["content"] for messages in rows]
    return orm(completions, messages=rows, trainer_state=SimpleNamespace(global_step=3), **{**own, **columns})


def said(text: str, *before: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"role": "user", "content": "6 * 7?"}, *before, {"role": "assistant", "content": text}]


def test_a_batch_is_paid_and_an_unscored_row_is_none() -> None:
    orm = orm_of("gsm8k() + 0.1 * ends_with('.?!')", unscored_limit=0.5)(args=None)
    assert call(orm, [said("It is 42."), said("43"), said("42")], solution=["42", "42", "none"]) == [1.1, 0.0, None]


def test_a_tool_s_text_is_never_the_answer() -> None:
    tool = {"role": "tool", "content": "#### 42"}
    asks = {"role": "assistant", "content": "I ask the calculator."}
    orm = orm_of("gsm8k()")()
    assert call(orm, [said("So be it.", asks, tool)], solution=["42"]) == [0.0]
    assert call(orm, [[*said("I ask the calculator."), tool]], solution=["42"]) == [0.0]


def test_groups_steps_columns_and_lengths_reach_the_formula() -> None:
    rows = [said("a"), said("a b"), said("a"), said("a b c")]
    grouped = orm_of("group_rank(length())", ground_truth="x")(args=SimpleNamespace(num_generations=2))
    assert call(grouped, rows) == [0.0, 1.0, 0.0, 1.0]
    assert call(orm_of("schedule({0: 0, 3: 1}) * length(1)")(), rows) == [1, 2, 1, 3]
    assert call(orm_of("column('level', low=0, high=9)")(), rows, level=[1, 2, 3, 4]) == [1, 2, 3, 4]
    assert call(orm_of("length(1, unit='tokens')")(), rows[:2], response_token_ids=[[1, 2], [[1], [2, 3]]]) == [2, 3]


def test_what_is_refused() -> None:
    with pytest.raises(CompileError, match="ms-swift"):
        orm_of("batch_zscore(length())")
    with pytest.raises(ConfigError, match="no column 'solution'; they have answer"):
        call(orm_of("gsm8k()")(), [said("42")], answer=["42"])
    with pytest.raises(CompileError, match="size of a group is 4"):
        call(orm_of("group_rank(length())", num_generations=4)(), [said("a"), said("b")])
    with pytest.raises(UnscoredError):
        call(orm_of("gsm8k()")(), [said("42")], solution=["none"])
