"""Every formula prints and reads back; hostile text is one error, in time linear in the text."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rewardkit import ends_with, fingerprint, from_json, gsm8k, length, parse, to_json
from rewardkit.algebra.expression import MAX_NODES, Reward, TokenReward
from rewardkit.algebra.parse import MAX_FORMULA_CHARS
from rewardkit.errors import (
    FormulaError,
    KindError,
    ParameterError,
    ParseError,
    RewardKitError,
    UnknownNameError,
)
from tests.strategies import TERMS, beta, formulas, token_rewards


@given(formulas | token_rewards)
def test_print_and_parse(formula: Reward | TokenReward) -> None:
    again = parse(repr(formula), TERMS)
    assert again == formula
    assert hash(again) == hash(formula)
    assert type(again) is type(formula)
    assert repr(again) == repr(formula)


@given(formulas | token_rewards)
def test_json_round_trip(formula: Reward | TokenReward) -> None:
    assert from_json(to_json(formula), TERMS) == formula


@given(formulas, formulas)
@example(beta(-0.0), beta(0.0))
@example(length(cap=1), length(cap=1.0))
def test_fingerprints_are_equal_exactly_for_equal_formulas(a: Reward | TokenReward, b: Reward | TokenReward) -> None:
    assert fingerprint(a) == fingerprint(parse(repr(a), TERMS))
    assert (fingerprint(a) == fingerprint(b)) == (a == b)


@given(st.text(max_size=200) | st.text("()[]{}+-*/~&|<>=.,:'\"0123456789abe \n", max_size=60))
def test_any_text_parses_or_is_one_error(text: str) -> None:
    try:
        node = parse(text)
    except RewardKitError:
        return
    assert parse(repr(node)) == node


HOSTILE = {
    "import": ("__import__('os').system('true')", FormulaError),
    "attribute": ("length.__class__", FormulaError),
    "attribute of a call": ("length().__class__()", UnknownNameError),
    "comprehension": ("[length() for x in y]", ParseError),
    "lambda": ("(lambda: length())()", ParseError),
    "subscript": ("length()[0]", ParseError),
    "f-string": ("f'{length()}'", ParseError),
    "walrus": ("(x := length())", ParseError),
    "star": ("minimum(*[length()])", ParseError),
    "double star": ("length(**{'cap': 1})", ParseError),
    "statement": ("import os", ParseError),
    "two lines": ("length()\nlength()", ParseError),
    "closing early": ("1) + (2", ParseError),
    "power": ("length() ** 9999999", ParseError),
    "power of numbers": ("9**9**9**9 * length()", ParseError),
    "string times a number": ("'a' * 1000000000", KindError),
    "big integer": ("9" * 5000, ParseError),
    "infinite": ("1e999 * length()", ParameterError),
    "complex": ("1j * length()", ParseError),
    "bytes": ("ends_with(b'.')", ParseError),
    "null byte": ("length(\0)", ParseError),
    "a million brackets": ("(" * 1_000_000, ParseError),
    "brackets under the length limit": ("(" * 90_000 + ")" * 90_000, ParseError),
    "a tower of signs": ("-" * 100_000 + "1", ParseError),
    "a tower of calls": ("observe(" * 250 + "length()" + ")" * 250, FormulaError),
    "a long sum": ("+".join(["length()"] * (MAX_NODES + 1)), FormulaError),
    "a long chain": ("<".join(["length()"] * 9_000), FormulaError),
    "too long": ("length() + " * (MAX_FORMULA_CHARS // 11 + 1) + "1", ParseError),
    "empty": ("   ", ParseError),
    "surrogate": ("ends_with('\ud800') +", ParseError),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text(name: str) -> None:
    text, error = HOSTILE[name]
    with pytest.raises(error) as caught:
        parse(text)
    assert len(str(caught.value)) < 2_000


WRONG = {
    "length(0.1) + ": ("not a formula", ParseError),
    "lenght(0.1)": ("did you mean 'length'", UnknownNameError),
    "length(per_word=1)": ("has no parameter 'per_word'", ParameterError),
    "length(-1)": ("'per_unit' is -1", ParameterError),
    "length(True)": ("'per_unit' is True", ParameterError),
    "length(unit='pages')": ("'unit' is 'pages'", ParameterError),
    "length(1, 2)": ("by position", ParameterError),
    "length(1, per_unit=2)": ("twice", ParameterError),
    "ends_with()": ("lacks its parameter 'endings'", ParameterError),
    "ends_with('')": ("'endings' is ''", ParameterError),
    "ends_with": ("call it", ParseError),
    "gsm8k() and ends_with('.')": ("`a & b`", ParseError),
    "not gsm8k()": ("`~a`", ParseError),
    "0 < length() < 1": ("chained", ParseError),
    "1 if gsm8k() else 0": ("when(c, x, y)", ParseError),
    "gsm8k() == 1": ("compares formulas", ParseError),
    "length() > 3": ("expected a reward", KindError),
    "(length() > 3) + 1": ("when(length() > 3, 1, 0)", KindError),
    "when(length(0.1), 1, 0)": ("expected a Condition", KindError),
    "clip(length().spread(), 0, 1)": (".total()", KindError),
    "length().spread() * length().spread()": ("two TokenRewards", KindError),
    "length() / gsm8k()": ("divided by numbers only", KindError),
    "length() / 0": ("by 0", ParameterError),
    "length().total()": ("expected a TokenReward", KindError),
    "length().named('total')": ("own metrics", ParameterError),
    "length().named('a b')": ("expected a letter", ParameterError),
    "(length().named('a') + 1).named('a')": ("same node", ParameterError),
    "length().on('(')": ("regular expression", ParameterError),
    "clip(length())": ("changes nothing", ParameterError),
    "clip(length(), 2, 1)": ("above high", ParameterError),
    "minimum()": ("of nothing", ParameterError),
    "minimum([length(), 1])": ("unpack", KindError),
    "route({})": ("expected a mapping", ParameterError),
    "route({'a': length(), 'a': 1})": ("twice", ParseError),
    "schedule({})": ("expected a mapping", ParameterError),
    "schedule({-1: 1}) * length()": ("key", ParseError),
    "linear(0, 1)": ("steps", ParameterError),
    "linear(0, 1, steps=0)": ("from 1 on", ParameterError),
    "observe(1)": ("nothing to log", ParameterError),
}


@pytest.mark.parametrize("text", WRONG)
def test_wrong_formulas_say_what_to_write(text: str) -> None:
    part, error = WRONG[text]
    with pytest.raises(error) as caught:
        parse(text)
    assert part in str(caught.value)


def test_the_pointer_shows_the_place() -> None:
    with pytest.raises(UnknownNameError) as caught:
        parse("length(0.1) + lenght(0.2)")
    lines = str(caught.value).splitlines()
    assert lines[2].index("^") == lines[1].index("lenght")


def test_numbers_print_as_people_write_them() -> None:
    assert repr(length(1) * 2 - 0.5) == "2 * length() - 0.5" or repr(length(1) * 2 - 0.5) == "length() * 2 - 0.5"
    assert repr(length(0.1, cap=1) + ends_with(".?!")) == "length(0.1, cap=1) + ends_with('.?!')"
    assert repr(1 - gsm8k()) == "1 - gsm8k()"
    assert repr(-(gsm8k() + 1)) == "-(gsm8k() + 1)"
    assert repr(length() - (gsm8k() - 1)) == "length() - (gsm8k() - 1)"


def test_fingerprints_are_the_same_in_every_process() -> None:
    """Python's own hashes of text differ between processes; these must not, nor may they change by accident."""
    code = "from rewardkit import parse, fingerprint; print(fingerprint(parse(\"length(0.1) + ends_with('.?!')\")))"
    seen = {
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": seed}
        ).stdout.strip()
        for seed in ("0", "1")
    }
    assert seen == {"rk1-00d7965b99bdbc4f"}


def test_json_refuses_what_is_no_formula() -> None:
    good = json.loads(to_json(length(0.1) + 1))
    later = {**good, "rewardkit": 99}
    other_version = json.loads(to_json(length(0.1)))
    other_version["formula"]["identity"][2] = "0"
    for bad in [
        "",
        "[]",
        "{}",
        json.dumps(later),
        json.dumps(other_version),
        '{"rewardkit": 1, "formula": {"op": "x"}}',
    ]:
        with pytest.raises(FormulaError):
            from_json(bad)
    nested: object = {"op": "number", "params": {"value": 1}}
    for _ in range(300):
        nested = {"op": "neg", "args": [nested]}
    with pytest.raises(FormulaError):
        from_json(json.dumps({"rewardkit": 1, "formula": nested}))
