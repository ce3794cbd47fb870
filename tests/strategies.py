"""Arbitrary well-kinded formulas and batches, for the laws of the algebra.

The terms here answer in every way that a term can: they read a script in the response, ``name=value`` or
``name:STATUS``, so that each row decides what each term says of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from hypothesis import strategies as st

from rewardkit import (
    Batch,
    Sample,
    Score,
    Status,
    batch_zscore,
    clip,
    group_max,
    group_mean,
    group_median,
    group_min,
    group_minmax,
    group_rank,
    group_share,
    group_std,
    group_zscore,
    linear,
    maximum,
    mean,
    minimum,
    observe,
    route,
    schedule,
    term,
    when,
)
from rewardkit.algebra.expression import Reward, TokenReward, Verdict, number
from rewardkit.algebra.operations.constants import Number
from rewardkit.errors import FormulaError

STATUSES = [s for s in Status if s is not Status.SCORED]


def scripted(response: str, name: str) -> Score:
    for part in response.split():
        key, _, rest = part.partition("=")
        if key == name:
            return Score(status=Status[rest]) if rest.isupper() else Score(float(rest))
    return Score(0.0)


@term(bounds=(-2, 3), optional=True)
def alpha(sample: Sample) -> Score:
    return scripted(sample.response, "alpha")


@term(bounds=(0, 1), optional=True)
def beta(sample: Sample, scale: float = 1.0) -> Score:
    score = scripted(sample.response, "beta")
    return score if score.status else Score(min(1.0, abs(score.value)))


@term(verdict=True, optional=True)
def right(sample: Sample) -> Score:
    score = scripted(sample.response, "right")
    return score if score.status else Score(float(score.value > 0))


@term(verdict=True, optional=True, cost="remote")
def judged(sample: Sample, *, rubric: str = "x") -> Score:
    score = scripted(sample.response, "judged")
    return score if score.status else Score(float(score.value > 0))


@term(bounds=(-1, 2), cost="worker")
def costly(sample: Sample) -> Score:
    return scripted(sample.response, "costly")


@term(per_token=True, bounds=(-50, 50), optional=True)
def dense(sample: Sample) -> Any:
    score = scripted(sample.response, "dense")
    return score if score.status else np.full(len(sample.tokens or ()), score.value / 3)


TERMS = {t.name: t for t in (alpha, beta, right, judged, costly, dense)}
NAMES = tuple(TERMS)

numbers = st.floats(-4, 4, allow_nan=False, width=32) | st.sampled_from([0, 1, -1, 0.5, 2, 1e-7])


@st.composite
def responses(draw: st.DrawFn) -> str:
    parts = []
    for name in draw(st.sets(st.sampled_from(NAMES))):
        answer = draw(st.sampled_from([s.name for s in STATUSES]) | st.sampled_from(["-1", "0", "0.5", "1", "2.25"]))
        parts.append(f"{name}={answer}")
    return " ".join([*parts, draw(st.sampled_from(["", ".", "end!", "x y z"]))])


@st.composite
def batches(draw: st.DrawFn, min_size: int = 1, max_size: int = 6) -> Batch:
    texts = draw(st.lists(responses(), min_size=min_size, max_size=max_size))
    n = len(texts)
    counts = draw(st.lists(st.integers(0, 5), min_size=n, max_size=n))
    return Batch(
        texts,
        data_sources=draw(st.lists(st.sampled_from(["a", "b", "c"]), min_size=n, max_size=n)),
        groups=draw(st.lists(st.sampled_from(["g", "h"]), min_size=n, max_size=n)),
        tokens=[list(range(c)) for c in counts],
        step=draw(st.none() | st.integers(0, 30)),
    )


def _built(build: Any, *operands: Any) -> Any:
    """A node, or its first operand where building one is refused (a name that stands inside already)."""
    try:
        return build(*operands)
    except FormulaError:
        return operands[0]


_terms = st.builds(alpha) | st.builds(costly) | st.builds(beta, numbers.map(float))
verdict_terms = st.builds(right) | st.builds(judged, rubric=st.sampled_from(["x", 'it\'s "so"']))
_schedules = st.builds(schedule, st.dictionaries(st.integers(0, 30), numbers, min_size=1, max_size=3)) | st.builds(
    lambda a, b, s, begin: linear(a, b, steps=s, begin=begin), numbers, numbers, st.integers(1, 20), st.integers(0, 5)
)
names = st.sampled_from(["one", "two", "three.b", "four-c"])

Strategy = st.SearchStrategy[Any]

# Every operation has its line here, by its name in JSON: what builds a node of it from strategies for its operands.

OF_VERDICTS: dict[str, Callable[[Strategy], Strategy]] = {
    "and": lambda inner: st.builds(lambda a, b: a & b, inner, inner),
    "or": lambda inner: st.builds(lambda a, b: a | b, inner, inner),
    "not": lambda inner: st.builds(lambda a: ~a, inner),
}
OF_REWARDS: dict[str, Callable[[Strategy, Strategy], Strategy]] = {
    "add": lambda x, either: st.builds(lambda a, b: a + b, x, either) | st.builds(lambda a, b: b - a, x, either),
    "mul": lambda x, either: st.builds(lambda a, b: a * b, x, either),
    "div": lambda x, either: st.builds(lambda a, b: a / b, x, numbers.filter(bool)),
    "neg": lambda x, either: st.builds(lambda a: -a, x),
    "minimum": lambda x, either: st.builds(minimum, x, either),
    "maximum": lambda x, either: st.builds(maximum, x, either, either),
    "mean": lambda x, either: st.builds(mean, x, either),
    "clip": lambda x, either: st.builds(lambda a, b, c: clip(a, min(b, c), max(b, c)), x, numbers, numbers),
    "when": lambda x, either: st.builds(when, _conditions(x), either, either),
    "route": lambda x, either: (
        st.builds(lambda a, b: route({"a": a, "b": b}), x, either)
        | st.builds(lambda a, b: route({"a": a}, otherwise=b), x, either)
    ),
    "observe": lambda x, either: st.builds(observe, x.filter(lambda x: not isinstance(x.operation, Number))),
    "named": lambda x, either: st.builds(lambda a, name: _built(lambda x: x.named(name), a), x, names),
}
COMPARISONS: dict[str, Callable[[Strategy, Strategy], Strategy]] = {
    "lt": lambda x, either: st.builds(lambda a, b: a < b, x, either),
    "le": lambda x, either: st.builds(lambda a, b: a <= b, x, either),
    "gt": lambda x, either: st.builds(lambda a, b: a > b, x, either),
    "ge": lambda x, either: st.builds(lambda a, b: a >= b, x, either),
}
OF_GROUPS: dict[str, Callable[[Strategy], Strategy]] = {
    "group_zscore": lambda x: st.builds(group_zscore, x),
    "group_rank": lambda x: st.builds(group_rank, x),
    "group_minmax": lambda x: st.builds(group_minmax, x),
    "group_share": lambda x: st.builds(group_share, x),
    "group_mean": lambda x: st.builds(group_mean, x),
    "group_median": lambda x: st.builds(group_median, x),
    "group_min": lambda x: st.builds(group_min, x),
    "group_max": lambda x: st.builds(group_max, x),
    "group_std": lambda x: st.builds(group_std, x),
    "batch_zscore": lambda x: st.builds(batch_zscore, x),
}
ON_TOKENS: dict[str, Callable[[Strategy], Strategy]] = {
    "spread": lambda x: st.builds(lambda a: a.spread(), x),
    "on": lambda x: st.builds(lambda a: a.on("="), x),
}


def _any_of(table: Mapping[str, Callable[..., Strategy]], *operands: Strategy) -> Strategy:
    return st.one_of(*(build(*operands) for build in table.values()))


def _extend_verdicts(inner: Strategy) -> Strategy:
    return _any_of(OF_VERDICTS, inner) | OF_REWARDS["named"](inner, inner)


verdicts: st.SearchStrategy[Verdict] = st.recursive(verdict_terms, _extend_verdicts, max_leaves=3)


def _conditions(inner: Strategy) -> Strategy:
    base = _any_of(COMPARISONS, inner, inner | numbers) | verdicts
    return base | _any_of(OF_VERDICTS, base)


def _extend(inner: Strategy) -> Strategy:
    return _any_of(OF_REWARDS, inner, inner | numbers)


plain_rewards: st.SearchStrategy[Reward] = st.recursive(_terms | verdicts | _schedules, _extend, max_leaves=6)
grouped: st.SearchStrategy[Reward] = _any_of(OF_GROUPS, plain_rewards)
rewards: st.SearchStrategy[Reward] = plain_rewards | st.builds(lambda a, b: a + 0.5 * b, plain_rewards, grouped)
_placed: st.SearchStrategy[TokenReward] = st.builds(dense) | _any_of(ON_TOKENS, plain_rewards)
token_rewards: st.SearchStrategy[TokenReward] = st.recursive(
    _placed,
    lambda inner: st.one_of(
        st.builds(lambda a, b: a + b, inner, inner | plain_rewards | numbers),
        st.builds(lambda a, b: a * b, inner, plain_rewards | numbers.filter(bool)),
        st.builds(lambda a: -a / 2, inner),
        st.builds(when, verdicts, inner, inner | numbers),
        st.builds(observe, inner),
    ),
    max_leaves=4,
)


def _names_unique(node: Any) -> bool:
    """Two nodes under one name are refused by compile, which other tests show."""
    from rewardkit.engine.program import compile

    try:
        compile(node)
    except FormulaError:
        return False
    return True


formulas: st.SearchStrategy[Reward | TokenReward] = (rewards | token_rewards).filter(_names_unique)
"""Formulas of every kind, in which every operation stands somewhere."""

STRATEGIES: dict[str, Strategy] = {
    "term": _terms | verdict_terms | st.builds(dense),
    "number": st.builds(number, numbers),
    "schedule": _schedules,
    **{name: build(_conditions(plain_rewards)) for name, build in OF_VERDICTS.items()},
    **{name: build(plain_rewards, plain_rewards | numbers) for name, build in COMPARISONS.items()},
    **{name: build(plain_rewards, plain_rewards | numbers) for name, build in OF_REWARDS.items()},
    **{name: build(plain_rewards) for name, build in OF_GROUPS.items()},
    **{name: build(plain_rewards) for name, build in ON_TOKENS.items()},
    "total": st.builds(lambda a: a.total(), token_rewards),
}
"""By an operation's name in JSON: nodes of it."""
