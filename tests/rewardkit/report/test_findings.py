"""What is found in a dump: sums that are exact, samples that are even, and notes that are deserved."""

from __future__ import annotations

import math
import random
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit.report import RolloutReport, report_on
from rewardkit.report.endings import Endings
from rewardkit.report.relations import correlation, within
from rewardkit.report.sample import Kept, Numbers, Reservoir
from rewardkit.report.similar import clusters
from rewardkit.report.texts import kept
from tests.rewardkit.report.dumps import PAD, by_term, hacked, verl_dump, verl_row


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> RolloutReport:
    return report_on(hacked(tmp_path_factory.mktemp("dump")))


def notes(report: RolloutReport) -> dict[str, str]:
    return {note.code: note.message for note in report.notes}


def test_a_run_that_learns_to_pad_is_seen_for_what_it_is(report: RolloutReport) -> None:
    noted = notes(report)
    assert "near-duplicates" in noted
    assert "first at step 7" in noted["near-duplicates"]
    assert "under 24 prompts" in noted["near-duplicates"]
    assert "'here. This is my final answer.'" in noted["same-ending"]
    assert "`gsm8k` fell from 0.5 to 0.125 while the total rose" in noted["falls"]
    assert "finds no usable answer in 75% of the rows of the last steps, 0% of the first" in noted["fails-more"]
    assert "length-drift" in noted


def test_drift_is_between_the_first_and_the_last_fifth_of_the_steps(report: RolloutReport) -> None:
    assert report.first_and_last("gsm8k") == (0.5, pytest.approx(0.125))
    assert report.as_dict()["terms"]["gsm8k"]["first_steps"] == 0.5


def test_a_plain_run_gets_no_note(tmp_path: Path) -> None:
    rng = random.Random(3)
    steps = {
        step: [
            verl_row(step, p, k, " ".join(f"w{rng.random()}" for _ in range(rng.randint(20, 60))), a + b, **terms)
            for p in range(8)
            for k in range(8)
            if (a := rng.random(), b := rng.random(), terms := {**by_term("a", a), **by_term("b", b)})
        ]
        for step in range(1, 6)
    }
    assert report_on(verl_dump(tmp_path / "d", steps)).notes == ()


def test_dead_groups_are_told_by_step_and_by_their_pay(tmp_path: Path) -> None:
    steps = {
        step: [
            verl_row(step, p, k, f"x{k}", float(p % 2) if p < step else float(k)) for p in range(4) for k in range(2)
        ]
        for step in range(5)
    }
    report = report_on(verl_dump(tmp_path / "d", steps))
    assert [entry["dead_groups"] for entry in report.as_dict()["steps"]] == [0, 1, 2, 3, 4]
    assert report.groups is not None
    assert (report.groups.dead, report.groups.lowest, report.groups.highest) == (10, 6, 4)
    assert (
        "100% of the groups are paid the same throughout in the last steps (0% in the first)"
        in notes(report)["dead-groups"]
    )


def test_the_same_prompt_at_another_step_is_another_group(tmp_path: Path) -> None:
    rows = [{**verl_row(step, 0, 0, "x", float(step)), "uid": "same"} for step in (1, 1, 2, 2)]
    report = report_on(verl_dump(tmp_path / "d", {1: rows}))
    assert report.groups is not None
    assert (report.groups.groups, report.groups.dead) == (2, 2)


def test_near_duplicates_within_one_prompt_are_no_note(tmp_path: Path) -> None:
    rows = [verl_row(1, 0, k, PAD + str(k), 1.0) for k in range(40)]
    rows += [verl_row(1, p, 0, f"{p} other{p} words{p} in{p} it{p}", p / 100) for p in range(1, 41)]
    report = report_on(verl_dump(tmp_path / "d", {1: rows}))
    assert [len(c.members) for c in report.clusters] == [40]
    assert "near-duplicates" not in notes(report)


def test_a_cluster_that_is_paid_badly_is_none(tmp_path: Path) -> None:
    rows = [verl_row(1, p, 0, PAD, 0.0) for p in range(40)]
    rows += [verl_row(1, 40 + p, 0, f"{p} other{p} words{p} in{p} it{p}", 1.0) for p in range(10)]
    report = report_on(verl_dump(tmp_path / "d", {1: rows}))
    assert report.clusters == ()
    assert "same-ending" not in notes(report)


def test_terms_that_say_the_same_pull_apart_or_say_nothing_are_noted(tmp_path: Path) -> None:
    rng = random.Random(5)
    rows = []
    for k in range(64):
        a, b = rng.random(), rng.random()
        terms = {**by_term("a", a), **by_term("twice", 2 * a), **by_term("less", 1 - a), **by_term("still", 3.0)}
        rows.append(verl_row(1, k // 8, k % 8, " ".join(["w"] * rng.randint(3, 30)), 10 * a + b, **terms))
    noted = [(n.code, n.message) for n in report_on(verl_dump(tmp_path / "d", {1: rows})).notes]
    assert ("constant", "`still` is 3 in every row: it teaches nothing") in noted
    assert ("same", "`a` and `twice` say the same: correlation +1.00") in noted
    assert ("against", "`a` and `less` pull against each other: correlation -1.00") in noted
    assert any(code == "one-term" and "`a`" in message for code, message in noted)


def test_a_term_that_steps_aside_in_some_rows_is_not_constant(tmp_path: Path) -> None:
    rows = [verl_row(1, 0, k, "x", float(k), **by_term("a", None if k else 1.0, int(k > 0))) for k in range(4)]
    assert "constant" not in notes(report_on(verl_dump(tmp_path / "d", {1: rows})))


def test_what_grows_together_over_the_steps_does_not_correlate_within_them() -> None:
    rng = np.random.default_rng(0)
    steps = np.repeat(np.arange(50.0), 20)
    a, b = steps + rng.normal(size=1000), steps + rng.normal(size=1000)
    assert correlation(a, b) > 0.9
    assert abs(correlation(within(a, steps), within(b, steps))) < 0.1


@given(st.lists(st.floats(-10, 10), min_size=3, max_size=40), st.floats(0.1, 5), st.floats(-3, 3))
def test_a_correlation_is_one_with_a_line_of_itself(values: list[float], slope: float, shift: float) -> None:
    a = np.array(values)
    measured = correlation(a, slope * a + shift)
    assert (
        math.isnan(measured) if np.ptp(a) < 1e-4 and math.isnan(measured) else measured == pytest.approx(1.0, abs=1e-6)
    )


@given(st.integers(1, 40), st.lists(st.integers(0, 60), max_size=12))
def test_a_reservoir_holds_each_place_once_and_no_row_twice(capacity: int, sizes: list[int]) -> None:
    reservoir, sample, seen = Reservoir(capacity), {}, 0
    for n in sizes:
        for slot, row in reservoir.place(n).items():
            assert 0 <= row < n
            sample[slot] = seen + row
        seen += n
    assert sorted(sample) == list(range(min(capacity, seen)))
    assert len(set(sample.values())) == len(sample)


def test_a_sample_is_even_over_the_stream() -> None:
    numbers = Numbers(2_000)
    for start in range(0, 100_000, 1_000):
        numbers.add({"x": np.arange(start, start + 1_000)}, 1_000)
    values = numbers.column("x")
    assert len(values) == len(set(values.tolist())) == 2_000
    quarters = np.histogram(values, bins=4, range=(0, 100_000))[0]
    assert (np.abs(quarters - 500) < 100).all()  # 5 standard deviations


def test_a_column_that_comes_late_has_no_values_before() -> None:
    numbers = Numbers(10)
    numbers.add({"x": np.ones(3)}, 3)
    numbers.add({"x": np.ones(2), "y": np.ones(2)}, 2)
    assert np.isnan(numbers.column("y")[:3]).all()
    assert numbers.column("y")[3:].tolist() == [1.0, 1.0]


def test_near_duplicates_are_found_among_thousands_and_others_are_not() -> None:
    rng = random.Random(0)
    vocabulary = [f"w{i}" for i in range(2_000)]

    def text() -> list[str]:
        return rng.choices(vocabulary, k=80)

    planted = text()
    texts = [Kept(" ".join(text()), 1.0, i, 1) for i in range(1_500)]
    for i in range(60):  # three words are others: of two such texts, 60 of 96 triples are common
        varied = list(planted)
        for at in rng.sample(range(80), 3):
            varied[at] = rng.choice(vocabulary)
        texts.append(Kept(" ".join(varied), 1.0, 10_000 + i, 1))
    rng.shuffle(texts)
    repeated = clusters(texts)
    assert sum(len(c.members) for c in repeated if len(c.members) > 5) >= 55
    assert all(member.prompt is not None and member.prompt >= 10_000 for c in repeated for member in c.members)


def test_endings_are_counted_in_bounded_memory(tmp_path: Path) -> None:
    from rewardkit.report import verl

    endings = Endings()
    for start in range(0, 60_000, 2_000):
        rows = [
            verl_row(1, i, 0, "the same six words end this" if i % 20 == 0 else f"a b c d e {i}", 1.0)
            for i in range(start, start + 2_000)
        ]
        endings.add(verl.rollouts(rows, str))
    counted = endings.found(100)
    assert [(e.text, e.across) for e in counted] == [("the same six words end this", True)]
    assert 3_000 - 6 <= counted[0].count <= 3_000
    assert len(endings._found) < 25_000


def test_the_best_texts_are_distinct_and_the_latest_of_equals(tmp_path: Path) -> None:
    steps = {step: [verl_row(step, 0, k, f"text {k % 4}", float(k % 4)) for k in range(8)] for step in (1, 2, 3)}
    report = report_on(verl_dump(tmp_path / "d", steps))
    assert [(p.text, p.total, p.step) for p in report.best] == [(f"text {k}", float(k), 3) for k in (3, 2, 1, 0)]
    assert (report.worst[0].text, report.worst[0].step) == ("text 0", 3)


def test_texts_are_not_held(tmp_path: Path) -> None:
    rng = random.Random(1)
    for step in range(8):
        rows = [verl_row(step, i, 0, f"{rng.random()} " * 4_000, rng.random()) for i in range(60)]
        verl_dump(tmp_path / "d", {step: rows})
    size = sum(file.stat().st_size for file in (tmp_path / "d").iterdir())
    assert size > 30_000_000
    tracemalloc.start()
    try:
        report_on(tmp_path / "d")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < size  # a file at a time, and of each text what is kept


@given(st.text(st.characters(codec=None), max_size=60))
def test_whatever_a_model_wrote_can_be_encoded_and_is_short(text: str) -> None:
    shown = kept(text * 200)
    shown.encode("utf-8")
    assert len(shown) < 4_100


def test_the_same_dump_gives_the_same_report(report: RolloutReport, tmp_path: Path) -> None:
    again = report_on(hacked(tmp_path / "again")).as_dict()
    first = report.as_dict()
    assert again.pop("path") != first.pop("path")
    for as_dict in (again, first):
        for paid in (*as_dict["best"], *as_dict["worst"]):
            paid.pop("where")
    assert again == first


def test_groups_that_are_all_paid_alike_are_counted_once(tmp_path: Path) -> None:
    rows = [verl_row(1, q, k, f"a{k}", 1.0) for q in range(5) for k in range(4)]
    report = report_on(verl_dump(tmp_path / "d", {1: rows}))
    assert report.groups is not None
    assert (report.groups.dead, report.groups.lowest, report.groups.highest) == (5, 5, 0)
    (note,) = (note for note in report.notes if note.code == "dead-groups")
    assert "every response is paid 1" in note.message and "-" not in note.message
