"""A reward model that answers with one number: verl's own, any served by vLLM or SGLang, or one in this process.

A reward model that is down or unclear says nothing about the policy: every such row is ERROR, unscored, never 0.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from rewardkit.algebra.define import term
from rewardkit.batch import Batch, Sample, Score, Status
from rewardkit.errors import ParameterError, RewardKitError
from rewardkit.terms.asking import Question, ask
from rewardkit.terms.endpoints import Messages, Server, checked, server
from rewardkit.terms.optional import optional
from rewardkit.terms.prompting import MAX_CHARS, Timeout, require_model
from rewardkit.turns import turns_of

Finite = Annotated[float, Field(allow_inf_nan=False)]


def _checked_base(base: str) -> str:
    optional("httpx", wanted_by="reward_model", extra="judge")
    return checked(base, wanted_by="reward_model")


Base = Annotated[str, Field(min_length=1), AfterValidator(_checked_base)]


def _bounds(p: Mapping[str, Any]) -> tuple[float, float]:
    return (p["low"], p["high"])


def _check(p: Mapping[str, Any]) -> None:
    require_model(p)
    if not p["low"] < p["high"]:
        raise ParameterError(f"reward_model: low is {p['low']:g} and high is {p['high']:g}; expected low below high")


@term(bounds=_bounds, needs=("prompt", "chat"), cost="remote", batched=True, check=_check)
def reward_model(
    batch: Batch,
    *,
    low: Finite,
    high: Finite,
    squash: Literal["sigmoid"] | None = None,
    base_url: Base = "verl",
    model: Annotated[str, Field(min_length=1)] | None = None,
    timeout: Timeout = 60.0,
) -> list[Score]:
    """The score that a reward model gives the response to its prompt, cut off at ``low`` and ``high``.

    The model is asked for its raw score, the logit of its one output. With ``squash='sigmoid'`` the value is
    ``low + (high - low) * sigmoid(score)`` instead. The conversation, with system messages where the trainer hands them
    over, is laid out once by the reward model's own chat template, with one token at its beginning.

    Where the model is, is no part of what the formula means: ``base_url='verl'`` is the reward model that verl serves
    in training, and ``REWARDKIT_ENDPOINTS="verl=http://10.0.0.5:8000"`` or ``"verl=hf:/models/reward"`` says where the
    same formula finds it in ``score`` and ``report``. An ``hf:`` model is loaded in this process; it needs torch and
    transformers. Requests, retries and limits are those of ``judge``.

    Args:
        batch: the responses with their prompts.
        low: the least it can be.
        high: the most it can be.
        squash: None, or how a score of any size is brought between the two.
        base_url: a server's name, or the URL of vLLM's or (``sglang+http://...``) SGLang's server.
        model: the model's name there; needed with a URL.
        timeout: seconds for one request.
    """
    found: list[Any] = [None] * len(batch)
    rows: list[int] = []
    chats: list[Messages] = []
    for i, sample in enumerate(batch):
        if sample.chat is None:
            found[i] = Score(status=Status.ERROR, reason="the row has no prompt")
        elif len(sample.response) > MAX_CHARS:
            found[i] = Score(status=Status.LIMIT, reason=f"more than {MAX_CHARS} characters")
        else:
            rows.append(i)
            chats.append(conversation(sample))
    try:
        asked = server(base_url, wanted_by="reward_model")
        given = _local(asked, chats) if asked.local is not None else _served(asked, chats, model, timeout)
    except RewardKitError as e:
        given = [Score(status=Status.ERROR, reason=str(e))] * len(rows)
    for i, score in zip(rows, given, strict=True):
        found[i] = score if isinstance(score, Score) else Score(_within(score, low, high, squash))
    return found


def conversation(sample: Sample) -> Messages:
    """The prompt's messages and the response as the assistant's; a prompt that is text is the user's."""
    turns = [{"role": turn.role or "user", "content": turn.text} for turn in turns_of(sample.chat)]
    return [*turns, {"role": "assistant", "content": sample.response}]


def _within(score: float, low: float, high: float, squash: str | None) -> float:
    if squash is None:
        return min(max(score, low), high)
    bounded = 1 / (1 + math.exp(-score)) if score >= 0 else math.exp(score) / (1 + math.exp(score))
    return low + (high - low) * bounded


def _local(asked: Server, chats: Sequence[Messages]) -> list[float | Score]:
    assert asked.local is not None
    distinct = {json.dumps(chat): chat for chat in chats}
    scores = dict(zip(distinct, asked.local.scores(list(distinct.values())), strict=True))
    return [_finite(scores[json.dumps(chat)]) for chat in chats]


def _served(asked: Server, chats: Sequence[Messages], model: str | None, timeout: float) -> list[float | Score]:
    name = model or asked.model
    questions = [Question(asked, *_request(asked, name, chat), timeout) for chat in chats]
    return [
        Score(status=Status.ERROR, reason=answer.failure) if answer.failure else _score_of(asked, answer.body)
        for answer in ask(questions)
    ]


def _request(asked: Server, name: str | None, chat: Messages) -> tuple[str, dict[str, Any]]:
    """Where a conversation goes, and what is posted there."""
    body: dict[str, Any] = {} if name is None else {"model": name}
    if asked.engine == "sglang":
        if asked.render is None:
            raise ParameterError(
                f"reward_model asks {asked.name!r}, an SGLang server, which lays out no conversations of itself",
                hint="ask it by a name for which the environment says the tokenizer's folder: "
                "REWARDKIT_ENDPOINTS=grader=sglang+http://host:port#FOLDER",
            )
        return f"{asked.root}/v1/embeddings", {**body, "input": asked.render(chat)}
    if asked.render is None:
        body |= {"messages": list(chat), "add_generation_prompt": False}
    else:
        body["input"] = asked.render(chat)
    return f"{asked.root}/classify", {**body, "use_activation": False}


def _score_of(asked: Server, body: str) -> float | Score:
    field = "embedding" if asked.engine == "sglang" else "probs"
    try:
        numbers = json.loads(body)["data"][-1][field]
        (number,) = numbers
        return _finite(float(number))
    except (ValueError, KeyError, IndexError, TypeError, RecursionError):
        what = f"{asked.name} answered without one score under `{field}`, as a reward model does: {body[:200]!r}"
        return Score(status=Status.ERROR, reason=what)


def _finite(score: float) -> float | Score:
    if math.isfinite(score):
        return score
    return Score(status=Status.ERROR, reason=f"the reward model's score is {score}")
