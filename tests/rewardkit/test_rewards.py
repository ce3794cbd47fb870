"""The ready-made rewards: each says what it is, and pays what its table of examples says."""

from __future__ import annotations

import ast
import importlib.util
from pathlib import Path
from typing import Any

import pytest

from rewardkit import Batch, Sample, compile, parse
from rewardkit.engine.loading import load_reward, ready_made

REWARDS = ready_made()


def examples(path: Path) -> list[tuple[Any, ...]]:
    spec = importlib.util.spec_from_file_location(f"ready_made_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return list(module.EXAMPLES)


CASES = [(name, *row) for name, path in REWARDS.items() for row in examples(path)]


def test_the_promised_rewards_are_there() -> None:
    promised = {"recipe", "gsm8k", "gsm8k_shaped", "r1_think_answer", "dapo", "math", "multi_source", "code"}
    promised |= {"instructions", "tools", "tulu3"}
    assert set(REWARDS) >= promised


@pytest.mark.parametrize(
    "case",
    [pytest.param(c, marks=pytest.mark.isolation if c[0] == "code" else ()) for c in CASES],
    ids=[f"{c[0]}-{i}" for i, c in enumerate(CASES)],
)
def test_examples(case: tuple[Any, ...]) -> None:
    name, response, ground_truth, total, *more = case
    fields = dict(more[0]) if more else {}
    if "tokens" in fields:
        fields["tokens"] = [1] * fields["tokens"]
    scores = compile(load_reward(name).reward)(Batch.of([Sample(response, ground_truth, **fields)]))
    assert scores.total[0] == pytest.approx(total), scores.first_reason()


@pytest.mark.parametrize("name", REWARDS)
def test_each_is_a_formula_of_the_vocabulary_and_says_what_it_is(name: str) -> None:
    source = load_reward(name)
    assert parse(source.formula) == source.reward
    assert source.to_config()["source"] is None
    docstring = ast.get_docstring(ast.parse(REWARDS[name].read_text(encoding="utf-8")))
    assert docstring and len(docstring.splitlines()[0]) > 20
    assert len(examples(REWARDS[name])) >= 4


@pytest.mark.parametrize("name", REWARDS)
def test_an_empty_response_is_never_paid(name: str) -> None:
    _, ground_truth, _, *more = examples(REWARDS[name])[0]
    fields = {**(more[0] if more else {}), "tokens": []}
    scores = compile(load_reward(name).reward)(Batch.of([Sample("", ground_truth, **fields)]))
    assert scores.total[0] <= 0
