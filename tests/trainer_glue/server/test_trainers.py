"""What slime and NeMo Gym post, and what they read of the answer."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("httpx")

from tests.trainer_glue.server.test_app import client

FORMULA = "gsm8k() + 0.1 * ends_with('.?!')"


def said(text: str) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"id": "m", "type": "message", "role": "assistant", "status": "completed", "content": content}


def rollout(*output: dict[str, Any], **fields: Any) -> dict[str, Any]:
    asked = {"input": [{"role": "user", "content": "6 * 7?"}]}
    return {"responses_create_params": asked, "response": {"id": "r", "output": list(output)}, **fields}


def test_slime_s_remote_rm_reads_a_number() -> None:
    answer = client(FORMULA).post("/slime", json={"prompt": "6 * 7?", "response": "It is 42.", "label": "42"})
    assert (answer.status_code, answer.json()) == (200, 1.1)
    chat = [{"role": "user", "content": "6 * 7?"}]
    assert client(FORMULA).post("/slime", json={"prompt": chat, "response": "43", "label": "42"}).json() == 0.0


@pytest.mark.parametrize("name", ["ground_truth", "expected_answer", "label", "answer"])
def test_nemo_gym_reads_reward_and_components(name: str) -> None:
    request = rollout(said("It is 42."), **{name: "42"}, uuid="u")
    answer = client(FORMULA).post("/verify", json=request).json()
    assert answer == {**request, "reward": 1.1, "reward_components": {"gsm8k": 1.0, "ends_with": 1.0}}


def test_a_tool_s_output_is_not_the_answer_and_calls_are_read() -> None:
    call = {"type": "function_call", "name": "times", "arguments": '{"a": 6}', "call_id": "c"}
    output = {"type": "function_call_output", "call_id": "c", "output": "#### 42"}
    request = rollout(call, output, said("So be it."), expected_answer="42")
    assert client("gsm8k()").post("/verify", json=request).json()["reward"] == 0
    wanted = [{"name": "times", "arguments": {"a": 6}}]
    request = rollout({"type": "reasoning", "summary": []}, call, output, said("So be it."), ground_truth=wanted)
    assert client("tool_call_match()").post("/verify", json=request).json()["reward"] == 1
    level = client("column('level', low=0, high=9)").post("/verify", json=rollout(said("x"), level=4))
    assert level.json()["reward"] == 4


@pytest.mark.parametrize(
    ("path", "body", "says"),
    [
        ("/slime", [], "expected an object"),
        ("/slime", {"prompt": "x"}, "has no `response` of text"),
        ("/slime", {"prompt": "x", "response": "42", "label": "none"}, "no score: gsm8k"),
        ("/verify", {"response": "42"}, "has no `response` with an `output`"),
        ("/verify", rollout(said("42")), "no row has `ground_truth`"),
    ],
)
def test_what_has_no_score_is_refused_and_never_a_number(path: str, body: Any, says: str) -> None:
    answer = client(FORMULA).post(path, json=body)
    assert answer.status_code == 422
    assert says in answer.json()["error"]
