"""Criteria and rankings against a server on this machine that reads what it is asked."""

from __future__ import annotations

import itertools
import json
import random
import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit import Batch, Status, compile, from_json, group_judge, parse, rubric, to_json
from rewardkit.errors import ParameterError
from rewardkit.terms import asking
from rewardkit.terms.verdicts import answers_in, ranking_in, tiers
from tests.servers import Answer, Server, said

pytest.importorskip("httpx")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(asking, "FIRST_PAUSE", 0.0)
    monkeypatch.setattr(asking._process, "asker", None)
    monkeypatch.delenv("REWARDKIT_ENDPOINTS", raising=False)
    monkeypatch.delenv("REWARDKIT_LIMITS", raising=False)
    started = Server(meets)
    yield started
    started.close()


def parts(body: dict[str, Any], tag: str) -> list[str]:
    return re.findall(rf"<{tag}-\w+[^>]*>\n(.*?)\n</{tag}-", body["messages"][0]["content"], re.DOTALL)


def meets(body: dict[str, Any]) -> Answer:
    """A criterion is met where the response has its word."""
    (response,), (criteria,) = parts(body, "response"), parts(body, "criteria")
    lines = criteria.splitlines()
    verdicts = ["yes" if line.split()[-1] in response else "no" for line in lines]
    return said("So.\n" + "\n".join(verdicts if len(lines) == 1 else [f"{i}: {v}" for i, v in enumerate(verdicts, 1)]))


CRITERIA = [["has aa", 2, "first"], ["has bb", 1], ["has cc", -1, "bad"]]
TEXTS = ["aa bb", "aa", "bb cc", "cc", "", "aa bb cc"]
WORTH = [1.0, 2 / 3, 0.0, 0.0, 0.0, 2 / 3]


@pytest.mark.parametrize("grouped", [True, False])
def test_weights_are_paid_and_never_shown(server: Server, grouped: bool) -> None:
    node = rubric(CRITERIA, model="m", base_url=server.url, grouped=grouped)
    assert parse(repr(node)) == node == from_json(to_json(node))
    program = compile(node)
    assert (program.bounds.low, program.bounds.high) == (0, 1)
    scores = program(Batch(TEXTS, prompts=["p"] * len(TEXTS)))
    assert scores.total.tolist() == pytest.approx(WORTH)
    assert scores.values["first"].tolist() == [1, 1, 0, 0, 0, 1]
    assert scores.values["bad"].tolist() == [0, 0, 1, 1, 0, 1]
    assert program.names == ("first", "criterion", "bad")
    assert len(server.requests) == len(TEXTS) * (1 if grouped else 3)
    asked = re.sub(r"-[0-9a-f]{8}\b", "", "".join(server.prompt(i) for i in range(len(server.requests))))
    assert "weight" not in asked
    assert not {"2", "-1"} & set(re.sub(r"^\d\. |`1: yes`", "", asked, flags=re.MULTILINE).split())


@pytest.mark.parametrize("grouped", [True, False])
@pytest.mark.parametrize(
    "shape",
    [
        [
            {"criterion": "has aa", "weight": 2},
            {"description": "has bb", "points": 1},
            {"text": "has cc", "weight": -1},
        ],
        [["has aa", 2], ["has bb", 1], ["has cc", -1]],
        {"has aa": 2, "has bb": 1, "has cc": -1},
        json.dumps([{"criterion": "has aa", "weight": 2}, ["has bb", 1], ["has cc", -1]]),
    ],
)
def test_a_row_brings_its_own_criteria(server: Server, shape: Any, grouped: bool) -> None:
    node = rubric(model="m", base_url=server.url, logged=4, grouped=grouped)
    assert parse(repr(node)) == node
    batch = Batch(TEXTS, prompts=["p"] * len(TEXTS), extra_infos=[{"rubric": shape}] * len(TEXTS))
    scores = compile(node)(batch)
    assert scores.total.tolist() == pytest.approx(WORTH)
    assert scores.values["row_criterion_3"].tolist() == [0, 0, 1, 1, 0, 1]
    assert set(scores.statuses["row_criterion_4"]) == {Status.NOT_APPLICABLE}
    assert len(server.requests) == len(TEXTS) * (1 if grouped else 3), "its columns ask nothing more"


@pytest.mark.parametrize(
    "given", [None, "no json", [], 3, [["a", 0]], [["a", -1]], [["a", 1], ["a", 2]], [{"weight": 1}], [["a", True]]]
)
def test_a_row_without_usable_criteria_is_unscored(server: Server, given: Any) -> None:
    scores = compile(rubric(model="m", base_url=server.url))(
        Batch(["x"], prompts=["p"], extra_infos=[{"rubric": given}])
    )
    assert Status(int(scores.status[0])) is Status.BAD_GOLD
    assert not server.requests


def test_a_criterion_that_is_left_open_leaves_the_row_unscored(server: Server) -> None:
    def reply(body: dict[str, Any]) -> Answer:
        return said("1: yes\n2: yes") if parts(body, "response") == ["cut"] else meets(body)

    server.reply = reply
    scores = compile(rubric(CRITERIA, model="m", base_url=server.url))(Batch(["aa", "cut"], prompts=["p"] * 2))
    assert scores.unscored.tolist() == [False, True]
    assert Status(int(scores.statuses["first"][1])) is Status.ERROR
    assert len(server.requests) == 3, "it was asked for once more"


@pytest.mark.parametrize(
    "criteria", [[], [["a", -1]], [["a", 0]], ["a"], [["a"]], [["a", "1"]], [["", 1]], [["a", 1], ["a", 2]], "a", 3]
)
def test_criteria_that_pay_nothing_are_refused(criteria: Any) -> None:
    with pytest.raises(ParameterError):
        rubric(criteria, model="m")


VERDICTS = [
    ("1: yes\n2: no", 2, [True, False]),
    ("**1.** Met\n**2.** Not met", 2, [True, False]),
    ("1: yes", 2, None),
    ("1: yes\n2: no\n3: no", 2, None),
    ("1: yes\n2: no\n1: no", 2, None),
    ("yes\nno", 2, None),
    ('```json\n["yes", "no"]\n```', 2, [True, False]),
    ('{"1": true, "2": false}', 2, [True, False]),
    ('{"1": true, "2": "perhaps"}', 2, None),
    ("It does.\n\nYes.", 1, [True]),
    ("Verdict: **no**", 1, [False]),
    ("yes\nno", 1, None),
    ('{"met": false}', 1, [False]),
    ("<think>yes</think>no", 1, [False]),
    ("", 1, None),
]


@pytest.mark.parametrize(("reply", "count", "expect"), VERDICTS)
def test_verdicts_as_judges_write_them(reply: str, count: int, expect: Any) -> None:
    assert answers_in(reply, count) == expect


RANKINGS = [
    ("Hm.\nRanking: 2 > 1 = 3", [1, 0, 1]),
    ("**Final ranking:** [3] > [1] > [2].", [1, 2, 0]),
    ("3, 1, 2", [1, 2, 0]),
    ("Ranking: 1 > 2", None),
    ("Ranking: 1 > 2 > 3 > 4", None),
    ("Ranking: 1 > 2 > 2", None),
    ("Ranking: 1 > 2 > 3\nRanking: 3 > 2 > 1", None),
    ("Ranking: A > B > C", None),
    ("Well\n1 > 2 > 3", None),
    ("", None),
]


@pytest.mark.parametrize(("reply", "expect"), RANKINGS)
def test_rankings_as_judges_write_them(reply: str, expect: Any) -> None:
    assert ranking_in(reply, 3) == expect


@given(st.lists(st.integers(0, 5), min_size=1, max_size=9))
def test_the_mean_of_a_group_is_the_middle(ranks: list[int]) -> None:
    values = tiers(ranks)
    assert sum(values) / len(values) == pytest.approx(0.5)
    assert all((values[i] > values[j]) == (ranks[i] < ranks[j]) for i in range(len(ranks)) for j in range(len(ranks)))


def ranks_by_length(body: dict[str, Any]) -> Answer:
    lengths = [len(text) for text in parts(body, "response")]
    places = sorted(range(len(lengths)), key=lambda i: -lengths[i])
    text = str(places[0] + 1)
    for a, b in itertools.pairwise(places):
        text += f" {'=' if lengths[a] == lengths[b] else '>'} {b + 1}"
    return said(f"Longer is better.\nRanking: {text}")


def test_a_group_is_ranked_whatever_the_order_of_its_rows(server: Server) -> None:
    server.reply = ranks_by_length
    rows = [("a", "xxx"), ("a", "x"), ("b", "y"), ("a", "zz"), ("a", "yy"), ("b", "y"), ("c", "alone"), ("a", "x")]
    expect = {"xxx": 1.0, "zz": 0.625, "yy": 0.625, "x": 0.125, "y": 0.5, "alone": 0.5}
    node = group_judge(model="m", base_url=server.url)
    for seed in range(4):
        random.Random(seed).shuffle(rows)
        batch = Batch([t for _, t in rows], prompts=[g for g, _ in rows], groups=[g for g, _ in rows])
        assert compile(node)(batch).total.tolist() == [expect[t] for _, t in rows]
    assert len(server.requests) == 1, "equal groups are asked about once, and nothing where there is nothing to rank"
    shown = parts(server.requests[0], "response")
    assert sorted(shown) == ["x", "xxx", "yy", "zz"]


def test_several_orders_are_averaged_and_a_favourite_place_evens_out(server: Server) -> None:
    server.reply = lambda body: said("Ranking: " + " > ".join(str(i + 1) for i in range(len(parts(body, "response")))))
    texts = ["a", "b"]
    batch = Batch(texts, prompts=["p"] * 2, groups=[0] * 2)
    totals = compile(group_judge(model="m", base_url=server.url, orders=16))(batch).total
    assert totals.sum() == pytest.approx(1)
    assert 0.2 < totals[0] < 0.8
    orders = {tuple(parts(body, "response")) for body in server.requests}
    assert orders == {("a", "b"), ("b", "a")}


def test_an_unclear_ranking_leaves_its_group_unscored_and_no_other(server: Server) -> None:
    server.reply = lambda body: said("no idea") if "bad" in parts(body, "response") else ranks_by_length(body)
    batch = Batch(["bad", "x", "y", "zz"], prompts=["p", "p", "q", "q"], groups=[0, 0, 1, 1])
    scores = compile(group_judge(model="m", base_url=server.url))(batch)
    assert scores.unscored.tolist() == [True, True, False, False]
    assert scores.total[2:].tolist() == [0.0, 1.0]


def test_every_row_counts_in_its_group_whichever_are_paid(server: Server) -> None:
    server.reply = ranks_by_length
    reward = f"when(contains('x'), group_judge(model='m', base_url={server.url!r}), 0)"
    scores = compile(reward)(Batch(["x", "yy", "xxx"], prompts=["p"] * 3, groups=[0] * 3))
    assert scores.total.tolist() == [0.0, 0.0, 1.0]


def test_without_groups_it_says_so(server: Server) -> None:
    scores = compile(group_judge(model="m", base_url=server.url))(Batch(["x"], prompts=["p"]))
    assert scores.unscored.all()
    assert "needs group" in (scores.first_reason() or "")
