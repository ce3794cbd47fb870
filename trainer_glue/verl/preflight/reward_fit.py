"""The formula against the run: how long a response may get, what that is worth, and what the formula says of itself."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Final, cast

from rewardkit.algebra.direction import Direction
from rewardkit.algebra.expression import Expression, Reward, TokenReward, Verdict, as_reward
from rewardkit.algebra.interval import ZERO, Interval
from rewardkit.algebra.monotonicity import directions
from rewardkit.algebra.operations.batch_zscore import BatchZscore, largest_zscore
from rewardkit.algebra.operations.extrema import clip
from rewardkit.algebra.operations.groups import GroupZscore
from rewardkit.analysis.checks import check
from rewardkit.analysis.conditional_bounds import bounds_given
from rewardkit.analysis.mutation.mutants import replaced
from rewardkit.diagnostics import Severity
from rewardkit.engine.program import compile as compile_reward
from rewardkit.terms import length
from trainer_glue.verl.config.diagnostics import ConfigDiagnostic
from trainer_glue.verl.preflight.subject import Subject

_RESPONSE: Final = "data.max_response_length"
_GROUP: Final = "actor_rollout_ref.rollout.n"
_PROMPTS: Final = "data.train_batch_size"
_REWARD: Final = "rewardkit.reward"
_TOKENS_A_WORD: Final = 1
"""The fewest tokens that a word takes: what a response of short words can hold is its length in tokens."""
_MOST_CHARACTERS: Final = 16
"""Characters that a token stands for, at most for what is not a run of blanks."""


def check_reward_fit(subject: Subject) -> Iterator[ConfigDiagnostic]:
    """Length terms against the response limit, and the formula's own warnings under what the run limits."""
    if subject.resolved.reward is None:
        return
    root = subject.resolved.reward.reward
    limit = subject.integer(_RESPONSE)
    if limit > 0:
        moves = directions(root)
        for node in root.walk():
            if node.term is not None and node.term.builtin and moves[node] is not Direction.NONE:
                if not _is_uncapped(node):
                    yield from _beyond(subject, node, limit)
                elif (gain := _gain(root, node, _within(root, subject))) > 0:
                    yield _unbounded(subject, node, limit, gain)
    yield from _own_warnings(subject, root)
    yield from _constant(subject, root)


def _constant(subject: Subject, root: Reward | TokenReward) -> Iterator[ConfigDiagnostic]:
    """A formula that nothing within the run's limits can change: all groups are dead."""
    total = bounds_given(root, _within(root, subject), {})[root]
    if total.low == total.high:
        limits = (
            f"with {_RESPONSE}={subject.integer(_RESPONSE):,} " if bounds_given(root, {}, {})[root] != total else ""
        )
        message = f"{limits}every response is paid {total.low:g}: no group has a difference, and nothing is learned"
        yield subject.diagnostic("RKD711", _REWARD, message, "see the formula's own diagnostics, or a larger limit")


def _own_warnings(subject: Subject, root: Reward | TokenReward) -> Iterator[ConfigDiagnostic]:
    """What the formula says of itself where nothing is longer, and no group larger, than the run allows."""
    limited = {node: _limited(node, bounds) for node, bounds in _within(root, subject).items()}
    bounded = cast(Reward | TokenReward, replaced(root, limited))
    for own in check(compile_reward(bounded)):
        if own.severity is Severity.WARNING:
            message = f"{own.message} [{own.code}, {own.certainty}, in {own.where}]"
            for node, copy in limited.items():
                message = message.replace(repr(copy), repr(node))
            yield subject.diagnostic("RKD704", _REWARD, message, own.hint)


def _limited(node: Expression, bounds: Interval) -> Expression:
    if node.term is not None:
        return length(node.param("per_unit"), unit=node.param("unit"), cap=bounds.high)
    return clip(as_reward(node, "clip"), bounds.low, bounds.high)


def _within(root: Expression, subject: Subject) -> dict[Expression, Interval]:
    """The parts of a formula that are unbounded by themselves and that the run's own limits bound."""
    limit, group = subject.integer(_RESPONSE), subject.integer(_GROUP)
    rows = {"group": group, "batch": group * subject.integer(_PROMPTS)}
    known: dict[Expression, Interval] = {}
    for node in root.walk():
        if limit > 0 and _is_uncapped(node):
            known[node] = Interval(0.0, _units(node, limit) * node.param("per_unit"))
        elif isinstance(node.operation, GroupZscore | BatchZscore):
            (among,) = node.operation.needs()
            if rows[among] > 1:
                known[node] = Interval(-largest_zscore(rows[among]), largest_zscore(rows[among]))
    return known


def _is_uncapped(node: Expression) -> bool:
    return node.term is not None and node.term.builtin and node.term.name == "length" and node.param("cap") is None


def _gain(root: Expression, node: Expression, known: Mapping[Expression, Interval]) -> float:
    """What a wrong answer gains by length alone; 0 where something else caps it, or where the rest is worth more."""
    others = {other: still for other in root.walk() if (still := _still(other)) is not None} | dict(known)
    wrong = {verdict: ZERO for verdict in root.walk() if _reads_ground_truth(verdict)}
    short = bounds_given(root, {**others, **wrong, node: ZERO}, {})[root].high
    if math.isfinite(bounds_given(root, {**others, **wrong, node: Interval(0.0, math.inf)}, {})[root].high):
        return 0.0
    gain = bounds_given(root, {**others, **wrong, node: known[node]}, {})[root].high - short
    rest = bounds_given(root, {**others, **{n: ZERO for n in known if n.term is not None}}, {})[root]
    return gain if gain >= rest.high - rest.low else 0.0


def _still(node: Expression) -> Interval | None:
    """A finite value of a term that declares no bounds: what it adds is another diagnostic's."""
    if node.term is None or (own := node.term.bounds(node)).is_finite:
        return None
    value = next((end for end in (own.low, own.high) if math.isfinite(end)), 0.0)
    return Interval(value, value)


def _reads_ground_truth(node: Expression) -> bool:
    return isinstance(node, Verdict) and node.term is not None and "ground_truth" in node.term.needs(node)


def _unbounded(subject: Subject, node: Expression, limit: int, gain: float) -> ConfigDiagnostic:
    message = (
        f"nothing caps what {node!r} adds: with {_RESPONSE}={limit:,} it pays up to {gain:,.4g} for a response that is "
        "long and says nothing"
    )
    fix = f"length({node.param('per_unit'):g}, cap=1), or paid to right answers only: when(gsm8k(), ..., 0)"
    return subject.diagnostic("RKD701", _REWARD, message, fix)


def _units(node: Expression, tokens: int) -> int:
    """The most units of a length term that so many tokens can hold."""
    unit = node.param("unit")
    return tokens * _MOST_CHARACTERS if unit == "characters" else tokens // _TOKENS_A_WORD


def _beyond(subject: Subject, node: Expression, limit: int) -> Iterator[ConfigDiagnostic]:
    """A length in the formula that no response gets to, so that the term is not what it looks like."""
    assert node.term is not None
    if node.term.columns(node):  # each row has a length of its own
        return
    name = node.term.name
    if name == "length":
        reached, what = math.ceil(node.param("cap") / node.param("per_unit")), "its cap"
    elif name == "brevity":
        reached, what = node.param("target"), "its target"
    elif name == "overlong":
        reached, what = node.param("max_length") - node.param("buffer"), "the start of its penalty"
    elif name == "cosine_length":
        reached, what = node.param("max_length"), "its end"
    else:
        return
    most = _units(node, limit)
    if (reached >= most and name != "length") or reached > most:
        unit = node.param("unit")
        share = f"{_RESPONSE}={limit:,} holds at most {most:,} {unit}"
        message = f"{node!r}: {what} is at {reached:,} {unit}, and {share}: {_EFFECTS[name]}"
        yield subject.diagnostic("RKD702", _REWARD, message, "a smaller length, or a larger limit")


_EFFECTS: Final = {
    "length": "the cap never caps",
    "brevity": "every response is paid in full",
    "overlong": "no response is ever penalised",
    "cosine_length": "the cosine stops on its way",
}
