"""Printed text and returned data against what is expected: all of it, by a stated rule."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit.unit_tests.compare import TextRule, same_data, same_text

TEXTS: list[tuple[str, str, TextRule, bool]] = [
    ("1 2 3\n", "1 2 3", "tokens", True),
    ("1\n2\n3", "1 2 3", "tokens", True),
    ("1\r\n2  \n\n", "1\n2", "lines", True),
    ("1 2", "1 2 3", "tokens", False),
    ("1 2 3 4", "1 2 3", "tokens", False),
    ("", "1", "tokens", False),
    ("1\n2", "1 2", "lines", False),
    ("1\n\n2", "1\n2", "lines", False),
    ("a  b", "a b", "lines", True),
    ("a  b", "a b", "exact", False),
    ("a b\n", "a b", "exact", True),
    ("a b ", "a b", "exact", False),
    ("YES", "Yes", "tokens", False),
    ("0.3333333", "0.33333333", "tokens", True),
    ("0.3334", "0.3333", "tokens", False),
    ("3.0", "3", "tokens", True),
    ("3.0000001", "3", "tokens", False),
    ("1000000008.0", "1000000007", "tokens", False),
    ("1000000008", "1000000007", "tokens", False),
    ("3", "3.0", "tokens", True),
    ("007", "7", "tokens", False),
    ("1e3", "1000", "tokens", True),
    ("nan", "1.0", "tokens", False),
    ("nan", "nan", "tokens", True),
    ("inf", "1e400", "tokens", False),
    ("1e999", "1.5", "tokens", False),
    ("1_000.0", "1000.0", "tokens", False),
    ("١.٠", "1.0", "tokens", False),
    ("1.5\x00", "1.5", "tokens", False),
    ("9" * 500 + ".0", "9" * 500 + ".1", "tokens", False),
]


@pytest.mark.parametrize(("printed", "expected", "rule", "same"), TEXTS)
def test_texts(printed: str, expected: str, rule: TextRule, same: bool) -> None:
    assert same_text(printed, expected, rule=rule) is same


@given(st.lists(st.sampled_from(["1", "2.5", "x", "-3", "0"]), min_size=1, max_size=6), st.data())
def test_a_part_of_what_is_expected_is_never_enough(words: list[str], data: Any) -> None:
    expected = "\n".join(words)
    rule = data.draw(st.sampled_from(["tokens", "lines", "exact"]))
    assert same_text(expected + "\n", expected, rule=rule)
    cut = data.draw(st.integers(0, len(words) - 1))
    assert not same_text("\n".join(words[:cut]), expected, rule=rule)
    assert not same_text("\n".join([*words, *words[cut:]]), expected, rule=rule)


DATA: list[tuple[Any, Any, bool]] = [
    (1, 1, True),
    (1.0, 1, True),
    (True, 1, True),
    (1, 1.0, True),
    ("1", 1, False),
    (1, "1", False),
    (None, None, True),
    (None, 0, False),
    (0, None, False),
    (False, None, False),
    ((1, (2, "a")), [1, [2, "a"]], True),
    ([1], [1, 2], False),
    ([1, 2], [1], False),
    ([], [], True),
    ({1, 2}, [1, 2], False),
    ("ab", ["a", "b"], False),
    ({1: "a", "b": (2,)}, {"1": "a", "b": [2]}, True),
    ({True: 1}, {"true": 1}, True),
    ({"1": "a", 1: "a"}, {"1": "a"}, False),
    ({}, [], False),
    (0.1 + 0.2, 0.3, True),
    (3.0000001, 3, False),
    (float("nan"), float("nan"), True),
    (float("nan"), 1.0, False),
    (float("inf"), 1e308, False),
    (10**400, 1.0, False),
    (complex(1, 0), 1, False),
    (b"a", "a", False),
]


@pytest.mark.parametrize(("value", "expected", "same"), DATA)
def test_data(value: Any, expected: Any, same: bool) -> None:
    assert same_data(value, expected) is same


def test_data_too_deep_to_compare_is_wrong_and_no_error() -> None:
    deep: Any = 1
    for _ in range(5_000):
        deep = [deep]
    assert not same_data(deep, deep)


def test_the_tolerance_is_a_parameter() -> None:
    assert same_text("1.01", "1.0", tolerance=0.02) and not same_text("1.01", "1.0", tolerance=0)
    assert same_data(101.0, 100.0, tolerance=0.02) and not same_data(100.0 + 1e-9, 100.0, tolerance=0)
