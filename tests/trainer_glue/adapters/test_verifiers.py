"""A formula in verifiers: its own environments generate with a client that answers from a list, and score by it.

Runs against the release that is installed: those up to 0.3 have a Rubric, those from 0.3 on a Task.
"""

from __future__ import annotations

import asyncio
import importlib.util
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


def traced(ground_truth: Any, reply: str, formula: str) -> Any:
    """A task of verifiers.v1 whose trace holds one reply, scored by verifiers."""
    vf = pytest.importorskip("verifiers.v1", reason="needs verifiers 0.3 or newer: make test-verifiers")
    from verifiers.v1.graph import MessageNode
    from verifiers.v1.trace import AgentInfo, Trace, TraceTask

    class SumData(vf.TaskData):  # type: ignore[misc, name-defined]
        answer: Any = None

    class Sum(vf.Task[SumData]):  # type: ignore[misc, name-defined]
        paid = task_reward_of(formula)

    task = Sum(SumData(prompt="6 * 7?", answer=ground_truth))
    trace = Trace(
        task=TraceTask(type="sum", data=task.data), agent=AgentInfo(config=vf.AgentConfig()), nodes=[
            MessageNode(message=vf.UserMessage(content="6 * 7?")),
            MessageNode(parent=0, message=vf.AssistantMessage(content=reply), sampled=True),
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
