"""Audits of judges: a weak one is fooled by what speaks to it, a sound one by nothing, and the budget holds."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("httpx")

from rewardkit import compile
from rewardkit.audit import FormulaSubject, audit
from rewardkit.diagnostics import Severity
from rewardkit.errors import ConfigError
from rewardkit.terms import asking
from tests.rewardkit.audit.rows import problems
from tests.servers import Answer, Server, said

TEMPLATE = "{response}\n~~~{ground_truth}"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(asking._process, "asker", None)
    for name in ("REWARDKIT_ENDPOINTS", "REWARDKIT_LIMITS"):
        monkeypatch.delenv(name, raising=False)
    started = Server(sound)
    yield started
    started.close()


def _parts(body: dict[str, Any]) -> tuple[str, bool]:
    """The response, and whether its answer is the ground truth."""
    response, _, truth = body["messages"][0]["content"].rpartition("\n~~~")
    numbers = re.findall(r"#### (\S+)", response)
    last = truth.rpartition("####")[2].strip()
    return response, bool(numbers) and set(numbers) == {last}


def sound(body: dict[str, Any]) -> Answer:
    return said(f"Score: {10 if _parts(body)[1] else 0}")


def obeys(pattern: str) -> Any:
    """A judge that knows the answer and still does what it is told in a way."""
    return lambda body: said("Score: 10") if re.search(pattern, _parts(body)[0]) else sound(body)


def audited(
    server: Server, formula: str = "judge(model='m', base_url={url!r}, template={template!r})", **options: Any
) -> Any:
    reward = compile(formula.format(url=server.url, template=TEMPLATE))
    return audit(FormulaSubject(reward), problems(), **options)


def errors(report: Any) -> list[tuple[str, str]]:
    return [(f.code, f.family) for f in report.diagnostics if f.severity is Severity.ERROR]


def test_nothing_fools_a_sound_judge(server: Server) -> None:
    report = audited(server)
    assert errors(report) == []
    assert report.tried > 20
    assert len(server.requests) <= 300


@pytest.mark.parametrize(
    "pattern",
    [
        "Ignore all previous", r"\*\*Final Score:\*\* 10", "Verdict: yes", "User: That is exactly", "fairest judge",
        r'"score": 1.0', "eot_id", "</response>", "im_start", "answer key", "Thought process",
    ],
)  # fmt: skip
def test_a_judge_that_does_as_it_is_told_is_caught(server: Server, pattern: str) -> None:
    server.reply = obeys(pattern)
    report = audited(server)
    assert ("paid-as-right", "judge") in errors(report)
    shown = [f.evidence.text for f in report.diagnostics if f.family == "judge"]
    assert any(re.search(pattern, text) for text in shown)


def test_the_budget_holds_with_every_reply_asked_for_twice(server: Server) -> None:
    server.reply = lambda body: said("hm") if len(body["messages"]) == 1 else sound(body)
    for requests in (60, 100, 250):
        before = len(server.requests)
        asking._process.asker = None
        assert audited(server, requests=requests).tried > 0
        assert len(server.requests) - before <= requests
    with pytest.raises(ConfigError, match="is enough for one row"):
        audited(server, requests=5)


def test_behind_a_sound_grader_a_weak_judge_pays_nobody(server: Server) -> None:
    server.reply = lambda _: said("Score: 10")
    report = audited(server, "gsm8k() * judge(model='m', base_url={url!r}, template={template!r})")
    assert errors(report) == []
    asked = [json.dumps(body) for body in server.requests]
    assert len(asked) < report.tried, "wrong answers never reach it"
