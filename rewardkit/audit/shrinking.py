"""The smallest text that still shows a diagnostic: words are taken out, in ever smaller runs, as long as it holds.

Many candidates are scored in one call, for a reward that works on batches is not slower on fifty texts than on one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from rewardkit.audit.attempt import Attempt, Claim
from rewardkit.audit.problems import Problem

MOST_CALLS: Final = 40
"""Rounds of candidates; each takes at least one piece out."""
MOST_PIECES: Final = 60
"""Candidates of a round."""
_PIECE: Final = re.compile(r"\s*\S+")

Holds = Callable[[Sequence[str]], Sequence[bool]]
"""For each of some texts, whether it still shows the diagnostic."""


def shrink(text: str, holds: Holds) -> str:
    """A text that can't be made smaller by taking out one run of words; a word is never cut, so that it can be read."""
    text = _shrunk(_PIECE.findall(text), text, holds)
    stripped = text.strip()
    return stripped if stripped != text and holds([stripped])[0] else text


def _shrunk(pieces: list[str], text: str, holds: Holds) -> str:
    size = max(1, len(pieces) // 2)
    if "".join(pieces) != text and not holds(["".join(pieces)])[0]:
        return text
    for _ in range(MOST_CALLS):
        starts = list(range(0, len(pieces), size))[:MOST_PIECES]
        candidates = [pieces[:i] + pieces[i + size :] for i in starts]
        held = holds(["".join(c) for c in candidates]) if candidates else []
        smaller = [c for c, h in zip(candidates, held, strict=True) if h]
        if smaller:
            pieces = min(smaller, key=lambda c: len("".join(c)))
            size = min(size, max(1, len(pieces) // 2))
        elif size > 1:
            size //= 2
        else:
            break
    return "".join(pieces)


def still_claims(attempt: Attempt, problem: Problem) -> Callable[[str], bool]:
    """Whether a smaller text says what the attempt said: a wrong answer stays one, a list keeps several."""
    had_ground_truth = problem.truth.stands_in(attempt.text)
    wrong = [w for w in problem.truth.wrong if w in attempt.text]

    def check(text: str) -> bool:
        has_ground_truth = problem.truth.stands_in(text)
        if attempt.claim is Claim.SEVERAL:
            others = [w for w in problem.truth.wrong if re.search(rf"(?<!\w){re.escape(w)}(?!\w)", text)]
            return has_ground_truth and (bool(others) or len(re.findall(r"\d+", text)) > 2)
        if has_ground_truth and not had_ground_truth:
            return False
        return not wrong or attempt.claim is not Claim.WRONG or any(w in text for w in wrong)

    return check
