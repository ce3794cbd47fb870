"""Planted faults are found, with small counterexamples; sound rewards keep every law."""

from __future__ import annotations

import itertools
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, settings

from rewardkit import Batch, Sample, compile, ends_with, gsm8k, length, parse, term, when
from rewardkit.errors import KindError, ParameterError
from rewardkit.laws import ALWAYS, Law, LawBroken, bounded_by_length, check, dominates, ignores, laws, monotone
from rewardkit.laws.run import Trials

FEW = max(10, settings().max_examples // 2)
"""Batches for a law that is going to hold: as many as the profile says. A fault is looked for in 60."""

test_a_sound_reward = laws(
    when(gsm8k(), 1 + 0.2 * length(0.01, cap=1), 0),
    dominates(gsm8k()),
    ignores(lambda text: text + "  \n", name="trailing blanks"),
    bounded_by_length(0.2),
    examples=FEW,
)
test_placement_and_groups = laws(
    parse("gsm8k().on('####') + length(0.1, cap=1).spread() + 0.1 * group_rank(length())"), examples=FEW
)


def breaks(reward: Any, law: Law | str) -> LawBroken | None:
    """How a reward breaks one law, a stated one or by its name one that every reward has to keep."""
    if isinstance(law, str):
        (law,) = (each for each in ALWAYS if each.name == law)
    try:
        Trials(compile(reward), examples=60).run(law)
    except LawBroken as found:
        return found
    return None


def test_a_wrong_answer_that_outscores_a_right_one_is_found_and_is_small() -> None:
    reward = length(0.1) + ends_with(".?!") + 2 * gsm8k()
    assert all(outcome.kept for outcome in check(reward, examples=FEW)), "no other law is broken"
    error = breaks(reward, dominates(gsm8k()))
    assert error is not None
    wrong, right = error.counterexample
    totals = compile(reward)(Batch.of([wrong, right])).total
    assert totals[0] > totals[1]
    assert "a wrong answer is paid" in str(error)
    assert "Sample(" in str(error)


def test_padding_is_found() -> None:
    assert breaks(length(0.1), bounded_by_length(1))
    assert not breaks(length(0.1, cap=1), bounded_by_length(1))


def test_a_lost_end_mark_is_found() -> None:
    assert breaks(ends_with("."), ignores(lambda t: t + "!", name="closing"))
    assert breaks(ends_with("."), monotone(lambda t: t + "!", name="closing"))
    assert not breaks(length(), monotone(lambda t: t + " more", name="more"))


def test_nondeterminism_errors_and_neighbours_are_found() -> None:
    counter = itertools.count()

    @term(bounds=(0, None), version="1")
    def counting(sample: Sample) -> float:
        return float(next(counter))

    @term(bounds=(0, 1))
    def fragile(sample: Sample) -> float:
        return 1.0 / len(sample.response)

    @term(bounds=(0, 1), batched=True)
    def neighbourly(batch: Batch) -> Any:
        longest = max(len(t) for t in batch.responses) or 1
        return np.array([len(t) / longest for t in batch.responses])

    assert breaks(counting(), "deterministic")
    fragile_error = breaks(fragile(), "no-errors")
    assert fragile_error and "ZeroDivisionError" in str(fragile_error)
    assert fragile_error.counterexample[0].response == ""
    assert breaks(neighbourly(), "alone")


def test_a_slow_term_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    from rewardkit.laws import always

    spent = [0.0]
    monkeypatch.setattr(always, "time", SimpleNamespace(thread_time=lambda: spent[0]))

    @term(bounds=(0, 1))
    def slow(sample: Sample) -> float:
        spent[0] += 2 * always.DEADLINE_S * ("apples" in sample.response)
        return 0.0

    assert breaks(slow(), "deadline")


def test_real_rows_are_the_ground_that_is_searched() -> None:
    seen: set[str] = set()

    @term(bounds=(0, 1), needs=("ground_truth", "prompt"))
    def spy(sample: Sample) -> float:
        seen.add(f"{sample.prompt}|{sample.ground_truth}")
        return 0.0

    rows = [Sample("#### 3", ground_truth="3", prompt="p"), Sample("#### 5", ground_truth="5", prompt="q")]
    check(spy(), samples=rows, examples=20)
    assert seen == {"p|3", "q|5"}


def test_a_law_may_assume_something_of_a_batch() -> None:
    def several(program: Any, batch: Batch) -> None:
        assume(len(batch) > 1)
        assert len(program(batch)) > 1

    assert all(o.kept for o in check(length(), Law("several", "Of several responses.", several), examples=10))


def test_a_law_finds_the_batches_as_they_were_drawn() -> None:
    seen: list[int] = []

    def empties(program: Any, batch: Any) -> None:
        seen.append(len(batch))
        program(batch)
        batch.responses.clear()

    law = Law("empties", "A law that ruins what it is given.", empties)
    check(length(), law, law, examples=5)
    assert len(seen) == 10 and min(seen) > 0


def test_wrong_use_is_a_clear_error() -> None:
    with pytest.raises(KindError, match="expected a Verdict"):
        dominates(length())  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="at least 1"):
        Trials(compile(length()), examples=0)
    with pytest.raises(ParameterError):
        bounded_by_length(-1)
    with pytest.raises(ParameterError, match="function from text to text"):
        ignores("strip")  # type: ignore[arg-type]
