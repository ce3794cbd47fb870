"""The plain graders: a number within a tolerance, an exact text."""

from __future__ import annotations

import re
import string
from fractions import Fraction
from typing import Final, Literal

from rewardkit.answers.compare import truth_numbers
from rewardkit.answers.extract import Answer, Mode, extract
from rewardkit.answers.grade import FAILED, Grade, bad_gold
from rewardkit.answers.limits import MAX_CHARS
from rewardkit.answers.marks import visible_part
from rewardkit.answers.senses import is_opposite
from rewardkit.batch import Status
from rewardkit.errors import ParameterError


def grade_numeric(
    response: str,
    ground_truth: object,
    *,
    tolerance: float | Fraction = 0,
    relative: float | Fraction = 0,
    mode: Mode = "flexible",
    prompt: str | None = None,
) -> Grade:
    """Right when ``|answer - truth| <= tolerance + relative * |truth|``, worked out exactly.

    Args:
        response: what the model wrote; the answer is found as for GSM8K.
        ground_truth: as for GSM8K.
        tolerance: absolute; a float counts as the decimal that it prints as.
        relative: as a share of the ground truth.
        mode: as for GSM8K.
        prompt: as for GSM8K.

    Raises:
        ParameterError: a negative or infinite tolerance.

    >>> grade_numeric("It is about 3.14.", "3.14159", tolerance=0.01).value
    1.0
    """
    slack, share = _size("tolerance", tolerance), _size("relative", relative)
    ground_truths = truth_numbers(ground_truth)
    if not ground_truths:
        return bad_gold(ground_truth)
    answer = extract(response, mode=mode, prompt=prompt)
    if not isinstance(answer, Answer):
        return FAILED[answer]
    if answer.value is None:
        return Grade(0.0, Status.SCORED, "no-number", answer)
    value = Fraction(answer.value)
    right = any(abs(value - g) <= slack + share * abs(Fraction(g)) for g in ground_truths)
    right = right and not is_opposite(ground_truth, response, answer.span)
    return Grade(1.0 if right else 0.0, Status.SCORED, "number", answer)


def _size(name: str, value: float | Fraction) -> Fraction:
    if (isinstance(value, float) and not abs(value) < float("inf")) or value < 0:
        raise ParameterError(f"numeric got {name}={value!r}; expected a finite number of at least 0")
    return Fraction(repr(value)) if isinstance(value, float) else Fraction(value)


_MAX_EXACT: Final = 65_536
"""Longest text that is normalised and compared (characters)."""

Normalize = Literal["whitespace", "words", "letters"]
_ARTICLES: Final = re.compile(r"\b(?:a|an|the)\b")
_PUNCTUATION: Final = str.maketrans("", "", string.punctuation)


def grade_exact(response: str, ground_truth: object, *, normalize: Normalize = "whitespace") -> Grade:
    """Right when the response's text is the ground truth's text.

    The text is what stands in the last ``<answer>`` tag, or else the whole response after its reasoning.

    Args:
        response: what the model wrote.
        ground_truth: the text, or a list of texts of which any is right.
        normalize: ``whitespace``: runs of blanks are one, ends are stripped; ``words``: also without case, punctuation
            and articles (SQuAD's rule: Rajpurkar et al. 2016, arXiv 1606.05250); ``letters``: letters and digits only.

    >>> grade_exact("<answer>The  capital is Paris.</answer>", "capital is paris", normalize="words").value
    1.0
    """
    ground_truths = (
        [ground_truth]
        if isinstance(ground_truth, str)
        else list(ground_truth)
        if isinstance(ground_truth, list | tuple)
        else []
    )
    texts = [normalized for g in ground_truths if isinstance(g, str) and (normalized := _normalized(g, normalize))]
    if not texts:
        return bad_gold(ground_truth)
    if len(response) > MAX_CHARS:
        return FAILED[Status.LIMIT]
    part = visible_part(response)
    if part is None:
        return FAILED[Status.NO_ANSWER]
    start, stop = part
    opening = response.rfind("<answer>", start, stop) if "<answer>" in response else -1  # backwards is slow
    closing = response.find("</answer>", opening, stop) if opening >= 0 else -1
    span = (opening + 8, closing) if closing >= 0 else (start, stop)
    text = response[span[0] : span[1]]
    if len(text) > _MAX_EXACT:
        return FAILED[Status.LIMIT]
    if not text.strip():
        return FAILED[Status.NO_ANSWER]
    answer = Answer(text, span, "answer-tag" if closing >= 0 else "whole")
    return Grade(1.0 if _is_one_of(text, texts, normalize) else 0.0, Status.SCORED, "text", answer)


def _is_one_of(text: str, texts: list[str], how: Normalize) -> bool:
    if how == "whitespace":  # most wrong texts differ in their first word, and the rest is not read
        head = text.split(None, 1)[0]
        texts = [t for t in texts if t.split(" ", 1)[0] == head]
    return bool(texts) and _normalized(text, how) in texts


def _normalized(text: str, how: Normalize) -> str:
    if how == "letters":
        return "".join(c for c in text.casefold() if c.isalnum())
    if how == "words":
        text = _ARTICLES.sub(" ", text.casefold().translate(_PUNCTUATION))
    return " ".join(text.split())
