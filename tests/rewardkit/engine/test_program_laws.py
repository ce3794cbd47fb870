"""The engine against the reference evaluator, and the laws that hold for every formula and every batch."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit import Batch, Status, bounds, compile, parse
from rewardkit.algebra.expression import Reward, TokenReward
from rewardkit.engine.scores import Scores
from rewardkit.errors import DataError
from tests.reference import Reference
from tests.strategies import STATUSES, TERMS, batches, formulas, plain_rewards, rewards, token_rewards


def mask_of(batch: Batch, extra: int = 2) -> np.ndarray:
    counts = [len(t) for t in batch.tokens or ()]
    mask = np.zeros((len(batch), max(counts, default=0) + extra), dtype=bool)
    for i, n in enumerate(counts):
        mask[i, :n] = True
    return mask


def scattered(batch: Batch, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Masks with holes anywhere, shape (n, T): what the policy wrote, and as many of those as a row has token ids."""
    counts = [len(t) for t in batch.tokens or ()]
    width = 3 * max(counts, default=0) + 2
    own, scored = np.zeros((2, len(batch), width), dtype=bool)
    for i, n in enumerate(counts):
        places = rng.permutation(width)
        scored[i, places[:n]] = True
        own[i, places[: n + rng.integers(0, n + 2)]] = True
    return own, scored


def ends(batch: Batch):
    """Token k ends after k + 1 characters; the last token holds the rest."""
    return lambda i: np.arange(1, len(batch.tokens[i]) + 1)


def assert_same(a: Scores, b: Scores) -> None:
    np.testing.assert_allclose(a.total, b.total, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(a.status, b.status)


@given(formulas, batches())
def test_compiled_equals_the_reference(formula: Reward | TokenReward, batch: Batch) -> None:
    scores = compile(formula)(batch)
    reference = Reference(formula, batch)
    for i in range(len(batch)):
        expected = reference.total(i)
        assert Status(int(scores.status[i])) is expected.status
        if expected.value is None:
            assert np.isnan(scores.total[i])
        else:
            np.testing.assert_allclose(scores.total[i], expected.value, rtol=1e-9, atol=1e-9)


@given(token_rewards, batches())
def test_placement_equals_the_reference(formula: TokenReward, batch: Batch) -> None:
    scores = compile_or_skip(formula)(batch)
    tensor = scores.token_rewards(mask_of(batch), token_ends=ends(batch))
    reference = Reference(formula, batch)
    for i in range(len(batch)):
        expected = reference.total(i)
        n = len(batch.tokens[i])
        wanted = np.zeros(n) if expected.value is None else np.asarray(expected.tokens)
        np.testing.assert_allclose(tensor[i, :n], wanted, rtol=1e-5, atol=1e-5)


@given(formulas, batches())
def test_the_tensor_sums_to_the_total_and_is_zero_outside_the_mask(formula: Reward | TokenReward, batch: Batch) -> None:
    scores = compile(formula)(batch)
    mask = mask_of(batch)
    tensor = scores.token_rewards(mask, token_ends=ends(batch), fill=7.0)
    assert tensor.dtype == np.float32
    assert np.isfinite(tensor).all()
    assert not tensor[~mask].any()
    scale = max(1.0, np.abs(tensor).max(initial=0.0))
    for i in np.flatnonzero(mask.any(axis=1)):
        expected = 7.0 if scores.unscored[i] else scores.total[i]
        np.testing.assert_allclose(tensor[i].sum(), expected, rtol=1e-4, atol=1e-4 * scale)


@given(formulas, batches())
def test_bounds_hold_on_every_batch(formula: Reward | TokenReward, batch: Batch) -> None:
    scores = compile(formula)(batch)
    interval = bounds(formula)
    known = scores.total[~scores.unscored]
    slack = 1e-9 * max(1.0, float(np.abs(known).max(initial=0.0)))
    assert ((known >= interval.low - slack) & (known <= interval.high + slack)).all()
    assert np.isfinite(known).all()
    assert np.isnan(scores.total[scores.unscored]).all()


TIGHT = [
    "alpha() + right()",
    "alpha() - 2 * right()",
    "-alpha() / -4 + 1",
    "alpha() * right()",
    "alpha() * (right() - 0.5)",
    "minimum(alpha(), right())",
    "minimum(alpha() + 0, right() + 1)",
    "maximum(alpha(), right())",
    "maximum(alpha() + 0, right() + 1)",
    "mean(alpha(), right())",
    "clip(alpha(), 1, 2) + right()",
    "clip(alpha(), -1, 2)",
    "clip(alpha(), -1)",
    "clip(alpha(), None, 2)",
    "when(right(), alpha(), 7)",
    "when(alpha() > 0, right(), -1)",
    "~right() + alpha()",
    "route({'a': alpha()}, otherwise=right())",
    "alpha().spread() + right()",
]


@pytest.mark.parametrize("text", TIGHT)
def test_bounds_are_reached_where_every_term_stands_once(text: str) -> None:
    """The ends of the bounds are values that some row has, one whose terms step out included."""
    program = compile(parse(text, terms=TERMS))
    gone = "NOT_APPLICABLE"
    rows = [f"alpha={a} right={r}" for a, r in itertools.product((-2, 0, 3, gone), (0, 1, gone))]
    tokens = [[1]] * len(rows)
    totals = [program(Batch(rows, data_sources=[source] * len(rows), tokens=tokens)).total for source in "az"]
    np.testing.assert_allclose([program.bounds.low, program.bounds.high], [np.nanmin(totals), np.nanmax(totals)])


@pytest.mark.parametrize(
    ("sign", "expected"), [("<", [1, 0, 0]), ("<=", [1, 1, 0]), (">", [0, 0, 1]), (">=", [0, 1, 1])]
)
def test_comparisons_at_equality(sign: str, expected: list[int]) -> None:
    batch = Batch(["alpha=-1", "alpha=0.5", "alpha=1"])
    assert compile(parse(f"when(alpha() {sign} 0.5, 1, 0)", terms=TERMS))(batch).total.tolist() == expected
    flipped = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}[sign]
    assert compile(parse(f"when(0.5 {flipped} alpha(), 1, 0)", terms=TERMS))(batch).total.tolist() == expected


@given(plain_rewards | token_rewards, batches())
def test_a_batch_of_n_is_n_batches_of_one(formula: Reward | TokenReward, batch: Batch) -> None:
    program = compile_or_skip(formula)
    whole = program(batch)
    for i in range(len(batch)):
        alone = program(batch.take([i]))
        np.testing.assert_allclose(alone.total[0], whole.total[i], rtol=1e-9, atol=1e-9)
        assert alone.status[0] == whole.status[i]


@given(formulas, batches(min_size=2), st.randoms(use_true_random=False))
def test_order_of_rows_changes_nothing(formula: Reward | TokenReward, batch: Batch, random) -> None:
    order = list(range(len(batch)))
    random.shuffle(order)
    program = compile(formula)
    straight, shuffled = program(batch), program(batch.take(order))
    # a group's mean may round differently in another order, and a comparison behind it may then tip: only plain ones
    if "group" not in program.needs:
        np.testing.assert_allclose(shuffled.total, straight.total[order], rtol=1e-9, atol=1e-9)
        np.testing.assert_array_equal(shuffled.status, straight.status[order])


@given(formulas, batches())
def test_two_stages_are_one_pass(formula: Reward | TokenReward, batch: Batch) -> None:
    program = compile(formula)
    leaves = program.leaves(batch)
    assert_same(program.finish(leaves, step=batch.step, groups=batch.groups), program(batch))


@given(formulas, batches())
def test_padding_changes_nothing(formula: Reward | TokenReward, batch: Batch) -> None:
    scores = compile(formula)(batch)
    short = scores.token_rewards(mask_of(batch, extra=1), token_ends=ends(batch))
    long = scores.token_rewards(mask_of(batch, extra=9), token_ends=ends(batch))
    np.testing.assert_array_equal(short, long[:, : short.shape[1]])


@given(
    plain_rewards,
    st.sampled_from([("alpha", (-2.0, 3.0)), ("beta", (0.0, 1.0)), ("right", (0, 1)), ("judged", (0, 1))]),
    st.sampled_from([s for s in STATUSES if s.is_policy_caused]),
    st.sampled_from(["", "alpha=1 right=1", "beta=0.5 judged=1 right=0"]),
    st.integers(0, 30),
)
def test_no_failure_of_the_policy_pays_more_than_an_answer(formula, named, status, rest, step) -> None:
    """Wherever a term stands in a formula, failing it is worth no more than its worst value there."""
    name, interval = named
    rest = " ".join(part for part in rest.split() if not part.startswith(name))
    program = compile_or_skip(formula)

    def total(answer: object) -> float:
        batch = Batch([f"{name}={answer} {rest}"], data_sources=["a"], tokens=[[0]], step=step)
        return float(program(batch).total[0])

    failed = total(status.name)
    answered = [t for t in (total(end) for end in interval) if not np.isnan(t)]
    if not np.isnan(failed) and answered:
        assert failed <= min(answered) + 1e-9 * max(1.0, abs(failed))


@given(rewards, batches())
def test_an_unscored_row_is_never_a_number(formula: Reward, batch: Batch) -> None:
    scores = compile_or_skip(formula)(batch)
    for i in range(len(batch)):
        assert Status(int(scores.status[i])).is_unscored == bool(np.isnan(scores.total[i]))


def compile_or_skip(formula: Reward | TokenReward):
    from hypothesis import assume

    from rewardkit.errors import FormulaError

    try:
        return compile(formula)
    except FormulaError:
        assume(False)


@pytest.mark.parametrize("operator", ["&", "|"])
def test_what_a_plan_leaves_out_shows_nowhere(operator: str) -> None:
    """An expensive operand that is not run, because another one decides, changes neither value nor status."""
    both = f"judged() {operator} judged(rubric='y')"
    texts = [
        both,
        f"judged() {operator} right()",
        f"right() {operator} judged()",
        f"when({both} {operator} right(), 1, 0)",
    ]
    texts.append(f"when(judged() {operator} right(), alpha(), 1)")  # mixed: a failure that counts pays the floor
    formulas = [parse(text, terms=TERMS) for text in texts]
    for judged, right in itertools.product(("0", "1", "NO_ANSWER", "ERROR", "NOT_APPLICABLE"), repeat=2):
        batch = Batch([f"judged={judged} right={right}"])
        for whole in formulas:
            scores, expected = compile(whole)(batch), Reference(whole, batch).total(0)
            assert Status(int(scores.status[0])) is expected.status
            np.testing.assert_equal(scores.total[0], np.nan if expected.value is None else expected.value)


EXPENSIVE = [
    "right() * costly()",
    "right() * (costly() - 0.5)",  # mixed: a failure of right() pays the floor, so it decides nothing
    "0.5 * costly() * right()",
    "right() * costly() * judged()",
    "minimum(alpha(), costly(), 0.5)",
    "maximum(alpha(), costly(), judged())",
    "maximum(2 * beta(), costly()) * right()",
    "minimum(costly(), alpha(), right() - 2)",
]


@pytest.mark.parametrize("text", EXPENSIVE)
def test_what_a_expensive_operand_would_have_said_where_it_is_not_asked_shows_nowhere(text: str) -> None:
    formula = parse(text, terms=TERMS)
    answers = ("-2", "-1", "0", "1", "2", "NO_ANSWER", "BAD_GOLD", "ERROR")
    rows = [
        f"alpha={one} right={one} beta={one} costly={other} judged={other}"
        for one, other in itertools.product(answers, repeat=2)
    ]
    rows.append("alpha=NO_ANSWER right=LIMIT costly=1")  # both decide
    batch = Batch(rows)
    scores = compile(formula)(batch)
    for i, row in enumerate(rows):
        expected = Reference(formula, batch).total(i)
        assert Status(int(scores.status[i])) is expected.status, row
        np.testing.assert_equal(scores.total[i], np.nan if expected.value is None else expected.value, row)


ASKED = [
    # formula, and of rows on which `right` is 0, 1, and without an answer: those on which the expensive term is asked
    ("right() * (costly() + 1)", {1}),
    ("(costly() + 1) * right() * 0.5", {1}),
    ("right() * costly()", {1, 2}),  # mixed: where right() has no answer, the floor is paid
    ("minimum(right() - 1, costly())", {1}),  # costly() is -1 at least
    ("maximum(2 * right(), costly())", {0, 2}),  # and 2 at most
    ("right() + costly()", {0, 1, 2}),
    ("mean(right(), costly())", {0, 1, 2}),
    ("right() * (costly() + group_rank(alpha()))", {0, 1, 2}),
    ("schedule({0: 0, 9: 1}) * costly()", {0, 1, 2}),
    ("right() * costly() + 0.1 * costly()", {0, 1, 2}),
    ("right() * judged()", {0, 1, 2}),  # it may be NOT_APPLICABLE, and then there is no value
]


@pytest.mark.parametrize(("text", "asked"), ASKED)
def test_expensive_terms_run_where_cheap_ones_leave_the_value_open(text: str, asked: set[int]) -> None:
    program = compile(parse(text, terms=TERMS))
    batch = Batch(["right=0", "right=1", "right=NO_ANSWER"], groups=["g"] * 3)
    name = "judged" if "judged" in text else "costly"
    statuses = program(batch).statuses[name]
    assert set(np.flatnonzero(statuses != Status.NOT_APPLICABLE).tolist()) == asked


FAILED = [
    # formula, what a row pays whose alpha has no answer (its bounds are -2 and 3) and whose right is 0
    ("alpha()", -2),
    ("-alpha()", -3),
    ("alpha() * -2", -6),
    ("alpha() / -2", -1.5),
    ("alpha() * (right() - 1)", -3),
    ("alpha() * (right() - 0.5)", -1.5),
    ("when(alpha() < 1, 1, 0)", 0),
    ("when(alpha() <= 1, 1, 0)", 0),
    ("when(alpha() > 1, 1, 0)", 0),
    ("when(1 < alpha(), 1, 0)", 0),
    ("when(1 > alpha(), 1, 0)", 0),
    ("when(alpha() > 1, 0, 1)", 0),
    ("when(~(alpha() > 1), 1, 0)", 0),
    ("when(alpha() > 1, 5, right())", 0),
]


@pytest.mark.parametrize(("text", "total"), FAILED)
def test_what_a_failure_pays_follows_the_sign_of_its_place(text: str, total: float) -> None:
    scores = compile(parse(text, terms=TERMS))(Batch(["alpha=NO_ANSWER right=0"]))
    assert scores.total.tolist() == [total]


def test_a_schedule_changes_at_its_steps_and_not_before() -> None:
    steps = [None, 0, 2, 3, 4, 5, 8, 9, 30]
    program = compile("schedule({3: 1, 5: 2, 9: -1})")
    assert [program(Batch(["x"], step=s)).total[0] for s in steps] == [1, 1, 1, 1, 1, 2, 2, -1, -1]
    program = compile("linear(1, 2, steps=4, begin=3)")
    assert [program(Batch(["x"], step=s)).total[0] for s in steps] == [1, 1, 1, 1, 1.25, 1.5, 2, 2, 2]


def test_an_overflow_is_an_error_and_never_infinite() -> None:
    """Trainers hold rewards in single precision, which ends at 3.4e38."""
    scores = compile(parse("2e38 * alpha() + 1", terms=TERMS))(Batch(["alpha=3", "alpha=-2", "alpha=1"]))
    assert [Status(int(s)) for s in scores.status] == [Status.ERROR, Status.ERROR, Status.SCORED]
    assert np.isnan(scores.total[:2]).all()


@given(formulas, batches(), st.integers(0, 2**32 - 1))
def test_holes_in_a_mask_move_a_reward_and_never_change_it(
    formula: Reward | TokenReward, batch: Batch, seed: int
) -> None:
    scores = compile(formula)(batch)
    own, scored = scattered(batch, np.random.default_rng(seed))
    plain = scores.token_rewards(mask_of(batch), token_ends=ends(batch), fill=7.0)
    moved = scores.token_rewards(scored, token_ends=ends(batch), fill=7.0)
    assert not moved[~scored].any()
    for i, tokens in enumerate(batch.tokens or ()):
        assert moved[i, scored[i]].tolist() == plain[i, : len(tokens)].tolist()
    more = scores.token_rewards(own, token_ends=ends(batch), fill=7.0, scored=scored)
    assert not more[~own].any()
    scale = max(1.0, np.abs(more).max(initial=0.0))
    for i in np.flatnonzero(own.any(axis=1)):
        expected = 7.0 if scores.unscored[i] else scores.total[i]
        np.testing.assert_allclose(more[i].sum(), expected, rtol=1e-4, atol=1e-4 * scale)


def test_of_several_turns_a_pattern_is_searched_in_the_scored_one() -> None:
    batch = Batch(["a=b", "abc", "a=b"], tokens=[[0] * 3] * 3)
    own = [[1, 1, 0, 0, 1, 1, 1, 0, 1], [1, 1, 0, 0, 1, 1, 1, 0, 1], [0, 1, 1, 1, 0, 0, 0, 0, 0]]
    scored = [[0, 0, 0, 0, 1, 1, 1, 0, 0], [0, 0, 0, 0, 1, 1, 1, 0, 0], [0, 1, 1, 1, 0, 0, 0, 0, 0]]
    scores = compile(parse("(alpha() + 2).on('=')", terms=TERMS))(batch)
    tensor = scores.token_rewards(own, token_ends=ends(batch), scored=scored)
    assert [line.nonzero()[0].tolist() for line in tensor] == [[5], [8], [2]]
    with pytest.raises(DataError, match="not a part of the mask"):
        scores.token_rewards(scored, token_ends=ends(batch), scored=own)


@pytest.mark.parametrize(
    ("response", "count", "expected"),
    [
        ("a=b=", 4, [0, 1, 0, 1]),
        ("=abc", 4, [2, 0, 0, 0]),
        ("abc", 3, [0, 0, 2]),  # no match: on the last token
        ("abc=", 2, [0, 2]),  # fewer tokens than the text has characters: the last one holds the rest
    ],
)
def test_a_match_pays_the_token_that_ends_it(response: str, count: int, expected: list[float]) -> None:
    batch = Batch([response], tokens=[[0] * count])
    scores = compile(parse("(alpha() + 2).on('=')", terms=TERMS))(batch)
    assert scores.token_rewards(mask_of(batch), token_ends=ends(batch))[0, :count].tolist() == expected
