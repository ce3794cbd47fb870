"""Whatever a formula's text says, it is a formula that reads back or one error of rewardkit's own."""

from __future__ import annotations

import random

import pytest

from rewardkit import compile, fingerprint, parse
from rewardkit.algebra.registry import callables
from rewardkit.errors import KindError, RewardKitError

ATOMS = [
    "1", "-1", "0", "1e9", "1e-300", "10**9", "'a'", "''", "'\\d+'", "None", "True", "[1]", "[]", "{0: 1}", "{'a': 1}",
    "length()", "gsm8k()", "length().spread()", "'words'", "'tokens'", "f'{1}'", "b''", "...", "lambda: 1", "1j",
    "[x for x in 'a']", "length().__class__", "(gsm8k() > 0)", "1" + "0" * 400, "schedule({0: 1})", "'\ud800'", "ａ",
]  # fmt: skip
SIGNS = ["+", "-", "*", "/", "<", "<=", "&", "|", "==", "**", "@", "//", "and", "in"]
METHODS = ["named", "on", "spread", "total", "args", "__init__"]


def text(rng: random.Random, depth: int) -> str:
    kind = rng.random()
    if depth == 0 or kind < 0.3:
        return rng.choice(ATOMS)
    if kind < 0.65:
        name = rng.choice([*callables()])
        given = [text(rng, depth - 1) for _ in range(rng.randint(0, 3))]
        named = [p.name for p in getattr(callables()[name], "parameters", ())] or ["by", "steps", "otherwise"]
        if rng.random() < 0.4:
            given.append(f"{rng.choice(named)}={text(rng, depth - 1)}")
        return f"{name}({', '.join(given)})"
    if kind < 0.9:
        return f"({text(rng, depth - 1)} {rng.choice(SIGNS)} {text(rng, depth - 1)})"
    return f"({text(rng, depth - 1)}).{rng.choice(METHODS)}({rng.choice(['', '1', repr('x')])})"


@pytest.mark.parametrize("seed", range(4))
def test_a_generated_text_is_a_formula_or_an_error_that_says_why(seed: int) -> None:
    rng = random.Random(seed)
    formulas = 0
    for _ in range(400):
        written = text(rng, rng.randint(0, 3))
        try:
            reward = parse(written)
            compile(reward)
        except RewardKitError:
            continue
        formulas += 1
        assert parse(repr(reward)) == reward, written
        assert fingerprint(parse(repr(reward))) == fingerprint(reward), written
    assert formulas > 20


@pytest.mark.filterwarnings("error")
def test_a_pattern_in_a_text_warns_nobody() -> None:
    assert parse(r"matches('\d+')") == parse(r"matches('\\d+')")


@pytest.mark.parametrize("formula", ["length() | 1", "1 & 2", "length() & length()", "length().spread() & gsm8k()"])
def test_and_and_or_of_numbers_say_what_they_expect(formula: str) -> None:
    with pytest.raises(KindError, match="expected a Condition"):
        parse(formula)
