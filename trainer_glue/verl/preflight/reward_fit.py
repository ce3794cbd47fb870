"""The formula against the run: how long a response may get, what that is worth, and what the formula says of itself."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

from rewardkit.expression import Expression
from rewardkit.findings import Level
from rewardkit.findings import findings as formula_findings
from rewardkit.program import compile as compile_reward
from trainer_glue.verl.config.findings import Finding
from trainer_glue.verl.preflight.codes import found
from trainer_glue.verl.preflight.subject import Subject

_RESPONSE: Final = "data.max_response_length"
_REWARD: Final = "rewardkit.reward"
_TOKENS_A_WORD: Final = 1
"""The fewest tokens that a word takes: what a response of short words can hold is its length in tokens."""
_MOST_CHARACTERS: Final = 16
"""Characters that a token stands for, at most for what is not a run of blanks."""


def check_reward_fit(subject: Subject) -> Iterator[Finding]:
    """Length terms against the response limit, and the formula's own warnings."""
    if subject.draft.reward is None:
        return
    root = subject.draft.reward.reward
    limit = subject.integer(_RESPONSE)
    paid = False
    if limit > 0:
        for node in root.walk():
            if node.op == "term" and node.term is not None and node.term.builtin:
                if node.term.name == "length" and node.param("cap") is None:
                    finding = _unbounded(subject, node, limit)
                    paid = True
                    yield finding
                else:
                    yield from _beyond(subject, node, limit)
    for own in formula_findings(compile_reward(root)):
        if own.level is Level.WARNING and not (paid and own.code == "unbounded-total"):
            message = f"{own.message} [{own.code}, {own.certainty}, in {own.where}]"
            yield found("RKD704", _REWARD, message, subject.draft.where, own.hint, "warning")


def _unbounded(subject: Subject, node: Expression, limit: int) -> Finding:
    most = _units(node, limit) * node.param("per_unit")
    message = (
        f"{node!r} has no cap: with {_RESPONSE}={limit:,} it pays up to {most:,.4g} for a response that is long and "
        "says nothing"
    )
    fix = f"length({node.param('per_unit'):g}, cap=1), or paid to right answers only: when(gsm8k(), ..., 0)"
    return found("RKD701", _REWARD, message, subject.draft.where, fix, "warning")


def _units(node: Expression, tokens: int) -> int:
    """The most units of a length term that so many tokens can hold."""
    unit = node.param("unit")
    return tokens * _MOST_CHARACTERS if unit == "characters" else tokens // _TOKENS_A_WORD


def _beyond(subject: Subject, node: Expression, limit: int) -> Iterator[Finding]:
    """A length in the formula that no response gets to, so that the term is not what it looks like."""
    assert node.term is not None
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
        yield found("RKD702", _REWARD, message, subject.draft.where, "a smaller length, or a larger limit", "warning")


_EFFECTS: Final = {
    "length": "the cap never caps",
    "brevity": "every response is paid in full",
    "overlong": "no response is ever penalised",
    "cosine_length": "the cosine stops on its way",
}
