"""Slips in a formula, and whether examples notice them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from rewardkit import parse
from rewardkit.algebra.expression import Reward
from rewardkit.analysis.mutation import Example, examples_of_file, examples_of_module, mutants, notice
from rewardkit.engine.loading import file_value, load_reward, ready_made
from rewardkit.errors import ConfigError, DataError
from tests.profiles import examples
from tests.strategies import TERMS, rewards


def slips(formula: str) -> dict[str, str]:
    return {m.slip: repr(m.reward) for m in mutants(parse(formula))}


def test_each_kind_of_slip() -> None:
    assert slips("gsm8k() + 0.1 * length(cap=2)") == {
        "drop gsm8k()": "0.1 * length(cap=2)",
        "drop 0.1 * length(cap=2)": "gsm8k()",
        "turn gsm8k() round": "~gsm8k() + 0.1 * length(cap=2)",
        "double gsm8k()": "2 * gsm8k() + 0.1 * length(cap=2)",
        "turn the sign of length(cap=2)": "gsm8k() + 0.1 * -length(cap=2)",
        "double length(cap=2)": "gsm8k() + 0.1 * (2 * length(cap=2))",
        "drop the cap of length(cap=2)": "gsm8k() + 0.1 * length()",
    }
    gate = slips("when(gsm8k() & ends_with('.'), 1, -1)")
    assert gate["open the gate gsm8k() & ends_with('.')"] == "1"
    assert gate["drop gsm8k() from gsm8k() & ends_with('.')"] == "when(ends_with('.'), 1, -1)"
    assert gate["swap the branches of gsm8k() & ends_with('.')"] == "when(gsm8k() & ends_with('.'), -1, 1)"
    assert "drop clip(length(), 0, 1)'s clip" in slips("clip(length(), 0, 1)")
    assert "drop length() from minimum" in slips("minimum(length(), gsm8k())")


def test_what_is_only_observed_has_no_mutants() -> None:
    assert list(slips("gsm8k() + observe(length())")) == [
        "drop gsm8k()", "drop observe(length())", "turn gsm8k() round", "double gsm8k()",
    ]  # fmt: skip


@given(rewards)
@examples(0.4)
def test_mutants_are_other_formulas_that_read_back(formula: Reward) -> None:
    others = [m.reward for m in mutants(formula)]
    assert formula not in others
    assert len(set(others)) == len(others)
    for mutant in others:
        assert parse(repr(mutant), terms=TERMS) == mutant


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.isolation if name == "code" else ()) for name in ready_made()]
)
def test_the_examples_of_the_ready_made_rewards_notice_every_slip(name: str) -> None:
    listed = file_value(f"{ready_made()[name]}:EXAMPLES")
    noticed = notice(load_reward(name).reward, examples_of_module(listed, name))
    assert noticed.failed == ()
    assert [m.slip for m in noticed.survived] == []
    assert len(noticed.caught) >= 2


def rows(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(r) + "\n" for r in rows))
    return path


RIGHT = {"response": "#### 42", "ground_truth": "42", "score": 1.0}
CLOSED = {"response": "It is 42.", "ground_truth": "42", "score": 1.1}


def test_survivors_are_what_the_examples_are_blind_to(tmp_path: Path) -> None:
    formula = parse("gsm8k() + 0.1 * ends_with('.')")
    one = notice(formula, examples_of_file(rows(tmp_path / "a.jsonl", RIGHT)))
    assert {m.slip for m in one.survived} == {"drop 0.1 * ends_with('.')", "double ends_with('.')"}
    both = notice(formula, examples_of_file(rows(tmp_path / "b.jsonl", RIGHT, CLOSED)))
    assert both.survived == ()
    assert {e.sample.response for _, e in both.caught} == {"#### 42", "It is 42."}


def test_an_example_that_the_formula_itself_fails_is_told_and_notices_nothing(tmp_path: Path) -> None:
    wrong = {**RIGHT, "score": 0.5}
    noticed = notice(parse("gsm8k()"), examples_of_file(rows(tmp_path / "a.jsonl", wrong)))
    assert [(e.sample.response, pay) for e, pay in noticed.failed] == [("#### 42", 1.0)]
    assert noticed.caught == ()


def test_without_a_score_a_change_of_pay_is_what_is_noticed(tmp_path: Path) -> None:
    plain = {k: v for k, v in RIGHT.items() if k != "score"}
    noticed = notice(parse("gsm8k()"), examples_of_file(rows(tmp_path / "a.jsonl", plain)))
    assert noticed.failed == () and noticed.survived == ()


def test_examples_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="`score` is 'high'"):
        examples_of_file(rows(tmp_path / "a.jsonl", {**RIGHT, "score": "high"}))
    with pytest.raises(DataError, match="has no rows"):
        examples_of_file(rows(tmp_path / "b.jsonl"))
    with pytest.raises(ConfigError, match=r"EXAMPLES\[0\]"):
        examples_of_module([("#### 42", "42")], "mine.py")
    assert examples_of_module([("#### 42", "42", 1, {"tokens": 3})], "mine.py") == [
        Example(sample=examples_of_module([("#### 42", "42", 1, {"tokens": [1, 1, 1]})], "x")[0].sample, pay=1.0)
    ]
