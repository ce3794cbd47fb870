"""Whose tokens are whose: a trajectory of several turns, and the policy's own tokens in it.

verl puts everything behind the prompt into one response: what the policy wrote, and between it what tools and users
wrote. Its ``response_mask`` is 1 on the policy's tokens. A run of them is a turn, and the policy's last turn that says
something is the text that is scored. What a tool wrote is never scored, and never gets a reward.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from rewardkit.batch import Mask
from rewardkit.turns import Turn

OWN: Final = "rewardkit/own_tokens"
"""The key of an output's extra fields that says whose its tokens are: the mask, or None where all are the policy's."""

Span: TypeAlias = "slice[int, int, None]"
"""Where a turn's tokens stand."""
Decode = Callable[[Sequence[Sequence[int]]], list[str]]


class Trajectory(NamedTuple):
    """A response of several turns."""

    tokens: Sequence[int]
    own: Mask
    """Shape (tokens,): true on the tokens that the policy wrote."""
    scored: Span
    """Where the turn stands that is scored."""


def trajectory_of(tokens: Sequence[int], own: Any, decode: Decode) -> Trajectory | None:
    """Find the turn that is scored; None where the policy wrote every token, which is the usual case.

    Args:
        tokens: all token ids of a response.
        own: a mask over them, in any form; tokens behind its end are not the policy's.
        decode: gives the text of token ids.
    """
    if own is None:
        return None
    mask = np.zeros(len(tokens), dtype=np.bool_)
    given = np.asarray(own, dtype=np.bool_)[: len(tokens)]
    mask[: len(given)] = given
    return None if mask.all() else Trajectory(tokens, mask, _last_said(tokens, own_turns(mask), decode))


def scored_mask(trajectories: Mapping[int, Trajectory], mask: Mask) -> Mask | None:
    """Which tokens of a batch were scored, shape (n, T); None where all of the policy's were, in every row.

    Args:
        trajectories: by row, those of several turns.
        mask: shape (n, T), true on the policy's tokens.
    """
    if not trajectories:
        return None
    scored = mask.copy()
    for row, trajectory in trajectories.items():
        scored[row] = False
        scored[row, trajectory.scored] = True
    return scored


def turns_of(trajectory: Trajectory, decode: Decode) -> tuple[Turn, ...]:
    """All turns of a trajectory. verl doesn't say whether a tool or a user wrote what the policy did not."""
    edges = [0, *(np.flatnonzero(np.diff(trajectory.own)) + 1).tolist(), len(trajectory.own)]
    spans = list(itertools.pairwise(edges))
    texts = decode([trajectory.tokens[start:stop] for start, stop in spans])
    whose = [bool(trajectory.own[start]) for start, _ in spans]
    return tuple(Turn(text, "assistant" if own else None, own) for text, own in zip(texts, whose, strict=True))


def own_turns(own: Mask) -> list[Span]:
    """The runs of the policy's own tokens, in their order."""
    edges: list[list[int]] = np.flatnonzero(np.diff(own, prepend=False, append=False)).reshape(-1, 2).tolist()
    return [slice(start, stop) for start, stop in edges]


def _last_said(tokens: Sequence[int], turns: list[Span], decode: Decode) -> Span:
    """The last turn with text in it; a turn of special tokens or blanks says nothing."""
    for turn in reversed(turns):
        if decode([tokens[turn]])[0].strip():
            return turn
    if not turns:
        return slice(0, 0)
    return turns[-1]
