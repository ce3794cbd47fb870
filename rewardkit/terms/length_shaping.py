"""Being of the right length: rewards and penalties that go by the length of a response.

All are flat where they end, and bounded, and none of them looks at the answer: pay brevity to right answers only,
``when(gsm8k(), 0.2 * brevity(target=150), 0)``, or the empty response is the best paid. A length may differ by row:
``brevity('budget')`` takes it from each row's `extra_info`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from rewardkit.algebra.define import term
from rewardkit.algebra.term import PerRow
from rewardkit.batch import Batch, Floats
from rewardkit.terms.units import Unit, counts, lengths_of, needs_of_unit


@term(bounds=(0, 1), needs=needs_of_unit, batched=True)
def brevity(batch: Batch, target: PerRow[Annotated[int, Field(ge=1)]], *, unit: Unit = "words") -> Floats:
    """``min(1, target / length)``: 1 up to the target, then less the longer the response is, never 0.

    Unlike a line that reaches 0 and stays there, it goes on telling two overlong responses apart; unlike a reward for
    every unit saved, it does not pull below the target. An empty response gets 1: pay it to right answers only.

    Args:
        batch: the responses.
        target: the length up to which the whole reward is paid, in units; at least 1. A name: each row's own.
        unit: ``words``, ``characters`` or ``tokens``.
    """
    most = lengths_of(target)
    return np.asarray(most / np.maximum(counts(batch, unit), most))


@term(bounds=(-1, 0), needs=needs_of_unit, batched=True)
def length_target(
    batch: Batch,
    target: PerRow[Annotated[int, Field(ge=0)]],
    *,
    width: Annotated[float, Field(gt=0)],
    unit: Unit = "tokens",
) -> Floats:
    """``-min(1, |length - target| / width)``: a penalty for each unit that a response is longer or shorter.

    With ``length_target('target_length', width=...)`` each row asks for a length of its own, which its prompt should
    name. Source: L1-Exact (Aggarwal and Welleck 2025, arXiv 2503.04697). Its reward, with a penalty of 0.0003 for each
    token, is ``gsm8k() + length_target('target_length', width=3333)``; theirs has no lower bound.

    Args:
        batch: the responses.
        target: the length that is asked for, in units. A name: each row's own, in its `extra_info`.
        width: how many units off the target the whole penalty is reached.
        unit: ``tokens``, ``words`` or ``characters``.
    """
    return -np.minimum(np.abs(counts(batch, unit) - lengths_of(target)) / width, 1.0)


@term(bounds=(-1, 0), needs=needs_of_unit, batched=True)
def overlong(
    batch: Batch,
    max_length: PerRow[Annotated[int, Field(ge=1)]],
    buffer: Annotated[int, Field(ge=1)],
    *,
    unit: Unit = "tokens",
) -> Floats:
    """``clip((max_length - buffer - length) / buffer, -1, 0)``: a penalty that grows over the last ``buffer`` units.

    It is 0 up to ``max_length - buffer``, falls in a straight line to -1 at ``max_length``, and stays there. Source:
    DAPO's soft overlong punishment (Yu et al. 2025, arXiv 2503.14476, section 3.4). TRL and open-r1 have the same
    values; NeMo-RL's penalty and verl's go on falling past ``max_length``: unbounded below, so that one runaway
    response outweighs its whole group. Scale it like any reward: ``0.5 * overlong(20480, 4096)``.

    Args:
        batch: the responses.
        max_length: the length from which the whole penalty is paid, in units. A name: each row's own.
        buffer: over how many units it grows; with ``buffer >= max_length`` it starts at the first unit.
        unit: ``tokens``, as all peers count it; ``words`` or ``characters`` where no tokens are at hand.
    """
    return np.clip((lengths_of(max_length) - buffer - counts(batch, unit)) / buffer, -1.0, 0.0)


def _ends(p: Mapping[str, Any]) -> tuple[float, float]:
    return (min(p["short"], p["long"]), max(p["short"], p["long"]))


@term(bounds=_ends, needs=needs_of_unit, batched=True)
def cosine_length(
    batch: Batch,
    short: float,
    long: float,
    *,
    max_length: PerRow[Annotated[int, Field(ge=1)]],
    unit: Unit = "tokens",
) -> Floats:
    """``long + (short - long) * (1 + cos(pi * min(length / max_length, 1))) / 2``: half a cosine between two rewards.

    ``short`` is paid at length 0 and ``long`` from ``max_length`` on. What differs by the verdict is written as such;
    TRL's and open-r1's defaults (right: 1 to 0.5, wrong: -1 to -0.5, so that a wrong answer is better for being
    thought about) are::

        when(math_equal(), cosine_length(1, 0.5, max_length=1000), cosine_length(-1, -0.5, max_length=1000))

    Past ``max_length`` it stays at ``long``. Theirs goes round: twice as long is paid like the empty response, which
    a policy finds. open-r1 counts characters (``unit='characters'``), TRL tokens. Source: Yeo et al. 2025, arXiv
    2502.03373, which gives a fixed penalty past the end: add ``overlong(...)``.

    Args:
        batch: the responses.
        short: the reward at length 0.
        long: the reward from ``max_length`` on.
        max_length: where the cosine ends, in units. A name: each row's own.
        unit: ``tokens``, ``words`` or ``characters``.
    """
    progress = np.minimum(counts(batch, unit) / lengths_of(max_length), 1.0)
    return long + (short - long) * (1.0 + np.cos(np.pi * progress)) / 2.0
