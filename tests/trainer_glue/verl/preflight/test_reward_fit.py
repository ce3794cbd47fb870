"""Warnings about a formula look at what the total can gain: none on sound formulas, one at least on unsound ones."""

from __future__ import annotations

import pytest

from tests.trainer_glue.verl.preflight.runs import found

ABOUT_THE_FORMULA = ("RKD701", "RKD702", "RKD704", "RKD711")

SOUND = [
    "gsm8k()",
    "math_equal()",
    "when(math_equal(), 1, -1)",
    "gsm8k() + 0.1 * ends_with('.?!')",
    "gsm8k() + 0.05 * group_rank(length(unit='tokens'))",
    "gsm8k() - 0.05 * group_rank(length())",
    "gsm8k() + 0.2 * group_minmax(-length())",
    "gsm8k() + 0.1 * group_zscore(length())",
    "gsm8k() + 0.3 * group_share(gsm8k())",
    "gsm8k() + 0.001 * batch_zscore(length())",
    "gsm8k() + 0.1 * (gsm8k() - group_mean(gsm8k()))",
    "gsm8k() + length(0.01, cap=0.2)",
    "gsm8k() + minimum(length(0.001), 0.5)",
    "gsm8k() + clip(length(0.01), 0, 0.3)",
    "gsm8k() + 0.2 * clip(length(0.1) - 1, 0, 1)",
    "when(gsm8k(), 1 + length(0.01), 0)",
    "gsm8k() * (1 + length(0.001))",
    "when(gsm8k(), length(0.01), 0)",
    "gsm8k() + when(length() > 50, 0.1, 0)",
    "gsm8k() + when((length() > 5) & ends_with('.?!'), 0.5, 0)",
    "gsm8k() + observe(length())",
    "gsm8k() + observe(length(unit='characters'))",
    "gsm8k() + 0.0001 * length()",
    "gsm8k() + length(0.0005)",
    "gsm8k() + 0.00001 * length(unit='characters')",
    "when(gsm8k(), 2, -length(0.001))",
    "when(gsm8k(), 1 + 0.2 * brevity(target=150), 0)",
    "gsm8k() - 0.2 * repetition(n=4)",
    "2 * gsm8k() + 0.5 * overlong(1000, 200)",
    "math_equal() + 0.3 * think_answer()",
    "route({'openai/gsm8k': gsm8k()}, by='data_source', otherwise=math_equal())",
    "gsm8k() + schedule({0: 0.2, 200: 0}) * ends_with('.?!')",
    "gsm8k() + 0.5 * mean(ends_with('.?!'), minimum(1, length(0.1)))",
    "maximum(gsm8k(), 0.5 * math_equal())",
]

UNSOUND = [
    ("length()", "RKD701"),
    ("length(0.1) + ends_with('.?!')", "RKD701"),
    ("gsm8k() + length(0.1)", "RKD701"),
    ("gsm8k() + length(0.001)", "RKD701"),
    ("gsm8k() + 0.01 * length(unit='tokens')", "RKD701"),
    ("gsm8k() + length(0.1).named('detail')", "RKD701"),
    ("gsm8k() + maximum(0.2, length(0.1))", "RKD701"),
    ("gsm8k() + mean(length(0.1), ends_with('.?!'))", "RKD701"),
    ("gsm8k() + when(ends_with('.?!'), length(0.1), 0)", "RKD701"),
    ("gsm8k() + ends_with('.?!') * length(0.1)", "RKD701"),
    ("1 - gsm8k() + length(0.1)", "RKD701"),
    ("gsm8k() - (1 - length(0.1))", "RKD701"),
    ("when(gsm8k(), 1, length(0.1))", "RKD701"),
    ("gsm8k() + schedule({0: 0.1, 200: 0}) * length()", "RKD701"),
    ("route({'a': gsm8k(), 'b': length(0.1)}, by='data_source', otherwise=0)", "RKD701"),
    ("gsm8k() + length(0.1) + length(0.1, unit='tokens')", "RKD701"),
    ("gsm8k() + clip(length(0.1), 0, None)", "RKD701"),
    ("gsm8k() + length(0.0005, cap=0.9)", "RKD702"),
    ("when(gsm8k(), brevity(target=2000), 0)", "RKD702"),
    ("gsm8k() + 0.5 * overlong(20480, 4096)", "RKD702"),
    ("gsm8k() + 2 * ends_with('.?!')", "RKD704"),
    ("gsm8k() + length(0.0005) + 0.8 * ends_with('.?!')", "RKD704"),
    ("gsm8k() - length(0.01)", "RKD704"),
    ("gsm8k() + group_zscore(length())", "RKD704"),
    ("gsm8k() + 0.5 * batch_zscore(length())", "RKD704"),
    ("gsm8k() - group_max(length(0.1, cap=20))", "RKD704"),
    ("gsm8k() + 0.1 * minimum(ends_with('.?!'), 2)", "RKD704"),
    ("gsm8k() + when(length(cap=1) > 2, 0.1, 0)", "RKD704"),
    ("when(gsm8k(), 1, 1)", "RKD711"),
    ("when(length() > 5000, 1, 0)", "RKD711"),
]


@pytest.mark.parametrize("formula", SOUND)
def test_a_sound_formula_has_no_warning(formula: str) -> None:
    assert [f"{f.code}: {f.message}" for f in found(reward=formula) if f.code in ABOUT_THE_FORMULA] == []


@pytest.mark.parametrize(("formula", "code"), UNSOUND)
def test_an_unsound_formula_has_its_warning(formula: str, code: str) -> None:
    assert code in [f.code for f in found(reward=formula)]


def test_the_warning_names_what_the_user_wrote_and_what_the_total_gains() -> None:
    first, second = found(reward="gsm8k() + 0.5 * length(0.1)")
    assert first.code == "RKD701"
    assert "length(0.1) adds: with data.max_response_length=1,024 it pays up to 51.2 for" in first.message
    assert second.code == "RKD704"
    assert "what outweighs gsm8k(): length(0.1) [0, 102.4]" in second.message
    assert "clip" not in second.message
