"""A ground truth as a short text, and wrong answers beside it.

An attack must know what is wrong without asking the reward. So wrong answers are made here, by kind of ground truth:
numbers near the ground truth, the other letters, another word. None of them may be the ground truth in another
spelling.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from rewardkit.answers import truth_texts
from rewardkit.answers.compare import truth_number

_CHOICE: Final = re.compile(r"\(?([A-H])\)?(?:[.):].*)?", re.DOTALL)
_WHOLE: Final = re.compile(r"-?\d{1,40}")
MOST_CHARACTERS: Final = 200
"""A longer ground truth is a text to be judged, not an answer to be found."""


_SHORT: Final = 16
"""Characters of a number beside which others are made by arithmetic; of `1e400` none are."""


class Kind(StrEnum):
    """What sort of answer a ground truth is."""

    NUMBER = "number"
    CHOICE = "choice"
    FORMULA = "formula"
    TEXT = "text"
    PROGRAM = "program"


@dataclass(frozen=True, slots=True)
class GroundTruth:
    """A ground truth.

    Attributes:
        text: the answer as a model would write it.
        kind: what sort of answer it is.
    """

    text: str
    kind: Kind

    @property
    def shown(self) -> str:
        """The answer, or what stands for it, for a report."""
        return self.text

    @property
    def wrong(self) -> tuple[str, ...]:
        """Answers that are not the ground truth: the plainest first."""
        if self.kind is Kind.CHOICE:
            return tuple(letter for letter in "ABCD" if letter != self.text)
        if self.kind is Kind.FORMULA:
            return tuple(t for t in ("x^{7}+13", "\\frac{13}{7}", "\\sqrt{13}") if t != self.text)
        if self.kind is Kind.TEXT:
            return ("heliotrope", "seventeen", "the opposite")
        own = truth_number(self.text)
        return tuple(dict.fromkeys(w for w in self._near() if truth_number(w) != own))

    def _near(self) -> list[str]:
        if _WHOLE.fullmatch(self.text):
            value = int(self.text)
            near = [
                2 * value + 5,
                value + 1,
                value - 1,
                value + 7,
                10 * value + 3,
            ]  # the first is wrong by any tolerance
            return [str(n) for n in near]
        number = truth_number(self.text)
        if number is not None and len(self.text) < _SHORT:
            whole = math.floor(number)
            return [str(2 * whole + 5), str(whole + 2), str(whole - 3), f"{whole + 7}.5"]
        return ["3", "17", "1001"]

    def stands_in(self, text: str) -> bool:
        """Whether the answer is written in a text, on its own; a 7 in 72 is none, one in `step7` is."""
        before, after = (r"(?<![\d.,])", r"(?!\d|[.,]\d)") if self.kind is Kind.NUMBER else (r"(?<!\w)", r"(?!\w)")
        return re.search(f"{before}{re.escape(self.text)}{after}", text, re.IGNORECASE) is not None


def truth_of(value: Any) -> GroundTruth | None:
    """The ground truth of a row; None where there is none that can be written in a response."""
    if isinstance(value, list | tuple):
        value = value[0] if value else None
    if value is None or isinstance(value, bool):
        return None
    text = str(value).strip()
    if "####" in text:
        text = text.rpartition("####")[2].strip()
    elif "\\boxed" in text:
        texts = truth_texts(text)
        text = texts[-1] if texts else ""
    if not text or len(text) > MOST_CHARACTERS:
        return None
    if truth_number(text) is not None:
        return GroundTruth(text.replace(",", "") if re.fullmatch(r"-?\d{1,3}(,\d{3})+", text) else text, Kind.NUMBER)
    letter = _CHOICE.fullmatch(text)
    if letter is not None:
        return GroundTruth(letter[1], Kind.CHOICE)
    return GroundTruth(text, Kind.FORMULA if re.search(r"[\\^=+*/{}]|\d", text) else Kind.TEXT)
