"""What a reward is written with is read: texts, what matches its patterns, whole numbers, forms of answer."""

from __future__ import annotations

import functools
import re
from typing import Any

import pytest

from rewardkit import parse
from rewardkit.audit.literals import literals_of
from rewardkit.audit.patterns import samples, templates

WORDS = ("eureka", "lemma")
PATTERN = re.compile(r"\[\[step \d+\]\]")


def helper(text: str) -> int:
    return text.count("@@")


def reward(solution_str: str, ground_truth: str, weight: dict[str, float] = {"kw": 1.0}) -> float:  # noqa: B006
    """A docstring says nothing of what is paid."""
    inner = [w for w in ("nested", *WORDS) if w in solution_str]
    return len(inner) + helper(solution_str) + len(PATTERN.findall(solution_str)) + (len(solution_str) > 6000)


class Reward:
    def __init__(self) -> None:
        self.mark = "mine"

    def __call__(self, completion: str) -> float:
        return float(self.mark in completion or "other" in completion)


def test_a_function_and_what_it_calls() -> None:
    found = literals_of(reward)
    assert {"nested", "eureka", "lemma", "@@", "[[step 7]]", "kw"} <= set(found.texts)
    assert not any("docstring" in t for t in found.texts)
    assert 6000 in found.numbers
    assert {"mine", "other"} <= set(literals_of(Reward()).texts)
    assert "bound" in literals_of(functools.partial(reward, weight={"bound": 1.0})).texts


def test_a_formula() -> None:
    found = literals_of(parse("when(length() > 3000, 1, gsm8k()) + match_count('Step [0-9]+', cap=20)"))
    assert "Step 0" in found.texts and {3000, 20} <= set(found.numbers)


@pytest.mark.parametrize(
    "pattern",
    [
        r"^<a>.*?</a>\s*<b>.*?</b>$", r"(?i)confident|certain", r"[^\W\d]{3}", r"(?<=x)y", r"\bso\b", r"(?:ab){2,5}c*",
        "a", r"(?P<n>\d)(?P=n)?", r"[A-F0-9]+",
    ],
)  # fmt: skip
def test_samples_match(pattern: str) -> None:
    found = samples(pattern)
    assert all(re.search(pattern, text) for text in found)
    assert found or "(?<=" in pattern


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [(r"####\s*(\d+)", "####{answer}"), (r"<b>(.*?)</b>", "<b>{answer}</b>"), (r"(", None), (r"\d", None)],
)  # fmt: skip
def test_templates(pattern: str, expected: Any) -> None:
    assert templates(pattern)[:1] == (() if expected is None else (expected,))
