"""How servers are asked: limits, retries, the cache and the budget, by a clock that nobody waits for."""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

httpx = pytest.importorskip("httpx")

from rewardkit import Batch, Status, compile, judge
from rewardkit.errors import ConfigError, UnscoredError
from rewardkit.terms import asking
from rewardkit.terms.asking import Asker, Question, share_limits
from rewardkit.terms.endpoints import Server
from rewardkit.terms.rate_limits import limits_for
from tests.servers import VirtualLoop
from trainer_glue.adapters.unscored import check_unscored

URL = "http://127.0.0.1:9"
Reply = Callable[[dict[str, Any]], Any]


class Fake:
    """An asker whose server answers by ``reply`` after ``latency`` seconds, and remembers when what came."""

    def __init__(self, reply: Reply) -> None:
        self.reply, self.latency, self.tokens = reply, 1.0, 0
        self.times: list[float] = []
        self.bodies: list[dict[str, Any]] = []
        self.busy = self.most = 0
        self.loop = VirtualLoop()
        self.asker = Asker(self.loop, httpx.MockTransport(self.handle))

    async def handle(self, request: Any) -> Any:
        self.times.append(self.loop.time())
        body = json.loads(request.content)
        self.bodies.append(body)
        self.busy += 1
        self.most = max(self.most, self.busy)
        await asyncio.sleep(self.latency)
        self.busy -= 1
        answer = self.reply(body)
        if isinstance(answer, int):
            return httpx.Response(answer, text="busy")
        usage = {"prompt_tokens": self.tokens, "completion_tokens": 0}
        return httpx.Response(200, json={"choices": [{"message": {"content": answer}}], "usage": usage})

    def in_a_minute(self) -> int:
        """The most requests within any minute."""
        return max(sum(start <= t < start + 60 for t in self.times) for start in self.times)


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[Fake]:
    monkeypatch.delenv("REWARDKIT_ENDPOINTS", raising=False)
    monkeypatch.delenv("REWARDKIT_LIMITS", raising=False)
    made = Fake(lambda _: "Score: 5")
    monkeypatch.setattr(asking._process, "asker", made.asker)
    yield made
    made.loop.call_soon_threadsafe(made.loop.stop)


JUDGE = judge(model="m", base_url=f"{URL}/v1", template="{response}", max_tokens=1)


def scores(texts: list[str]) -> Any:
    return compile(JUDGE)(Batch(texts))


def test_requests_a_minute_hold_in_any_minute(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REWARDKIT_LIMITS", "requests_per_minute=30")
    assert (scores([f"t{i}" for i in range(100)]).total == 0.5).all()
    assert len(fake.times) == 100
    assert fake.in_a_minute() == 30
    assert 180 <= fake.times[-1] - fake.times[0] < 181, "and no slower than that"


def test_tokens_a_minute_count_what_the_server_says(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REWARDKIT_LIMITS", "tokens_per_minute=1000 concurrency=1")
    fake.tokens = 200
    scores([f"t{i}" for i in range(20)])
    assert fake.in_a_minute() <= 5
    assert fake.times[-1] < 60 * 5


def test_limits_hold_over_batches_terms_and_processes(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REWARDKIT_LIMITS", "requests_per_minute=40 concurrency=8")
    monkeypatch.setattr(asking._process, "share", 1)
    share_limits(4)
    other = judge(model="other", base_url=f"{URL}/v1", template="{response}", max_tokens=1)
    for start in (0, 10):
        compile(JUDGE + other)(Batch([f"t{start + i}" for i in range(10)]))
    assert fake.in_a_minute() == 10
    assert fake.most == 2


def test_a_server_has_limits_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REWARDKIT_LIMITS", "concurrency=4 https://a.example requests=9 grader concurrency=2")
    a, b = limits_for("https://a.example/v1"), limits_for("https://a.example.org/v1")
    assert (a.concurrency, a.requests, b.requests) == (4, 9, float("inf"))
    assert limits_for("http://10.0.0.1:8000", "grader").concurrency == 2
    for text, says in (("concurency=4", "did you mean 'concurrency'"), ("requests=0", "above 0"), ("usd=x", "above 0")):
        monkeypatch.setenv("REWARDKIT_LIMITS", text)
        with pytest.raises(ConfigError, match=says):
            limits_for(URL)


def test_a_burst_of_temporary_failures_costs_time_and_no_row(fake: Fake) -> None:
    left = iter(range(60))
    fake.reply = lambda _: 503 if next(left, None) is not None else "Score: 5"
    assert (scores([f"t{i}" for i in range(32)]).total == 0.5).all()
    assert len(fake.bodies) == 32 + 60


def test_pauses_double_and_differ(fake: Fake) -> None:
    fake.reply, fake.latency = lambda _: 503, 0.0
    scores(["t"])
    pauses = [b - a for a, b in zip(fake.times, fake.times[1:], strict=False)]
    assert len(pauses) == asking.ATTEMPTS - 1
    assert all(0.25 * 2**i <= pause <= 0.5 * 2**i for i, pause in enumerate(pauses))


def test_a_dead_server_is_unscored_counted_and_soon_asked_no_more_than_once(fake: Fake) -> None:
    def dead(_: Any) -> Any:
        raise httpx.ConnectError("refused")

    fake.reply = dead
    got = scores([f"t{i}" for i in range(400)])
    assert got.unscored.all()
    assert got.summary()["judge/status/error"] == 1.0
    assert "no answer from" in (got.first_reason() or "")
    assert len(fake.bodies) < 2 * 400
    with pytest.raises(UnscoredError, match="100% of 400"):
        check_unscored(got, 0.2)
    fake.reply = lambda _: "Score: 5"
    assert (scores(["back"]).total == 0.5).all()


@pytest.mark.parametrize(
    ("limit", "asked"), [("requests=10", 10), ("tokens=1000", 10), ("usd=0.01 usd_per_million_input=10", 10)]
)
def test_a_runs_budget_ends_the_asking(fake: Fake, monkeypatch: pytest.MonkeyPatch, limit: str, asked: int) -> None:
    monkeypatch.setenv("REWARDKIT_LIMITS", f"concurrency=1 {limit}")
    fake.tokens = 100
    got = scores([f"t{i}" for i in range(30)])
    assert len(fake.bodies) == asked
    assert int((got.total == 0.5).sum()) == asked
    assert got.unscored.sum() == 30 - asked
    assert "budget is spent" in (got.first_reason() or "")


def test_what_was_asked_and_spent_is_counted_where_it_was_asked(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REWARDKIT_LIMITS", "usd_per_million_input=1")
    fake.tokens = 50
    program = compile(JUDGE + judge(model="other", base_url=f"{URL}/v1", template="{response}", max_tokens=1))
    leaves = program.leaves(Batch(["a", "b", "a"]))
    spent = [cost.usage for cost in leaves.costs.values()]
    assert [(u.requests, u.tokens) for u in spent] == [(2, 100), (2, 100)]
    assert sum(u.usd for u in spent) == pytest.approx(2e-4)
    assert fake.asker.spent(Server("", f"{URL}/v1")).requests == 4
    assert all(cost.usage.requests == 0 for cost in program.leaves(Batch(["b"])).costs.values()), "known already"


def test_equal_questions_under_way_are_one(fake: Fake) -> None:
    question = Question(Server("s", URL), f"{URL}/x", {"a": 1})
    answers = fake.asker.ask([question] * 5)
    assert len(fake.bodies) == 1
    assert len({a.body for a in answers}) == 1
    assert sum(a.usage.requests for a in answers) == 1


def test_a_quarter_of_odd_replies_never_makes_a_zero(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    """2,000 rows, 1,000 of them different; a quarter of the replies are cut or odd, and half of those stay so."""
    monkeypatch.setenv("REWARDKIT_LIMITS", "requests_per_minute=600")
    odd = [
        "Score",
        "",
        "Score: 1e9",
        "I think it is go",
        '{"score": ',
        "Score: 3\nScore: 4",
        "Score: 0 or 10",
        "<think>",
    ]

    def kind(text: str) -> tuple[bool, bool]:
        chance = random.Random(text)
        return chance.random() < 0.25, chance.random() < 0.5

    def reply(body: dict[str, Any]) -> str:
        text = body["messages"][0]["content"]
        is_odd, stays = kind(text)
        if is_odd and (stays or len(body["messages"]) == 1):
            return random.Random(text + "!").choice(odd)
        return f"**Score:** {int(text[1:]) % 9 + 1}/10"

    fake.reply = reply
    texts = [f"t{i % 1000}" for i in range(2000)]
    random.Random(1).shuffle(texts)
    got = scores(texts)
    lost = [all(kind(text)) for text in texts]
    assert got.unscored.tolist() == lost
    assert 0.09 < got.unscored.mean() < 0.16
    assert not (got.total == 0).any()
    assert all(t == (int(x[1:]) % 9 + 1) / 10 for t, x, gone in zip(got.total, texts, lost, strict=True) if not gone)
    first = Counter(json.dumps(body) for body in fake.bodies)
    assert set(first.values()) == {1}, "no question twice"
    assert fake.in_a_minute() <= 600
    again = list(reversed(texts))
    assert scores(again).total.tolist()[::-1] == pytest.approx(got.total.tolist(), nan_ok=True)
    assert len(fake.bodies) == len(first)
    assert Status.ERROR in {Status(int(s)) for s in got.status}
