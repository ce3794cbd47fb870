"""The endpoints: values as the program's own, and one clear answer to every bad request."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("httpx")

from fastapi.testclient import TestClient

from rewardkit import compile, fingerprint, parse
from trainer_glue.server import make_app

FORMULA = "gsm8k() + schedule({0: 0, 5: 1}) * ends_with('.?!', min_words=0)"
RIGHT = {"response": "#### 42", "ground_truth": "42"}


def client(formula: str = FORMULA, **limits: int) -> TestClient:
    return TestClient(make_app(compile(formula), **limits))


def test_rows_come_back_in_order_with_values_and_statuses() -> None:
    rows = [RIGHT, {"response": "No idea.", "ground_truth": "42"}, {"response": "#### 1", "ground_truth": None}]
    answer = client().post("/score", json={"rows": rows, "step": 5})
    assert answer.status_code == 200
    assert [row["score"] for row in answer.json()["rows"]] == [1.0, 1.0, None]
    assert answer.json()["rows"][1] == {
        "score": 1.0,
        "total_status": "scored",
        "terms": {"gsm8k": 0.0, "ends_with": 1.0},
        "status": {"gsm8k": "no_answer", "ends_with": "scored"},
    }


def test_it_equals_rewardkit_score_on_the_same_rows(tmp_path: Any) -> None:
    from rewardkit.scoring import score_file

    rows = [{"response": f"{'word ' * i}#### {i}.", "ground_truth": "3", "group": i // 3} for i in range(9)]
    formula = "gsm8k() + 0.1 * group_rank(length())"
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    written: list[str] = []
    score_file(compile(formula), path, written.append)
    expected = [json.loads(line) for line in "".join(written).splitlines()]
    answered = client(formula).post("/score", json={"rows": rows}).json()["rows"]
    assert answered == [{k: v for k, v in row.items() if k != "group"} for row in expected]


def test_health_names_the_formula() -> None:
    answered = client().get("/health").json()
    assert answered["status"] == "ok"
    assert parse(answered["formula"]) == parse(FORMULA)
    assert answered["fingerprint"] == fingerprint(parse(FORMULA))


BAD = {
    "no JSON": (b"{", 400, "not JSON"),
    "deep JSON": (b"[" * 100_000, 400, "not JSON"),
    "no rows": (b"{}", 422, "`rows`"),
    "a list": (b"[1]", 422, "`rows`"),
    "a row of text": (b'{"rows": ["a"]}', 422, "`rows`"),
    "no response": (json.dumps({"rows": [RIGHT, {"ground_truth": "1"}]}).encode(), 422, "rows[1] has no `response`"),
    "a number": (json.dumps({"rows": [{"response": 3}]}).encode(), 422, "rows[0]"),
    "no ground truth at all": (json.dumps({"rows": [{"response": "a"}]}).encode(), 422, "`ground_truth`"),
    "a step of text": (json.dumps({"rows": [RIGHT], "step": "5"}).encode(), 422, "`step` is '5'"),
    "too many rows": (json.dumps({"rows": [RIGHT] * 4}).encode(), 413, "at most 3"),
    "too many bytes": (b" " * 2_000_000, 413, "1,000,000 bytes"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_requests(name: str) -> None:
    body, status, part = BAD[name]
    answer = client(max_rows=3, max_bytes=1_000_000).post("/score", content=body)
    assert answer.status_code == status
    assert part in answer.json()["error"]


def test_no_rows_are_no_error_and_a_draining_server_closes_connections() -> None:
    app = make_app(compile("length()"))
    client = TestClient(app)
    assert client.post("/score", json={"rows": []}).json() == {"rows": []}
    assert "connection" not in client.get("/health").headers
    app.state.draining = True
    assert client.get("/health").headers["connection"] == "close"
    assert client.post("/score", json={"rows": []}).headers["connection"] == "close"


class Request:
    """A request whose body comes in parts, one at each call of `send`; the answer's status once there is one."""

    def __init__(self, app: Any) -> None:
        self._parts: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.status = 0
        self.headers: dict[bytes, bytes] = {}
        self.body = b""
        scope = {"type": "http", "method": "POST", "path": "/score", "headers": [], "query_string": b"", "app": app}
        self.task = asyncio.ensure_future(app(scope, self._parts.get, self._take))

    async def send(self, part: bytes, *, more: bool = True) -> None:
        await self._parts.put({"type": "http.request", "body": part, "more_body": more})
        await asyncio.sleep(0.01)

    async def leave(self) -> None:
        await self._parts.put({"type": "http.disconnect"})
        await self.task

    async def _take(self, message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self.status, self.headers = message["status"], dict(message["headers"])
        self.body += message.get("body", b"")


FULL = json.dumps({"rows": [{"response": "a b"}], "pad": "x" * 600}).encode()


def test_bodies_that_arrive_count_together_and_leave_room_again() -> None:
    async def story() -> AsyncIterator[tuple[str, int]]:
        app = make_app(compile("length()"), max_bytes=1_000, max_bytes_in_flight=1_000)
        slow, second, third = Request(app), Request(app), Request(app)
        await slow.send(FULL[:500])
        await second.send(FULL[:400])
        await third.send(FULL[:400])  # 1,300 bytes in all
        await third.send(FULL[400:], more=False)
        await third.task
        yield "over the limit", third.status
        assert third.headers[b"retry-after"] == b"1"
        await second.leave()
        yield "gone", second.status
        again = Request(app)
        await again.send(FULL[:300])
        await slow.send(FULL[500:], more=False)
        await slow.task
        yield "the first", slow.status
        await again.send(FULL[300:], more=False)
        await again.task
        yield "after the others", again.status
        for _ in range(3):  # nothing is kept of any of them
            last = Request(app)
            await last.send(FULL, more=False)
            await last.task
            yield "later", last.status

    async def seen() -> list[tuple[str, int]]:
        return [step async for step in story()]

    assert asyncio.run(seen()) == [
        ("over the limit", 503),
        ("gone", 400),
        ("the first", 200),
        ("after the others", 200),
        *[("later", 200)] * 3,
    ]


@pytest.mark.parametrize(("size", "status"), [(10, 408), (2_000, 413)])
def test_a_body_without_an_end_is_answered_and_its_connection_closed(size: int, status: int) -> None:
    async def story() -> Request:
        app = make_app(compile("length()"), max_bytes=1_000, body_s=0.2)
        request = Request(app)
        while not request.task.done():
            await request.send(b" " * size)
        return request

    request = asyncio.run(story())
    assert request.status == status
    assert request.headers[b"connection"] == b"close"
