"""What a judge is asked: templates with fields of the row, filled in one pass, and the rounds of a question.

Braces in a response, ``{ground_truth}`` say, stay as they are: what is put in is never looked at again. The fence is a
word that stands nowhere in what is put in, so that no response can close the block that it stands in.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Final, TypeVar

import regex
from pydantic import AfterValidator, Field

from rewardkit.batch import Sample, Score, Status
from rewardkit.errors import ParameterError, RewardKitError
from rewardkit.terms.asking import Answer, Question, ask
from rewardkit.terms.endpoints import Server, checked, is_url, server
from rewardkit.terms.optional import optional

T = TypeVar("T")
MAX_CHARS: Final = 200_000
"""Longest response that is sent: more than a judge's context, and somebody pays for it."""
FIELDS: Final = ("response", "prompt", "ground_truth", "data_source")
EXTRA: Final = "extra."
_FENCE: Final = "fence"
_FIELD: Final = regex.compile(r"\{(\w+(?:\.\w+)*)\}")


def _present(model: str) -> str:
    optional("httpx", wanted_by="judge", extra="judge")
    return model


Model = Annotated[str, Field(min_length=1), AfterValidator(_present)]
Base = Annotated[str, Field(min_length=1), AfterValidator(lambda url: checked(url, wanted_by="judge"))]
MaxTokens = Annotated[int, Field(ge=1)]
Timeout = Annotated[float, Field(gt=0)]


def checked_template(template: str) -> str:
    """A template whose fields are known, the response among them.

    Raises:
        ValueError: they are not.
    """
    fields = fields_in(template)
    for name in fields:
        if name not in (*FIELDS, _FENCE) and not name.startswith(EXTRA):
            known = ", ".join("{" + f + "}" for f in FIELDS)
            raise ValueError(f"the field {{{name}}} is none of {known}, {{extra.NAME}}")
    if "response" not in fields:
        raise ValueError("expected a text with {response} in it")
    return template


def fields_in(template: str) -> list[str]:
    """The names of a template's fields."""
    return list(dict.fromkeys(_FIELD.findall(template)))


def needs_of(template: str) -> tuple[Any, ...]:
    """What a term that fills in a template needs of a row."""
    fields = fields_in(template)
    extra = ["extra_info"] if any(f.startswith(EXTRA) for f in fields) else []
    return tuple(dict.fromkeys(("response", *(f for f in fields if f in FIELDS), *extra)))


def require_model(p: Mapping[str, Any]) -> None:
    """A server that is given by its URL doesn't say which of its models to ask.

    Raises:
        ParameterError: a URL, and no model.
    """
    if p["model"] is None and is_url(p["base_url"]):
        raise ParameterError(f"the parameter 'model' is missing: which model is asked at {p['base_url']}")


class Unusable(Exception):
    """A row that can't be asked about, with what it is instead of a value."""

    def __init__(self, status: Status, reason: str) -> None:
        super().__init__(reason)
        self.score = Score(status=status, reason=reason)


def filled(template: str, sample: Sample) -> str:
    """The template with the row's fields.

    Raises:
        Unusable: the response is too long, or `extra_info` lacks a field.
    """
    if len(sample.response) > MAX_CHARS:
        raise Unusable(Status.LIMIT, f"more than {MAX_CHARS} characters")
    values = {name: _value(sample, name) for name in fields_in(template) if name != _FENCE}
    return put(template, values)


def put(template: str, values: Mapping[str, str]) -> str:
    """The template with these values, and with a fence that none of them holds."""
    fence = fence_of(values.values())
    return str(_FIELD.sub(lambda m: fence if m[1] == _FENCE else values.get(m[1], m[0]), template))


def fence_of(texts: Any) -> str:
    """A word that none of some texts holds, the same for the same texts."""
    whole = "\x00".join(texts)
    digest = hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()
    return next(digest[i : i + 8] for i in range(len(digest)) if digest[i : i + 8] not in whole)


def _value(sample: Sample, name: str) -> str:
    value: Any
    if not name.startswith(EXTRA):
        value = getattr(sample, name)
        return "" if value is None else str(value)
    value = sample.extra_info
    for key in name.removeprefix(EXTRA).split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    if value is None:
        raise Unusable(Status.BAD_GOLD, f"extra_info has no {name.removeprefix(EXTRA)!r}")
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def asked(
    prompts: Sequence[str],
    read: Callable[[int, str], T | None],
    again: str,
    *,
    base_url: str,
    model: str | None,
    max_tokens: int,
    timeout: float,
    key_variable: str,
    term: str,
) -> list[T | Score]:
    """What a judge says to each prompt; what can't be read is asked for once more, and is then an ERROR.

    Args:
        prompts: one a question.
        read: from the question's place and a reply to what it says, or None.
        again: what the judge is told where its reply can't be read.
        base_url: the server's URL or name.
        model: the judge's name there; None: what the server serves.
        max_tokens: the longest reply.
        timeout: seconds for an attempt.
        key_variable: the variable with the key of a URL.
        term: who asks, for messages.
    """
    try:
        judge = server(base_url, wanted_by=term, key_variable=key_variable)
        if judge.local is not None:
            raise ParameterError(
                f"{term} asks {base_url!r}, which is a reward model in this process and writes nothing"
            )
        if (name := model or judge.model) is None:
            raise ParameterError(f"{term} lacks its parameter 'model', and the server {base_url!r} names none")
    except RewardKitError as e:
        return [Score(status=Status.ERROR, reason=str(e))] * len(prompts)
    chats = [[{"role": "user", "content": prompt}] for prompt in prompts]

    def question(chat: Sequence[Mapping[str, str]]) -> Question:
        body = {"model": name, "messages": chat, "temperature": 0, "max_tokens": max_tokens}
        return Question(judge, judge_url(judge), body, timeout, max_tokens, key_variable)

    replies = [_reply(answer) for answer in ask([question(chat) for chat in chats])]
    found: list[T | Score] = []
    unread: list[int] = []
    for i, (reply, failure) in enumerate(replies):
        said = None if failure else read(i, reply)
        found.append(Score(status=Status.ERROR, reason=failure) if said is None else said)
        if said is None and not failure:
            unread.append(i)
    second = [
        [*chats[i], {"role": "assistant", "content": replies[i][0] or "..."}, {"role": "user", "content": again}]
        for i in unread
    ]
    for i, answer in zip(unread, ask([question(chat) for chat in second]) if second else [], strict=True):
        reply, failure = _reply(answer)
        said = None if failure else read(i, reply)
        why = failure or f"the judge's reply says nothing clear, twice: {replies[i][0][-200:]!r}, then {reply[-200:]!r}"
        found[i] = Score(status=Status.ERROR, reason=why) if said is None else said
    return found


def judge_url(judge: Server) -> str:
    """Where a judge takes chat completions: right behind a URL that a formula gives, as that says."""
    return f"{judge.url.rstrip('/')}/chat/completions" if is_url(judge.name) else judge.chat_url


def _reply(answer: Answer) -> tuple[str, str]:
    """The judge's reply, or what went wrong."""
    if answer.failure:
        return "", answer.failure
    try:
        content = json.loads(answer.body)["choices"][0]["message"]["content"]
    except (ValueError, KeyError, IndexError, TypeError, RecursionError):
        content = None
    if not isinstance(content, str):
        return "", f"the judge answered without a message: {answer.body[:200]!r}"
    return content, ""
