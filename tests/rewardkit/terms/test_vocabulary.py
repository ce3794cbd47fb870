"""Every term of the vocabulary: its values as data, and what must hold for any text."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit import Batch, Sample, Status, bounds, compile, from_json, group_share, parse, to_json
from rewardkit.algebra.registry import terms
from rewardkit.algebra.term import Cost
from rewardkit.algebra.values import TermColumn
from rewardkit.engine.program import Leaves
from rewardkit.errors import MissingDependencyError, ParameterError
from rewardkit.turns import turns_of
from tests.quality.hostile import FORMULAS
from tests.quality.hostile import texts as hostile_texts

CASES = [json.loads(line) for line in (Path(__file__).parents[2] / "data" / "terms.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("case", CASES, ids=[c["id"] for c in CASES])
def test_values(case: dict[str, Any]) -> None:
    sample = Sample(
        case["response"],
        case.get("gold"),
        case.get("prompt"),
        extra_info=case.get("extra_info", {}),
        tokens=case.get("tokens"),
        turns=turns_of(case["turns"]) if "turns" in case else None,
    )
    scores = compile(case["formula"])(Batch.of([sample]))
    status = Status(int(scores.status[0]))
    if isinstance(case["expect"], str):
        assert status is Status[case["expect"]], scores.first_reason()
    else:
        assert status is Status.SCORED, scores.first_reason()
        assert scores.total[0] == pytest.approx(case["expect"]), case["why"]


ASKING = {name for name, term in terms().items() if term.cost == "remote"}


def test_every_term_has_a_case() -> None:
    elsewhere = {"length", "gsm8k", "answer_key", *ASKING}  # test_terms.py, below
    assert set(terms()) - elsewhere == {c["formula"].partition("(")[0] for c in CASES}


def test_every_term_is_in_the_formulas_of_the_generic_tests() -> None:
    # Worker processes, sandboxes and servers have tests of their own.
    elsewhere = {name for name, term in terms().items() if term.cost in (Cost.WORKER, Cost.REMOTE)}
    missing = set(terms()) - elsewhere - {formula.partition("(")[0] for formula in FORMULAS}
    assert not missing, f"add {sorted(missing)} to FORMULAS of tests/quality/hostile.py"


_PIECES = [
    "<think>",
    "</think>",
    "<answer>",
    "</answer>",
    "<tool_call>",
    "</tool_call>",
    '{"name": "f", "arguments": {}}',
]
_PIECES += [
    "####",
    "\\boxed{",
    "}",
    "[",
    '"',
    "\\",
    "\n",
    " ",
    "4",
    "-1,000.5",
    "The answer is ",
    "\u8fd9",
    "e\u0301",
    "```json\n",
]
texts = st.lists(st.sampled_from(_PIECES) | st.text(max_size=8), max_size=12).map("".join)
batches = st.builds(
    lambda rows, ids: Batch(
        [r for r, _, _ in rows],
        ground_truths=[g for _, g, _ in rows],
        prompts=[p for _, _, p in rows],
        tokens=[ids] * len(rows),
    ),
    st.lists(st.tuples(texts, st.sampled_from(["4", "C", "a b", "1/2", 7]), texts), min_size=1, max_size=4),
    st.lists(st.integers(0, 3), max_size=12),
)


@given(st.sampled_from(FORMULAS), batches)
def test_any_text_is_within_bounds_never_an_error_and_the_same_twice(formula: str, batch: Batch) -> None:
    program = compile(formula)
    scores, again = program(batch), program(batch)
    statuses = {Status(int(s)) for s in scores.status}
    assert Status.ERROR not in statuses, scores.first_reason()
    scored = scores.total[~np.isnan(scores.total)]
    assert ((scored >= program.bounds.low) & (scored <= program.bounds.high)).all()
    np.testing.assert_array_equal(scores.total, again.total)
    alone = [program(batch.take([i])).total[0] for i in range(len(batch))]
    np.testing.assert_array_equal(scores.total, alone)


@given(st.integers(1, 60), st.integers(1, 60), st.integers(0, 90), st.integers(0, 90))
def test_shorter_is_never_worse(target: int, buffer: int, a: int, b: int) -> None:
    a, b = sorted((a, b))
    batch = Batch(["", ""], tokens=[[0] * a, [0] * b])
    for formula in (
        f"brevity({target}, unit='tokens')",
        f"overlong({target}, {buffer})",
        f"cosine_length(1, 0.5, max_length={target})",
        f"-cosine_length(-1, -0.5, max_length={target})",
    ):
        short, long = compile(formula)(batch).total
        assert short >= long, formula


HOSTILE = hostile_texts()


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_megabyte_has_no_error(name: str) -> None:
    """What it costs is measured by tests/quality/hostile.py."""
    batch = Batch([HOSTILE[name]], ground_truths=["4"], prompts=["what is four"], tokens=[[1, 2, 3]])
    for formula in FORMULAS:
        scores = compile(formula)(batch)
        assert Status(int(scores.status[0])) is not Status.ERROR, (formula, scores.first_reason())


@pytest.mark.parametrize("formula", FORMULAS)
def test_text_and_json_round_trips(formula: str) -> None:
    node = parse(formula)
    assert parse(repr(node)) == node
    assert from_json(to_json(node)) == node
    assert copy.deepcopy(node) == node
    assert bounds(node).low <= bounds(node).high


@pytest.mark.parametrize(
    ("formula", "word"),
    [
        ("brevity(0)", "target"),
        ("length_target(-1, width=3)", "target"),
        ("length_target('a', width=0)", "width"),
        ("overlong(10, 0)", "buffer"),
        ("cosine_length(1, 0)", "max_length"),
        ("repetition(0)", "n"),
        ("starts_with('')", "beginning"),
        ("matches('(')", "regular expression"),
        ("matches('a', deadline=0)", "deadline"),
        ("script_share('Klingon')", "Unicode script"),
        ("json_valid('{')", "JSON schema"),
        ('json_valid(\'{"type": "objec"}\')', "JSON schema"),
        ('json_valid(\'{"$ref": "https://example.com/schema"}\')', "$defs"),
        ('json_valid(\'{"pattern": "("}\')', "pattern"),
        ("tag_count([])", "tags"),
        ("think_answer(think='a b')", "think"),
        ("fuzzy_match(kind='soundex')", "kind"),
        ("judge(model='m', template='hello')", "{response}"),
        ("judge(model='m', template='{response} {rubric}')", "{rubric}"),
        ("judge(model='m', scale=[5, 1])", "scale"),
    ],
)
def test_wrong_parameters_are_refused_when_the_node_is_built(formula: str, word: str) -> None:
    with pytest.raises(ParameterError) as e:
        parse(formula)
    assert word in str(e.value)


@pytest.mark.parametrize(
    ("module", "formula"),
    [
        ("jsonschema", "json_valid('{\"minimum\": 77}')"),
        ("rapidfuzz.fuzz", "fuzzy_match()"),
        ("rapidfuzz.distance", "rouge_l()"),
        ("sacrebleu", "bleu()"),
        ("sacrebleu", "chrf()"),
        ("py3langid", "follows()"),
        ("reasoning_gym.factory", "reasoning_gym('countdown')"),
        ("httpx", "judge(model='m')"),
    ],
)
def test_a_missing_package_is_named_when_the_node_is_built(
    module: str, formula: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, module, None)
    with pytest.raises(MissingDependencyError, match="pip install 'rewardkit-rl"):
        parse(formula)


def test_the_share_of_equal_answers() -> None:
    texts = ["#### 4", "so it is \\boxed{4.0}", "#### 5", "", "#### 5", "#### 1/2", "#### 0.5"]
    batch = Batch(texts, groups=["g", "g", "g", "g", "h", "h", "h"])
    agree = compile(group_share(terms()["answer_key"]()))(batch)
    np.testing.assert_allclose(agree.total, [0.5, 0.5, 0.25, 0, 1 / 3, 2 / 3, 2 / 3])
    penalty = compile("-group_share(answer_key())")(batch)
    assert penalty.total[3] == -1  # no answer is never the best paid
    majority = compile("when(group_share(answer_key()) > 0.5, 1, 0)")(batch)
    assert majority.total.tolist() == [0, 0, 0, 0, 0, 1, 1]


def test_the_share_of_equal_answers_from_rows_that_were_scored_one_by_one() -> None:
    """As a trainer does that sees groups only later, and keeps values as float32 in between."""
    texts = ["#### 4", "#### 1/2", "\\boxed{x+1}", "", "so 4", "\\boxed{ x + 1 }", "#### 4.0"]
    batch = Batch(texts, groups=["g"] * len(texts))
    program = compile("group_share(answer_key())")
    (node,) = program.terms.values()
    parts = [program.leaves(batch.take([i])).columns[node] for i in range(len(texts))]
    values = np.concatenate([p.values for p in parts]).astype(np.float32).astype(np.float64)
    column = TermColumn(values, np.concatenate([p.statuses for p in parts]))
    scores = program.finish(Leaves(batch, {node: column}), groups=batch.groups)
    np.testing.assert_allclose(scores.total, np.array([3, 1, 2, 0, 3, 2, 3]) / 7)
