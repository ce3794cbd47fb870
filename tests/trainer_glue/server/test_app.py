"""The endpoints: values as the program's own, and one clear answer to every bad request."""

from __future__ import annotations

import json
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
    found = client(formula).post("/score", json={"rows": rows}).json()["rows"]
    assert found == [{k: v for k, v in row.items() if k != "group"} for row in expected]


def test_health_names_the_formula() -> None:
    found = client().get("/health").json()
    assert found["status"] == "ok"
    assert parse(found["formula"]) == parse(FORMULA)
    assert found["fingerprint"] == fingerprint(parse(FORMULA))


BAD = {
    "no JSON": (b"{", 400, "no JSON"),
    "deep JSON": (b"[" * 100_000, 400, "no JSON"),
    "no rows": (b"{}", 422, "`rows`"),
    "a list": (b"[1]", 422, "`rows`"),
    "a row of text": (b'{"rows": ["a"]}', 422, "`rows`"),
    "no response": (json.dumps({"rows": [RIGHT, {"ground_truth": "1"}]}).encode(), 422, "rows[1] has no `response`"),
    "a number": (json.dumps({"rows": [{"response": 3}]}).encode(), 422, "rows[0]"),
    "no gold at all": (json.dumps({"rows": [{"response": "a"}]}).encode(), 422, "`ground_truth`"),
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
