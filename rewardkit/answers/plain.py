"""The plain graders: a number within a tolerance, the letter of an option, an exact text."""

from __future__ import annotations

import re
import string
from fractions import Fraction
from typing import Final, Literal

from rewardkit.answers.compare import gold_numbers
from rewardkit.answers.extract import Answer, Mode, extract
from rewardkit.answers.grade import FAILED, Grade, bad_gold
from rewardkit.answers.limits import MAX_CHARS
from rewardkit.answers.marks import visible_part
from rewardkit.answers.words import left_edge
from rewardkit.batch import Status
from rewardkit.errors import ParameterError


def grade_numeric(
    response: str,
    gold: object,
    *,
    tolerance: float | Fraction = 0,
    relative: float | Fraction = 0,
    mode: Mode = "flexible",
    prompt: str | None = None,
) -> Grade:
    """Right when ``|answer - gold| <= tolerance + relative * |gold|``, worked out exactly.

    Args:
        response: what the model wrote; the answer is found as for GSM8K.
        gold: as for GSM8K.
        tolerance: absolute; a float counts as the decimal that it prints as.
        relative: as a share of the gold.
        mode: as for GSM8K.
        prompt: as for GSM8K.

    Raises:
        ParameterError: a negative or infinite tolerance.

    >>> grade_numeric("It is about 3.14.", "3.14159", tolerance=0.01).value
    1.0
    """
    slack, share = _size("tolerance", tolerance), _size("relative", relative)
    golds = gold_numbers(gold)
    if not golds:
        return bad_gold(gold)
    answer = extract(response, mode=mode, prompt=prompt)
    if not isinstance(answer, Answer):
        return FAILED[answer]
    if answer.value is None:
        return Grade(0.0, Status.SCORED, "no-number", answer)
    value = Fraction(answer.value)
    right = any(abs(value - g) <= slack + share * abs(Fraction(g)) for g in golds)
    return Grade(1.0 if right else 0.0, Status.SCORED, "number", answer)


def _size(name: str, value: float | Fraction) -> Fraction:
    if (isinstance(value, float) and not abs(value) < float("inf")) or value < 0:
        raise ParameterError(f"numeric got {name}={value!r}; expected a finite number of at least 0")
    return Fraction(repr(value)) if isinstance(value, float) else Fraction(value)


_CUE: Final = re.compile(
    r"\b(?:answers?|options?|choices?|correct|choose|chose|pick|select|it['’]?s|it\s+is|is|réponse|antwort|respuesta)\b|答案|\\boxed\b|####"
    r"|<answer>",
    re.IGNORECASE,
)
_LETTER: Final = re.compile(
    r"(?<![\w'’\\-])(?:\(\s*(?P<a>[A-Z])\s*\)|\[\s*(?P<b>[A-Z])\s*\]|\{\s*\(?(?P<c>[A-Z])\)?\s*\}|(?P<d>[A-Z]))(?![\w'’\-]|\^|_)"
)
_NEGATED: Final = re.compile(
    r"(?:\b(?:not|n['’]t|never|neither|nor|cannot|non|nicht|rather\s+than|instead\s+of|than|eliminate|exclude|rule\s+out|wrong)|n['’]t(?:\s+be)?|不是|而不是)"
    r"[\s*(\"'{\[$\\]*(?:(?:be|is|option|choice|answer|either|text|mathrm|textbf)\b[\s*({\[$\\]*)*\Z",
    re.IGNORECASE,
)
_CHAIN: Final = re.compile(
    r"[\s*)\]}$,/]*(?:,|\bor\b|\band\b|\bnor\b|或|和|/)?[\s*(\[{$]*(?:option|choice)?\s*\Z", re.IGNORECASE
)
_DENIED_AFTER: Final = re.compile(
    r"[\s*)\]}$]*(?:\?|(?:is|was)\s+(?:not|wrong|incorrect|false)\b|(?:isn|wasn)['’]t\b)", re.IGNORECASE
)
_ARTICLE: Final = re.compile(r"\s+[a-z]")
_TAIL: Final = 2000


def grade_choice(response: str, gold: object) -> Grade:
    r"""Right when the one option letter that the response asserts is the gold's.

    The letter after the last cue ("the answer is (C)", "option C", ``\boxed{C}``) counts, else the only letter that
    stands alone in the response. Denied letters ("not A", "it can't be A or B") don't count; two asserted ones are
    AMBIGUOUS.

    Args:
        response: what the model wrote.
        gold: a letter, or a text that starts with or asserts one: ``C``, ``(C) Cecile``, ``C. because ...``.

    >>> grade_choice("It can't be A or B, so the answer is C.", "C").value
    1.0
    """
    letter = _gold_letter(gold)
    if letter is None:
        return bad_gold(gold)
    if len(response) > MAX_CHARS:
        return FAILED[Status.LIMIT]
    part = visible_part(response)
    found = _asserted(response, *part) if part is not None else Status.NO_ANSWER
    if not isinstance(found, Answer):
        return FAILED[found]
    return Grade(1.0 if found.text == letter else 0.0, Status.SCORED, "text", found)


def _gold_letter(gold: object) -> str | None:
    if not isinstance(gold, str):
        return None
    text = gold.strip()
    start = re.match(r"\\boxed\{\(?([A-Z])\)?\}|\(?([A-Z])(?:\)|[.:,)\s]|\Z)", text)
    if start is not None and (len(text) == 1 or _ARTICLE.match(text, start.end(2) if start[2] else len(text)) is None):
        return start[1] or start[2]
    if len(text) == 1 and text.isalpha():
        return text.upper()
    found = _asserted(text, 0, len(text))
    return found.text if isinstance(found, Answer) else None


def _letters(text: str, start: int, stop: int) -> list[re.Match[str]]:
    """Option letters that are not denied, in order. A denial reaches over a list: "can't be A or B"."""
    found: list[re.Match[str]] = []
    denied_until = -1
    for match in _LETTER.finditer(text, start, stop):
        bare = match["d"] is not None
        if (
            bare
            and match["d"] in "AI"
            and _ARTICLE.match(text, match.end())
            and not text.startswith((" is", " or", " and"), match.end())
        ):
            continue
        if _NEGATED.search(text, max(start, match.start() - 40), match.start() + (0 if bare else 1)):
            denied_until = match.end()
            continue
        if _DENIED_AFTER.match(text, match.end(), min(stop, match.end() + 40)):
            continue
        if denied_until >= 0 and _CHAIN.match(text, denied_until, match.start()):
            denied_until = match.end()
            continue
        found.append(match)
    return found


def _asserted(text: str, start: int, stop: int) -> Answer | Status:
    low = max(start, left_edge(text, stop - _TAIL, stop))
    letters = _letters(text, low, stop)
    if not letters:
        return Status.NO_ANSWER
    cues = [m.end() for m in _CUE.finditer(text, low, stop)]
    for cue in reversed(cues):
        after = [
            m for m in letters if m.start() >= cue and m.start() - cue <= 60 and "\n\n" not in text[cue : m.start()]
        ]
        if after and not any(c in text[cue : after[0].start()] for c in ("?", ". ", ", ")):
            if (
                len(after) > 1
                and _CHAIN.match(text, after[0].end(), after[1].start())
                and _name(after[0]) != _name(after[1])
            ):
                return Status.AMBIGUOUS
            return _as_answer(after[0], "label")
    if len({_name(m) for m in letters}) > 1:
        return Status.AMBIGUOUS
    return _as_answer(letters[-1], "only-letter")


def _name(match: re.Match[str]) -> str:
    return next(g for g in match.groups() if g is not None)


def _as_answer(match: re.Match[str], marker: str) -> Answer:
    group = next(k for k, g in match.groupdict().items() if g is not None)
    return Answer(match[group], match.span(group), marker)


_MAX_EXACT: Final = 65_536
"""Longest text that is normalised and compared (characters)."""

Normalize = Literal["whitespace", "words", "letters"]
_ARTICLES: Final = re.compile(r"\b(?:a|an|the)\b")
_PUNCTUATION: Final = str.maketrans("", "", string.punctuation)


def grade_exact(response: str, gold: object, *, normalize: Normalize = "whitespace") -> Grade:
    """Right when the response's text is the gold's text.

    The text is what stands in the last ``<answer>`` tag, or else the whole response after its reasoning.

    Args:
        response: what the model wrote.
        gold: the text, or a list of texts of which any is right.
        normalize: ``whitespace``: runs of blanks are one, ends are stripped; ``words``: also without case, punctuation
            and articles (SQuAD's rule: Rajpurkar et al. 2016, arXiv 1606.05250); ``letters``: letters and digits only.

    >>> grade_exact("<answer>The  capital is Paris.</answer>", "capital is paris", normalize="words").value
    1.0
    """
    golds = [gold] if isinstance(gold, str) else list(gold) if isinstance(gold, list | tuple) else []
    texts = [normalized for g in golds if isinstance(g, str) and (normalized := _normalized(g, normalize))]
    if not texts:
        return bad_gold(gold)
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
