"""The rules of kinds and nodes that no formula shows. What type checkers see of the kinds: tests/typing."""

from __future__ import annotations

import numpy as np
import pytest

import rewardkit
from rewardkit import Verdict, clip, compile, ends_with, gsm8k, length, when
from rewardkit.algebra.expression import Reward
from rewardkit.errors import FormulaError, KindError


def test_verdicts_stay_verdicts_among_themselves() -> None:
    a, b = gsm8k(), ends_with(".")
    assert isinstance(a & b, Verdict)
    assert isinstance(~(a | b), Verdict)
    assert not isinstance(a & (length() > 3), Verdict)
    assert isinstance(a + 0, Reward)
    assert not isinstance(a + 0, Verdict)


def test_python_s_own_logic_is_refused_with_the_right_spelling() -> None:
    for wrong in (lambda: gsm8k() and ends_with("."), lambda: not gsm8k(), lambda: 0 < length() < 1):
        with pytest.raises(TypeError, match=r"a & b"):
            wrong()


def test_the_commonest_slips_are_named() -> None:
    with pytest.raises(KindError, match=r"call it: length\(\.\.\.\)"):
        length + 1  # type: ignore[operator]
    with pytest.raises(KindError, match=r"call it: gsm8k\(\.\.\.\)"):
        when(gsm8k, 1, 0)  # type: ignore[call-overload]
    with pytest.raises(KindError, match=r"when\(length\(\) > 1, 1, 0\)"):
        (length() > 1) * 2  # type: ignore[operator]
    with pytest.raises(KindError, match="a TokenReward becomes one number"):
        length().spread().on("x")  # type: ignore[attr-defined]
    with pytest.raises(KindError, match="bool"):
        length() + True


def test_numpy_numbers_are_numbers() -> None:
    assert np.float64(0.5) * length() == 0.5 * length()
    assert np.float32(2) + length() == 2 + length()
    assert length() * np.int64(3) == length() * 3
    assert clip(length(), np.float64(0), np.float64(1)) == clip(length(), 0, 1)


def test_nodes_are_values() -> None:
    assert length(1) == length(1.0) == length()
    assert hash(length(1)) == hash(length(1.0))
    assert len({length(), length(1.0), length(2)}) == 2
    with pytest.raises(AttributeError):
        length().operation = None  # type: ignore[misc]
    assert (length() == 3) is False


def test_a_shared_node_that_doubles_is_refused_before_it_explodes() -> None:
    node = length() + 0
    with pytest.raises(FormulaError, match="MAX_NODES"):
        for _ in range(60):
            node = clip(node + node, 0, 1) + 0


def test_two_nodes_under_one_name_are_refused() -> None:
    with pytest.raises(FormulaError, match="two different nodes are named 'a'"):
        compile(length().named("a") + ends_with(".").named("a"))
    shared = length().named("a")
    assert compile(shared + 2 * shared).names == ("a",)


def test_names_in_the_logs_are_unique_and_follow_the_formula() -> None:
    program = compile(length(0.1) + length(0.2) + ends_with(".").named("format") + 0.5 * length(unit="characters"))
    assert program.names == ("length", "length_2", "format", "length_3")


HUGE = {
    "a factor": lambda n: n * rewardkit.gsm8k(),
    "a summand": lambda n: rewardkit.gsm8k() + n,
    "a divisor": lambda n: rewardkit.gsm8k() / n,
    "a threshold": lambda n: rewardkit.length() > n,
    "a parameter": lambda n: rewardkit.brevity(target=n),
    "a parameter of another type": lambda n: rewardkit.matches(n),
    "a parameter out of range": lambda n: rewardkit.repetition(n=n),
    "a step": lambda n: rewardkit.schedule({n: 1}),
    "a value of a schedule": lambda n: rewardkit.schedule({0: n}),
    "the steps of a line": lambda n: rewardkit.linear(0, 1, steps=n),
    "a bound": lambda n: rewardkit.clip(rewardkit.length(), 0, n),
}


@pytest.mark.parametrize("digits", [400, 5_000])  # over a float, and over what Python prints
@pytest.mark.parametrize("where", HUGE)
def test_an_integer_that_no_float_holds_is_refused_when_the_formula_is_built(where: str, digits: int) -> None:
    with pytest.raises(FormulaError) as raised:
        HUGE[where](10**digits)
    assert len(str(raised.value)) < 400
