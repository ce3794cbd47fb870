"""One text to try on a reward, and what is known of it before any reward is asked."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from rewardkit.turns import Turn


class Claim(StrEnum):
    """What a text says, by the way it was made."""

    RIGHT = "right"
    """It gives the ground truth, once."""
    WRONG = "wrong"
    """It gives an answer that is not the ground truth, or denies the ground truth."""
    SEVERAL = "several"
    """It gives several answers, the ground truth among them."""
    NONE = "none"
    """It gives no answer."""

    @property
    def says(self) -> str:
        """The claim in words, for a report."""
        return {"right": "a right answer", "wrong": "a wrong answer", "several": "several answers at once"}.get(
            self.value, "a text without an answer"
        )


@dataclass(frozen=True, slots=True)
class Attempt:
    """A text to try.

    Attributes:
        family: the family of attacks that it belongs to.
        name: which of the family's texts it is, the same on every row.
        claim: what it says.
        text: the response.
        truncated: whether it is handed over as cut off at the length limit.
        fixed: words can't be taken out without changing what it says.
        layout: for several answers at once, how they stand; the same layout comes with the ground truth in several
            places, for a grader that takes the last of them is not fooled by a list, only by luck.
        spelled: the ground truth, spelled badly: who writes it knows the answer, so it is not a way to be paid
            without it.
        turns: the whole trajectory, where others than the policy wrote in it; the text is the policy's last turn.
        what: what the text is, in words; empty: what the claim says.
    """

    family: str
    name: str
    claim: Claim
    text: str
    truncated: bool = False
    fixed: bool = False
    layout: str = ""
    spelled: bool = False
    turns: tuple[Turn, ...] = ()
    what: str = ""

    @property
    def says(self) -> str:
        """What the text is, in words, for a report."""
        return self.what or self.claim.says
