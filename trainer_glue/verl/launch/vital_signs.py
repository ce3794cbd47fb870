"""What says of a run, while it goes on, that it is dying: each sign is said once, with what to do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from trainer_glue.verl.launch.metrics import Step

STEPS: Final = 3
"""Steps in a row that have to say the same: one may be chance."""
UNSCORED: Final = 0.05
"""A share of unscored rows from which a rise is told; the run stops by itself at its limit."""
CUT_OFF: Final = 0.5
"""The share of responses cut off at the length limit."""
_NOTHING: Final = 1e-8


def _dead(steps: Sequence[Step]) -> str | None:
    sizes = [
        max(abs(s.values[f"critic/advantages/{end}"]) for end in ("max", "min"))
        for s in steps
        if {"critic/advantages/max", "critic/advantages/min"} <= s.values.keys()
    ]
    if len(sizes) < len(steps) or max(sizes) > _NOTHING:
        return None
    return (
        "all advantages are 0: the responses to each prompt are paid the same, and nothing is learned "
        "(easier or harder prompts, more responses a prompt, or a reward that tells them apart)"
    )


def _unscored(steps: Sequence[Step]) -> str | None:
    shares = [s.unscored for s in steps]
    if shares[-1] < UNSCORED or sorted(set(shares)) != shares:
        return None
    return f"unscored rows rise, {shares[0]:.0%} to {shares[-1]:.0%}: the log holds the first failure of each term"


def _cut_off(steps: Sequence[Step]) -> str | None:
    shares = [s.values.get("response_length/clip_ratio", 0.0) for s in steps]
    if min(shares) < CUT_OFF:
        return None
    return (
        f"{shares[-1]:.0%} of the responses are cut off at the length limit "
        "(raise data.max_response_length, or pay for brevity: overlong(...), brevity(...))"
    )


_SIGNS: Final[tuple[Callable[[Sequence[Step]], str | None], ...]] = (_dead, _unscored, _cut_off)


class VitalSigns:
    """Takes in the training steps of a run, and tells what is wrong the first time that it is."""

    def __init__(self) -> None:
        self._steps: list[Step] = []
        self._told: set[int] = set()

    def add(self, step: Step) -> Iterator[str]:
        """Take in a step; what is new to tell."""
        self._steps = [*self._steps, step][-STEPS:]
        if len(self._steps) < STEPS:
            return
        for i, sign in enumerate(_SIGNS):
            if i not in self._told and (text := sign(self._steps)) is not None:
                self._told.add(i)
                yield text
