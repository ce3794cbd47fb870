"""Laws as text: what a command line can state."""

from __future__ import annotations

import pytest

from rewardkit.errors import ParameterError, UnknownNameError
from rewardkit.laws import check
from rewardkit.laws.spelled import law_of, source_of


@pytest.mark.parametrize(
    ("text", "name", "source"),
    [
        ("dominates(gsm8k())", "dominates-gsm8k()", "dominates(parse('gsm8k()'))"),
        (" dominates( gsm8k() & ends_with('.') ) ", "dominates-gsm8k() & ends_with('.')", None),
        ("bounded_by_length(0.5)", "bounded_by_length(0.5)", "bounded_by_length(0.5)"),
        ("ignores(strip)", "ignores(strip)", "ignores(str.strip)"),
        ("ignores(str.rstrip)", "ignores(rstrip)", "ignores(str.rstrip)"),
        ("monotone(upper)", "monotone(upper)", "monotone(str.upper)"),
    ],
)
def test_a_law_is_read(text: str, name: str, source: str | None) -> None:
    assert law_of(text).name == name
    assert source is None or source_of(text) == source


@pytest.mark.parametrize(
    "text", ["", "dominates", "dominate(gsm8k())", "ignores(__import__)", "bounded_by_length(x)", "dominates(length())"]
)
def test_what_is_no_law_is_an_error(text: str) -> None:
    with pytest.raises(ParameterError):
        law_of(text)


def test_a_misspelt_term_is_named() -> None:
    with pytest.raises(UnknownNameError, match="gsm8"):
        law_of("dominates(gsm8())")


def test_it_is_the_law_that_it_names() -> None:
    broken = [o.law.name for o in check("length(0.1)", law_of("bounded_by_length(0.5)"), examples=10) if not o.kept]
    assert broken == ["bounded_by_length(0.5)"]
