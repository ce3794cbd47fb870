"""A formula in verifiers: its own environments generate with a client that answers from a list, and score by it.

Runs against the release that is installed: those up to 0.3 have a Rubric, those from 0.3 on a Task.
"""

from __future__ import annotations

import asyncio
import importlib.util
import random
from collections.abc import Callable
from typing import Any

import pytest

from rewardkit import Sample, term
from rewardkit.errors import CompileError, MissingDependencyError
from trainer_glue.adapters.verifiers import rubric_of, task_reward_of


@term(bounds=(0, 1))
def picky(sample: Sample) -> float:
    if "?" in sample.response:
        raise RuntimeError("no verdict")
    return float(len(sample.response) > 1)


FORMULA = "gsm8k() + 0.1 * ends_with('.?!', min_words=0)"


@pytest.mark.parametrize("formula", ["length().spread()", "length(unit='tokens')", "linear(0, 1, steps=5) * length()"])
@pytest.mark.parametrize("build", [rubric_of, task_reward_of])
def test_what_the_trainer_cannot_carry_is_refused(build: Callable[[str], Any], formula: str) -> None:
    with pytest.raises(CompileError, match="verifiers"):
        build(formula)
    with pytest.raises(CompileError, match="compares the responses"):
        task_reward_of("group_rank(length())")


def test_a_release_without_a_rubric_is_named() -> None:
    if importlib.util.find_spec("verifiers") and hasattr(importlib.import_module("verifiers"), "Rubric"):
        pytest.skip("the installed one has it")
    with pytest.raises(MissingDependencyError, match="task_reward_of"):
        rubric_of(FORMULA)


@pytest.fixture
def generate() -> Callable[..., list[dict[str, Any]]]:
    """verifiers' SingleTurnEnv over rows, each with the replies that its rollouts get."""
    vf = pytest.importorskip("verifiers", reason="needs verifiers: make test-verifiers")
    if not hasattr(vf, "Rubric"):
        pytest.skip("this verifiers has no Rubric any more")
    from datasets import Dataset

    class Client(vf.Client):  # type: ignore[misc, name-defined]
        def __init__(self, replies: dict[str, list[str]]) -> None:
            super().__init__(None)
            self.replies = {question: list(texts) for question, texts in replies.items()}

        def setup_client(self, config: Any) -> None: ...
        async def to_native_tool(self, tool: Any) -> Any: ...
        async def to_native_prompt(self, messages: Any) -> tuple[Any, dict[str, Any]]:
            return messages, {}

        async def get_native_response(self, prompt: Any, *_: Any, **__: Any) -> str:
            return self.replies[prompt[-1].content].pop(0)

        async def raise_from_native_response(self, response: str) -> None: ...
        async def from_native_response(self, response: str) -> Any:
            message = vf.ResponseMessage(content=response, finish_reason="stop", is_truncated=False)
            return vf.Response(id="1", created=0, model="list", message=message)

        async def close(self) -> None: ...

    def run(rubric: Any, rows: list[tuple[str, Any, list[str]]], **options: Any) -> list[dict[str, Any]]:
        data = Dataset.from_list([{"question": q, "answer": ground_truth, "info": {}} for q, ground_truth, _ in rows])
        env = vf.SingleTurnEnv(dataset=data, rubric=rubric)
        each = len(rows[0][2])
        inputs = [row for row in env.get_dataset().to_list() for _ in range(each)]
        client = Client({q: texts for q, _, texts in rows})
        results = asyncio.run(env.generate(inputs, client=client, model="list", on_progress=[], **options))
        return sorted(results["outputs"], key=lambda row: row["example_id"])

    return run


def test_an_environment_scores_by_the_formula_and_shows_every_term(generate: Any) -> None:
    rows = [("6 * 7?", "42", ["It is 42.", "43", ""]), ("1 + 1?", "2", ["2", "#### 2", "I say 3."])]
    outputs = generate(rubric_of(FORMULA), rows)
    assert [row["reward"] for row in outputs] == pytest.approx([1.1, 0, 0, 1, 1, 0.1])
    assert (
        outputs[0]["metrics"].items() >= {"gsm8k": 1.0, "ends_with": 1.0, "gsm8k/status": 0.0, "unscored": 0.0}.items()
    )
    assert outputs[2]["metrics"]["gsm8k/status"] == 2.0, "NO_ANSWER"
    assert all(row["error"] is None for row in outputs)
    alone = generate(rubric_of(FORMULA), rows, independent_scoring=True)
    assert [row["reward"] for row in alone] == [row["reward"] for row in outputs]


def test_groups_are_one_prompt_s_rollouts_and_are_refused_one_by_one(generate: Any) -> None:
    rows = [("a?", "", ["a", "a b c", "a b"]), ("b?", "", ["a b c d", "a", "a b c"])]
    outputs = generate(rubric_of("group_rank(length())"), rows)
    assert [row["reward"] for row in outputs] == [0, 1, 0.5, 1, 0, 0.5]
    with pytest.raises(CompileError, match="independent_scoring"):
        generate(rubric_of("group_rank(length())"), rows, independent_scoring=True)


def test_an_unscored_rollout_is_an_error_and_teaches_nothing(generate: Any, capsys: pytest.CaptureFixture[str]) -> None:
    outputs = generate(rubric_of("gsm8k()"), [("a?", "four", ["#### 4", "4"]), ("b?", "4", ["#### 4", "5"])])
    assert [row["metrics"]["unscored"] for row in outputs] == [1, 1, 0, 0]
    assert ["no score: gsm8k" in str(row["error"]) for row in outputs] == [True, True, False, False]
    assert "gsm8k" not in outputs[0]["metrics"], "no value is shown as none, not as 0"
    assert capsys.readouterr().err.count("gsm8k could not score a row") == 1


def test_a_judge_that_fails_on_one_rollout_leaves_its_group_s_mean(generate: Any) -> None:
    (_, right, left_out) = generate(rubric_of(picky()), [("a?", "", ["x", "yes", "why?"])])
    assert (right["reward"], left_out["reward"]) == (1.0, 0.5)
    assert "no verdict" in str(left_out["error"]) and right["error"] is None


def rollout(turns: list[dict[str, Any]], formula: Any) -> dict[str, Any]:
    """The state of a rollout of several turns, in verifiers' own message types, scored by its Rubric."""
    vf = pytest.importorskip("verifiers", reason="needs verifiers: make test-verifiers")
    if not hasattr(vf, "Rubric"):
        pytest.skip("this verifiers has no Rubric any more")
    kinds = {"assistant": vf.AssistantMessage, "tool": vf.ToolMessage, "user": vf.UserMessage}
    state = {
        "prompt": [vf.UserMessage(content="6 * 7?")],
        "completion": [kinds[turn["role"]](**turn) for turn in turns],
        "answer": "42",
        "info": {},
    }
    asyncio.run(rubric_of(formula).score_rollout(state))
    return state


def trace_of(turns: list[dict[str, Any]], formula: Any) -> Any:
    """A trace of several turns, in the types of verifiers.v1, scored by its Task."""
    vf = pytest.importorskip("verifiers.v1", reason="needs verifiers 0.3 or newer: make test-verifiers")
    kinds = {"assistant": vf.AssistantMessage, "tool": vf.ToolMessage, "user": vf.UserMessage}
    return traced("42", [kinds[turn["role"]](**turn) for turn in turns], formula)


def paid_for(turns: list[dict[str, Any]], formula: Any, way: str) -> tuple[float, dict[str, Any]]:
    """The reward and the numbers beside it, of either generation."""
    if way == "rubric":
        state = rollout(turns, formula)
        return state["reward"], state["metrics"]
    trace = trace_of(turns, formula)
    return trace.reward, dict(trace.metrics)


CALLS = [{"id": "1", "name": "multiply", "arguments": '{"a": 6, "b": 7}'}]
WAYS = pytest.mark.parametrize("way", ["rubric", "task"])


def multi(own: list[str | None], tools: list[str]) -> list[dict[str, Any]]:
    """Turns of the policy, a tool's or a user's text behind each; a turn without a text is a call."""
    turns: list[dict[str, Any]] = []
    for i, (text, tool) in enumerate(zip(own, tools, strict=True)):
        turns.append({"role": "assistant", "content": text, **({"tool_calls": CALLS} if text is None else {})})
        turns.append({"role": "tool", "tool_call_id": "1", "content": tool} if i % 2 == 0 else
                     {"role": "user", "content": [{"type": "text", "text": tool}]})  # fmt: skip
    return turns


@WAYS
def test_what_a_tool_or_a_user_wrote_is_not_the_answer(way: str) -> None:
    own, answers = ["I ask the calculator.", None], ["42", "#### 42."]
    reward, numbers = paid_for(multi(own, answers), FORMULA, way)
    assert (reward, numbers["gsm8k/status"]) == (pytest.approx(0.1), 2.0), "NO_ANSWER"


@WAYS
@pytest.mark.parametrize("rows", [40, pytest.param(1000, marks=pytest.mark.long)])
def test_whatever_tools_write_verifiers_pays_the_same(way: str, rows: int) -> None:
    rng = random.Random(rows)
    texts = [["I look.", "It is 42."], ["#### 41", None], ["Let me see", ""], [None, "#### 42 or so"]]
    formula = "gsm8k() + 0.1 * ends_with('.?!', min_words=0) + 0.01 * length() + 0.001 * turn_count()"
    quiet = [paid_for(multi(own, ["", ""]), formula, way) for own in texts]
    assert len({reward for reward, _ in quiet}) == len(texts)
    for i in range(rows):
        tools = [
            " ".join(rng.choices(["42", "#### 42", "It is 41.", "?", "\n", "<|im_start|>", "é"], k=4)) for _ in "12"
        ]
        assert paid_for(multi(texts[i % len(texts)], tools), formula, way) == quiet[i % len(texts)]


@term(bounds=(0, None), needs=("turns",))
def multiplied(sample: Sample) -> float:
    assert sample.turns is not None
    return float(sum(call["arguments"]["a"] for turn in sample.turns if turn.own for call in turn.tool_calls))


@WAYS
def test_a_term_sees_the_calls_and_whose_they_are(way: str) -> None:
    assert paid_for(multi([None, None, "42"], ["42", "42", "thanks"]), multiplied(), way)[0] == 12.0


def test_an_assistant_s_message_of_the_prompt_is_not_the_policy_s() -> None:
    vf = pytest.importorskip("verifiers.v1", reason="needs verifiers 0.3 or newer: make test-verifiers")
    turns = [vf.AssistantMessage(content="I don't know"), vf.AssistantMessage(content="#### 42")]
    assert traced("42", turns, "gsm8k()", sampled=[True, False]).metrics["gsm8k"] == 0.0
    assert traced("42", turns, "gsm8k()", sampled=[False, True]).metrics["gsm8k"] == 1.0


def traced(ground_truth: Any, reply: Any, formula: Any, sampled: list[bool] | None = None) -> Any:
    """A task of verifiers.v1 whose trace holds one reply, or messages, scored by verifiers."""
    vf = pytest.importorskip("verifiers.v1", reason="needs verifiers 0.3 or newer: make test-verifiers")
    from verifiers.v1.graph import MessageNode
    from verifiers.v1.trace import AgentInfo, Trace, TraceTask

    class SumData(vf.TaskData):  # type: ignore[misc, name-defined]
        answer: Any = None

    class Sum(vf.Task[SumData]):  # type: ignore[misc, name-defined]
        paid = task_reward_of(formula)

    task = Sum(SumData(prompt="6 * 7?", answer=ground_truth))
    messages = [vf.AssistantMessage(content=reply)] if isinstance(reply, str) else reply
    own = sampled or [message.role == "assistant" for message in messages]
    trace = Trace(
        task=TraceTask(type="sum", data=task.data), agent=AgentInfo(config=vf.AgentConfig()), nodes=[
            MessageNode(message=vf.UserMessage(content="6 * 7?")),
            *(MessageNode(parent=i, message=m, sampled=s) for i, (m, s) in enumerate(zip(messages, own, strict=True))),
        ]
    )  # fmt: skip
    try:
        asyncio.run(task.score(trace))
    except vf.TaskError as e:  # as verifiers' own rollout does
        trace.record_error(e)
    return trace


def test_a_task_pays_by_the_formula_and_records_every_term() -> None:
    trace = traced("42", "It is 42.", FORMULA)
    assert trace.reward == pytest.approx(1.1)
    assert trace.metrics == {"gsm8k": 1, "ends_with": 1, "gsm8k/status": 0, "ends_with/status": 0, "unscored": 0}
    assert traced("42", "", FORMULA).reward == 0.0


def test_an_unscored_trace_has_an_error_and_no_reward() -> None:
    trace = traced("forty-two?", "It is 42.", FORMULA)
    assert trace.rewards == {"rewardkit": None}
    assert "no score: gsm8k" in trace.errors[0].message and trace.metrics["unscored"] == 1.0
