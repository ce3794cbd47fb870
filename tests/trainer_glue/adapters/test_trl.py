"""The reward function for TRL, called as TRL calls one."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from rewardkit.errors import CompileError, ConfigError, UnscoredError
from trainer_glue.adapters.trl import RewardFunction

PROMPTS = [[{"role": "user", "content": "What is 2 + 2?"}]] * 2 + [[{"role": "user", "content": "And 3 + 3?"}]] * 2


def said(*texts: str) -> list[list[dict[str, str]]]:
    return [[{"role": "assistant", "content": text}] for text in texts]


def call(reward: RewardFunction, *texts: str, **columns: Any) -> list[float | None]:
    return reward(
        prompts=PROMPTS,
        completions=said(*texts),
        completion_ids=[list(range(len(text))) for text in texts],
        trainer_state=SimpleNamespace(global_step=5),
        **columns,
    )


def test_texts_messages_and_the_last_message_are_scored_alike() -> None:
    reward = RewardFunction("length()")
    assert reward(prompts=["a", "b"], completions=["one two", ""]) == [2.0, 0.0]
    assert reward(prompts=PROMPTS[:2], completions=said("one two", "")) == [2.0, 0.0]
    turns = [{"role": "assistant", "content": "let me look"}, {"role": "tool", "content": "4"}, *said("it is 4")[0]]
    assert reward(prompts=PROMPTS[:1], completions=[turns]) == [3.0]


def test_the_ground_truth_column_tokens_and_the_step_reach_the_formula() -> None:
    reward = RewardFunction("gsm8k() + schedule({0: 0, 5: 1}) * length(0.01, unit='tokens')", ground_truth="answer")
    ground_truths = ["4", "so 2 + 2 = 4\n#### 4", "6", "6"]
    assert call(reward, "#### 4", "#### 4", "#### 4", "", answer=ground_truths) == pytest.approx(
        [1.06, 1.06, 0.06, 0.0]
    )


def test_metrics_and_a_column_for_each_term() -> None:
    metrics: dict[str, float] = {}
    table: dict[str, list[Any]] = {}
    reward = RewardFunction("gsm8k() + 0.1 * ends_with('.?!', min_words=0)")
    call(
        reward,
        "#### 4",
        "no.",
        "#### 6",
        "#### 6",
        ground_truth=["4", "4", "6", "6"],
        log_metric=metrics.__setitem__,
        log_extra=table.__setitem__,
    )
    assert metrics["reward/gsm8k/mean"] == 0.75
    assert metrics["reward/gsm8k/status/no_answer"] == 0.25
    assert metrics["reward/total/mean"] == pytest.approx(0.775)
    assert table == {"gsm8k": [1.0, 0.0, 1.0, 1.0], "ends_with": [0.0, 1.0, 0.0, 0.0]}


def test_unscored_is_none_and_too_much_of_it_stops_the_run(capsys: pytest.CaptureFixture[str]) -> None:
    ground_truths = ["4", None, "6", "6"]
    reward = RewardFunction("gsm8k()", unscored_limit=0.25)
    assert call(reward, "#### 4", "#### 4", "#### 6", "", ground_truth=ground_truths) == [1.0, None, 1.0, 0.0]
    assert capsys.readouterr().err.count("no ground truth") == 1
    with pytest.raises(UnscoredError, match="25% of 4 responses"):
        call(RewardFunction("gsm8k()"), "#### 4", "#### 4", "#### 6", "", ground_truth=ground_truths)


def test_groups_are_compared_where_they_are_whole() -> None:
    reward = RewardFunction("group_rank(length())", num_generations=2)
    assert call(reward, "a", "a b", "a b c", "a") == [0.0, 1.0, 1.0, 0.0]
    with pytest.raises(CompileError, match="2 responses of one prompt came, and a group has 4"):
        call(RewardFunction("group_rank(length())", num_generations=4), "a", "a b", "a b c", "a")
    with pytest.raises(CompileError, match="num_generations"):
        RewardFunction("group_rank(length())")


def test_a_batch_is_compared_where_one_process_has_all_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    reward = RewardFunction("batch_zscore(length())")
    assert call(reward, "a", "a b", "a b c", "a b") == pytest.approx([-1.2247, 0, 1.2247, 0], abs=1e-4)
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(CompileError, match="hands each process its share"):
        call(reward, "a", "a b", "a b c", "a b")


def test_what_the_trainer_cannot_carry_is_refused_before_the_run() -> None:
    with pytest.raises(CompileError, match=r"\.total\(\)"):
        RewardFunction("length().spread()")
    with pytest.raises(ConfigError, match="no column 'gold'; it has answer, level"):
        call(RewardFunction("gsm8k()", ground_truth="gold"), "a", "b", "c", "d", answer=["4"] * 4, level=[1] * 4)


@pytest.mark.parametrize("special", [True, False])
@pytest.mark.parametrize("chat", [True, False])
def test_marks_that_are_special_tokens_are_paid_with_the_policy_s_tokenizer(special: bool, chat: bool) -> None:
    pytest.importorskip("transformers")
    from tests.trainer_glue.verl.tokenizers import with_marks

    tokenizer = with_marks(special=special)
    ids = [*tokenizer("<think>two plus two</think> <answer>4</answer>")["input_ids"], tokenizer.eos_token_id]
    text = tokenizer.decode(ids, skip_special_tokens=True)  # as TRL decodes
    formula = "think_answer() + starts_with('<think>') + turn_count()"
    reward = RewardFunction(formula, tokenizer=tokenizer)
    called = {"role": "tool", "content": "<think>"}
    completions = [[{"role": "assistant", "content": text}], [{"role": "assistant", "content": "4"}, called]]
    paid = reward(["2 + 2?"] * 2, completions if chat else [text, "4"], [ids, ids if chat else [5]])
    assert paid == [3.0, 1.0]
    assert RewardFunction(formula)(["2 + 2?"], [text], [ids]) == [1.0 if special else 3.0]
