"""What a judge's reply says: a score, a yes or no for each criterion, a ranking. What is not clear says nothing.

A judge writes its verdict in many ways, and quotes what it judges, so that a verdict counts only where it ends the
reply and no other line contradicts it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

import regex

_NUMBER: Final = r"[-+]?\d{1,6}(?:\.\d{1,6})?"
_OF: Final = rf"(?P<score>{_NUMBER})(?:\s*(?:/|out\s+of)\s*(?P<best>{_NUMBER}))?(?:\s*points?)?"
_LABEL: Final = r"(?:(?:the|my|final|overall|total)\s+)*(?:score|rating|grade)(?:\s+is)?\s*[:=]?\s*"
_LABELLED: Final = regex.compile(rf"{_LABEL}\[{{0,2}}{_OF}\]{{0,2}}\.?", regex.IGNORECASE)
_BARE: Final = regex.compile(
    rf"(?:\[\[{_OF}\]\]|<score>\s*{_OF}\s*</score>|\\boxed\{{\s*{_OF}\s*\}}|{_OF})\.?", regex.IGNORECASE
)
_THOUGHT: Final = regex.compile(r"\A\s*<think(?:ing)?>.*?</think(?:ing)?>", regex.DOTALL | regex.IGNORECASE)
_UNFINISHED: Final = regex.compile(r"\A\s*<think(?:ing)?>", regex.IGNORECASE)
_MARKUP: Final = " \t*_`"
_KEYS: Final = ("score", "final_score", "overall_score", "rating", "grade")
_YES: Final = {"yes": True, "true": True, "met": True, "1": True, "no": False, "false": False, "not met": False,
               "unmet": False, "0": False}  # fmt: skip
_ANSWER: Final = regex.compile(
    r"(?:criterion\s+)?(?:(?P<number>\d{1,3})\s*[.:)\]-]\s*)?(?:(?:verdict|answer)\s*[:=]\s*)?"
    r"(?P<answer>yes|no|true|false|not met|unmet|met)\.?",
    regex.IGNORECASE,
)
_RANKING: Final = regex.compile(
    r"(?:(?:the|my|final)\s+)*(?:ranking|order)(?:\s+is)?\s*[:=]\s*(.+?)\.?", regex.IGNORECASE
)
_ORDER: Final = regex.compile(r"\[*\d{1,3}\]*(?:\s*[>=,]\s*\[*\d{1,3}\]*)*")


def score_in(reply: str, worst: float, best: float) -> float | None:
    """The score that a reply ends with, from worst to best; None where it is not clear or not in there."""
    text = _said(reply)
    if text is None:
        return None
    data = _json_at_the_end(text)
    number = _score_of(data, best) if isinstance(data, dict) else _score_in_lines(text, best)
    if number is not None and any(_value(m, best) != number for m in _labelled(_lines(text))):
        return None
    return number if number is not None and worst <= number <= best else None


def answers_in(reply: str, count: int) -> list[bool] | None:
    """A yes or no for each of some criteria, in order; None where one is missing, given twice, or not clear."""
    text = _said(reply)
    if text is None:
        return None
    answers = _answers_of(_json_at_the_end(text), count)
    return answers if answers is not None else _answers_in_lines(text, count)


def ranking_in(reply: str, count: int) -> list[int] | None:
    """The rank of each of some responses, 0 for the best, equal for ties; None where it is not clear."""
    text = _said(reply)
    if text is None:
        return None
    lines = _lines(text)
    match = _RANKING.fullmatch(lines[-1]) if lines else None
    order = match[1].strip(_MARKUP + "[]") if match else lines[-1] if len(lines) == 1 else ""
    if not _ORDER.fullmatch(order):
        return None
    named = [line for line in lines[:-1] if (m := _RANKING.fullmatch(line)) and m[1].strip(_MARKUP + "[]") != order]
    tiers = [[int(i) for i in regex.findall(r"\d+", tier)] for tier in regex.split(r"[>,]", order)]
    if named or sorted(i for tier in tiers for i in tier) != list(range(1, count + 1)):
        return None
    ranks = [0] * count
    for rank, tier in enumerate(tiers):
        for i in tier:
            ranks[i - 1] = rank
    return ranks


def _said(reply: str) -> str | None:
    """A reply without its thoughts; None where it is cut off within them."""
    text = _THOUGHT.sub("", reply, count=1)
    return None if _UNFINISHED.match(text) else text


def _lines(text: str) -> list[str]:
    """The lines that say something, without the marks of emphasis, headings and quotes."""
    stripped = (regex.sub(r"\*\*|__", "", line).lstrip("#> \t").strip(_MARKUP) for line in text.splitlines())
    return [line for line in stripped if line]


def _score_in_lines(text: str, best: float) -> float | None:
    lines = _lines(text)
    if not lines:
        return None
    last = _LABELLED.fullmatch(lines[-1])
    if (
        last is None
        and (bare := _BARE.fullmatch(lines[-1]))
        and (len(lines) == 1 or lines[-1].strip(".") != _plain(bare))
    ):
        last = bare
    return None if last is None else _value(last, best)


def _labelled(lines: Sequence[str]) -> list[Any]:
    return [match for line in lines if (match := _LABELLED.fullmatch(line))]


def _plain(match: Any) -> str:
    """The number of a match: as the last of several lines it may count anything."""
    return str(match.captures("score")[0])


def _value(match: Any, best: float) -> float | None:
    """The number that was matched, unless it is out of another number than the best."""
    of = match.captures("best")
    if of and float(of[0]) != best:
        return None
    return float(match.captures("score")[0])


def _json_at_the_end(text: str) -> Any:
    """The object or list that a reply ends with, alone or in a fenced block; None where there is none."""
    tail = text.rstrip()
    if tail.endswith("```"):
        tail = tail[:-3].rstrip()
    if not tail.endswith(("}", "]")):
        return None
    decoder = json.JSONDecoder()
    for start in [m.start() for m in regex.finditer(r"[{\[]", tail)][:_STARTS]:
        try:
            value, end = decoder.raw_decode(tail, start)
        except (ValueError, RecursionError):
            continue
        if end == len(tail):
            return value
    return None


_STARTS: Final = 200
"""Brackets in a reply at which JSON is looked for."""


def _score_of(value: dict[str, Any], best: float) -> float | None:
    given = {key.lower().replace(" ", "_"): entry for key, entry in value.items()}
    said = [given[key] for key in _KEYS if key in given]
    if len(said) != 1 or isinstance(said[0], bool):
        return None
    if isinstance(said[0], int | float):
        return float(said[0])
    match = _BARE.fullmatch(said[0].strip()) if isinstance(said[0], str) else None
    return _value(match, best) if match else None


def _answers_of(value: Any, count: int) -> list[bool] | None:
    if isinstance(value, dict):
        known = {str(key).lower(): entry for key, entry in value.items()}
        if count == 1 and len(said := [known[key] for key in ("met", "answer", "verdict") if key in known]) == 1:
            value = said
        else:
            value = [known.get(str(i + 1)) for i in range(count)] if len(known) == count else None
    if not isinstance(value, list) or len(value) != count:
        return None
    answers = [_YES.get(str(entry).strip().lower().rstrip(".")) for entry in value]
    return None if None in answers else [bool(answer) for answer in answers]


def _answers_in_lines(text: str, count: int) -> list[bool] | None:
    lines = _lines(text)
    if count == 1:
        last = _ANSWER.fullmatch(lines[-1]) if lines else None
        if last is None:
            return None
        said = {_YES[m["answer"].lower()] for line in lines if (m := _ANSWER.fullmatch(line))}
        return [_YES[last["answer"].lower()]] if len(said) == 1 else None
    found: dict[int, bool] = {}
    for line in lines:
        match = _ANSWER.fullmatch(line)
        if match is None or match["number"] is None:
            continue
        number, answer = int(match["number"]), _YES[match["answer"].lower()]
        if found.setdefault(number, answer) != answer:
            return None
    return [found[i + 1] for i in range(count)] if sorted(found) == list(range(1, count + 1)) else None


def tiers(ranks: Sequence[int]) -> list[float]:
    """From ranks to values from 1 for the best to 0 for the worst; ties share the mean of their places."""
    n = len(ranks)
    if n < 2:
        return [0.5] * n
    values = []
    for rank in ranks:
        above, equal = sum(r < rank for r in ranks), sum(r == rank for r in ranks)
        values.append(1 - (above + (equal - 1) / 2) / (n - 1))
    return values
