"""Other libraries' GSM8K conventions, bug for bug, for people who must reproduce published numbers.

A preset is an extraction *and* a comparison of strings; neither is ours to mend. Don't train on them: ``verl-strict``
reads ``#### $18`` as no answer and ``#### 1 000`` as 1, ``lm-eval-flexible`` pays for "not 72".
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rewardkit.answers.extract import Answer


@dataclass(frozen=True, slots=True)
class Preset:
    """One library's extraction and string comparison."""

    extract: Callable[[str], Answer | None]
    equal: Callable[[str, str], bool]
    """Takes the extracted answer and the ground truth's text."""
    source: str


def _answer(text: str, start: int, shown: str, marker: str) -> Answer:
    from rewardkit.answers.extract import Answer

    return Answer(shown, (start, start + len(shown)), marker)


_VERL_TAIL: Final = 300
_VERL_STRICT: Final = re.compile(r"#### (\-?[0-9.,]+)")
_VERL_FLEXIBLE: Final = re.compile(r"\-?[0-9.,]+")


def _verl_strict(response: str) -> Answer | None:
    tail = response[-_VERL_TAIL:]
    matches = list(_VERL_STRICT.finditer(tail))
    if not matches:
        return None
    return _answer(response, len(response) - len(tail) + matches[-1].start(1), matches[-1][1], "####")


def _verl_flexible(response: str) -> Answer | None:
    tail = response[-_VERL_TAIL:]
    matches = list(_VERL_FLEXIBLE.finditer(tail))
    for match in reversed(matches):
        if match[0] != ".":
            break
    else:
        if not matches:
            return None
        match = matches[0]  # only full stops: verl ends its loop on the first of them
    return _answer(response, len(response) - len(tail) + match.start(), match[0], "last-number")


def _verl_strict_equal(answer: str, truth: str) -> bool:
    return answer.replace(",", "").replace("$", "") == verl_truth(truth)


def _verl_flexible_equal(answer: str, truth: str) -> bool:
    return answer == verl_truth(truth)


@functools.lru_cache(maxsize=65_536)
def verl_truth(ground_truth: str) -> str:
    """The ground truth that verl's GSM8K preprocessing writes: the number after ``####``, without commas.

    A ground truth without ``####`` is taken as it stands, as verl's scorer does.
    """
    match = _VERL_STRICT.search(ground_truth)
    return ground_truth if match is None else match[1].replace(",", "")


_LM_EVAL_STOPS: Final = ("Question:", "</s>", "<|im_end|>")
_LM_EVAL_NUMBER: Final = re.compile(r"-?[$0-9.,]{2,}|-?[0-9]+")
_LM_EVAL_BEFORE: Final = re.compile(r"(?s).*#### ")
_LM_EVAL_POINT: Final = re.compile(r"\.$")


def _lm_eval_cut(response: str) -> int:
    """Where lm-eval's generation would have stopped: its stop strings are not part of what it grades."""
    stops = [at for stop in _LM_EVAL_STOPS if (at := response.find(stop)) >= 0]
    return min(stops, default=len(response))


def _lm_eval_strict(response: str) -> Answer | None:
    match = _VERL_STRICT.search(response, 0, _lm_eval_cut(response))  # the same pattern, but the first one counts
    return None if match is None else _answer(response, match.start(1), match[1], "####")


def _lm_eval_flexible(response: str) -> Answer | None:
    stop = _lm_eval_cut(response)
    # The last digit or pair of other characters ends the last match. No match reaches over a character outside
    # [-$0-9.,], nor over a minus sign: the left-to-right search may start there.
    final = max([response.rfind(d, 0, stop) for d in "0123456789"])
    rest = [c for c in "$.," if response.rfind(c, final + 1, stop) >= 0]
    final = max([final, *[response.rfind(a + b, max(final, 0), stop) for a in rest for b in "$.,"]])
    if final < 0:
        return None
    start = len(response[: final + 1].rstrip("$0123456789.,"))
    if start > 0 and response[start - 1] == "-":
        start -= 1
    matches = list(_LM_EVAL_NUMBER.finditer(response, start, stop))
    return _answer(response, matches[-1].start(), matches[-1][0], "last-number") if matches else None


def _lm_eval_text(text: str) -> str:
    text = text.replace(",", "").replace("$", "")
    if "#### " in text:  # the pattern is quadratic on a long text without it
        text = _LM_EVAL_BEFORE.sub("", text)
    return _LM_EVAL_POINT.sub("", text).lower()


_lm_eval_truth = functools.lru_cache(maxsize=65_536)(_lm_eval_text)


def _lm_eval_equal(answer: str, truth: str) -> bool:
    return _lm_eval_text(answer) == _lm_eval_truth(truth)


PRESETS: Final[dict[str, Preset]] = {
    "verl-strict": Preset(_verl_strict, _verl_strict_equal, "verl 0.9.1, utils/reward_score/gsm8k.py, method='strict'"),
    "verl-flexible": Preset(_verl_flexible, _verl_flexible_equal, "the same, method='flexible'"),
    "lm-eval-strict": Preset(_lm_eval_strict, _lm_eval_equal, "lm-eval 0.4.13, gsm8k.yaml version 3, strict-match"),
    "lm-eval-flexible": Preset(_lm_eval_flexible, _lm_eval_equal, "the same, flexible-extract"),
}
"""By name. ``source`` says what each reproduces."""
