"""Patterns whose repeats would take the memory are refused where a formula names them."""

from __future__ import annotations

import tracemalloc

import pytest
import regex

from rewardkit import json_valid, length, match_count, matches, parse
from rewardkit.errors import RewardKitError
from rewardkit.patterns import compiled, written_out

BIG = [
    "x{1000000000}",
    "(a{1000}){1000}",
    "(?:(?:a{100}){100}){100}",
    r"[)\]({]{200000}",
    "x{999999,}",
    "(ab|c){99999}",
]
PLACES = {
    "matches": lambda p: matches(p),
    "match_count": lambda p: match_count(p, cap=3),
    "on": lambda p: length(0.1).on(p),
    "json_valid": lambda p: json_valid(schema=f'{{"type": "string", "pattern": {p!r}}}'.replace("'", '"')),
    "parse": lambda p: parse(f"matches({p!r})"),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("pattern", ["x{1000000000}", "(a{1000}){1000}"])
def test_every_place_refuses_such_a_pattern_and_takes_no_memory(place: str, pattern: str) -> None:
    tracemalloc.start()
    with pytest.raises(RewardKitError, match="written out; at most 100,000"):
        PLACES[place](pattern)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20 << 20


@pytest.mark.parametrize("pattern", BIG)
def test_repeats_are_multiplied_through_groups(pattern: str) -> None:
    with pytest.raises(ValueError, match="written out"):
        compiled(pattern)


@pytest.mark.parametrize(
    ("pattern", "nodes"),
    [
        ("", 0),
        ("abc", 3),
        ("a{3}", 3),
        ("a{3,9}", 3),
        ("a{,9}", 1),
        ("(ab){3}c", 7),
        (r"\{9\}", 3),
        ("[{9}]", 1),
        ("[]{9}]{2}", 2),
        ("((a{2}){3}){4}", 24),
        (")", 0),
    ],
)
def test_nodes_are_counted(pattern: str, nodes: int) -> None:
    assert written_out(pattern) == nodes


@pytest.mark.parametrize("pattern", ["x{0,1000000000}", r"(?s)\A<think>.*?</think>\s*<answer>.{1,2000}</answer>\Z"])
def test_what_compiles_fast_is_taken(pattern: str) -> None:
    assert compiled(pattern).pattern == pattern == regex.compile(pattern).pattern


def test_a_pattern_that_is_none_says_why() -> None:
    with pytest.raises(RewardKitError, match="expected a regular expression"):
        matches("(")
    with pytest.raises(RewardKitError, match="not a regular expression"):
        length(0.1).on("(")
