r"""From a response to the formula or words that it asserts as its answer.

The last marker is the claim, as for numbers: ``\boxed{}``, ``<answer>``, ``####``, "the answer is". Boxes that are
joined by a comma or "and" are one list. Without a marker it is the last formula or number of the last sentence that
has one; a response that is nothing but a formula or a few words is its own answer.
"""

from __future__ import annotations

import re
from typing import Final

from rewardkit.answers.claim import NEGATED_BEFORE, direct, sentence
from rewardkit.answers.extract import Answer, Mode
from rewardkit.answers.latex.atoms import FUNCTIONS
from rewardkit.answers.latex.form import text_key
from rewardkit.answers.limits import MAX_CHARS, MAX_FORMULA
from rewardkit.answers.marks import Mark, TooManyMarkers, find_marks, visible_part
from rewardkit.answers.number import fold
from rewardkit.answers.retraction import AFTERWORD, correction, is_denied, is_taken_back
from rewardkit.answers.senses import sense_end
from rewardkit.answers.words import left_edge, right_edge
from rewardkit.batch import Status

_JOIN: Final = re.compile(
    r"(?:[\s$]*(?:[a-z]{2,}\s+){1,2}(?:and|(?<=[a-z]\s)&)\s|[\s$]*(?:[a-z]{2,}\s?){1,2},(?:\s+and)?\s)?"
    r"(?:[\s$,;.*]|\\[()\[\],;:! ]|\\q?quad\b|\\(?:text|mathrm)\{\s*(?:and|or|,)*\s*\}|\b(?:and|or)\b"
    r"|\(?[a-zA-Z](?:_\{?\w+\}?)?(?:,\s*[a-zA-Z](?:_\{?\w+\}?)?)*\)?\s*=)*\Z"
)
_MATH: Final = re.compile(  # no formula holds the start of another: the search stays linear
    r"\\\[(?P<a>(?:(?!\\\[).)+?)\\\]|\$\$(?P<b>[^$]+)\$\$|\\\((?P<c>(?:(?!\\\().)+?)\\\)|(?<![\\$])\$(?P<d>(?:[^$\n\\]|\\.)+)\$"
    r"|\\begin\{(?P<e>[a-z]*matrix)\}(?:(?!\\begin).)*?\\end\{(?P=e)\}",
    re.DOTALL,
)
_PLAIN_WORD: Final = re.compile(
    r"\\(?:begin|end|text|mathrm|mbox|textbf|operatorname)\s*\{[^{}]*\}|\\[a-zA-Z]+|([^\W\d_]{3,})"
    r"|(?<![^\W_])([Ii]s|[Ii]t|[Ss]o|of|[Tt]o|[Ww]e|[Aa]s|be|[Ii]f|by|[Aa]n|on|[Nn]o|do|[Hh]e)(?![^\W_])"
)
_BOUNDARY: Final = re.compile(r"[.!?](?=\s|\Z)|\n\s*\n")
_NAMES: Final = re.compile(rf"\\[a-zA-Z]+|\b(?:and|or|{'|'.join(n for n in FUNCTIONS if n.isalpha())})(?![a-zA-Z])")
_LETTERS: Final = re.compile(r"[A-Za-z]{3}")
_MARKS_OF_FORMULA: Final = re.compile(r"[a-zA-Z\\^√π]|\)/|/\(")
_PERCENT: Final = re.compile(r"\s*(?:\\?%|(?:percent|percentage|pct)\b)", re.IGNORECASE)
_REACH: Final = 3000
_SHORT: Final = 200
_MAX_STEPS: Final = 12


def extract_math(response: str, *, mode: Mode = "flexible") -> Answer | Status:
    r"""The formula, number or words that a response asserts as its answer.

    Args:
        response: what the model wrote.
        mode: ``strict`` takes the last ``\boxed{}`` (or boxes joined into a list) and nothing else; ``flexible`` takes
            the last marker of any kind and, where there is none, the last formula or number of the last sentence with
            one.

    >>> extract_math(r"so $x = \boxed{\frac{1}{2}}$ at last").text
    '\\frac{1}{2}'
    """
    if len(response) > MAX_CHARS:
        return Status.LIMIT
    part = visible_part(response)
    if part is None:
        return Status.NO_ANSWER
    start, stop = part
    try:
        marks = find_marks(response, start, stop)
    except TooManyMarkers:
        return Status.LIMIT
    claimed = [m for m in marks if not is_denied(response, m.kind, m.begin, start)]
    boxes = _outermost([m for m in claimed if m.kind == "boxed"])
    if mode == "strict":
        return _boxed(response, boxes) if boxes else Status.NO_ANSWER
    last = _last_mark(response, claimed, boxes, stop)
    if last is None:
        return _unmarked(response, start, stop) if len(claimed) == len(marks) else Status.NO_ANSWER
    if (place := correction(response, last.end, stop)) is not None:
        limit = right_edge(response, min(stop, place + AFTERWORD), place)
        end = response.find("\n", place, limit)
        corrected = _stated(response, place, end if end >= 0 else limit, last.kind)
        return corrected or Status.NO_ANSWER
    if is_taken_back(response, last.end, stop):
        return Status.NO_ANSWER
    if last.kind == "boxed":
        return _boxed(response, boxes)
    if last.kind == "label":
        return _stated(response, last.start, last.end, "label") or Status.NO_ANSWER
    text = response[last.start : last.end].strip()
    if not text:
        return Status.NO_ANSWER
    others = {text_key(response[m.start : m.end]) for m in marks if m.kind == last.kind}
    if len(others) >= 3:
        return Status.AMBIGUOUS
    return _stated(response, last.start, last.end, last.kind) or _answer(response, last.start, last.end, last.kind)


def _outermost(boxes: list[Mark]) -> list[Mark]:
    outer: list[Mark] = []
    for box in boxes:
        if not outer or box.begin >= outer[-1].end:
            outer.append(box)
    return outer


def _last_mark(text: str, marks: list[Mark], boxes: list[Mark], stop: int) -> Mark | None:
    for i in range(len(marks) - 1, -1, -1):
        mark = marks[i]
        if mark.kind == "boxed" and mark not in boxes:
            continue
        if mark.kind in ("label", "answer-tag") and any(m.begin < mark.end for m in marks[i + 1 :]):
            continue
        if mark.kind == "label" and any(box.start <= mark.begin < box.end for box in boxes):
            continue  # \\boxed{\\text{The answer is } 42}: the box says it
        if mark.kind == "label" and _stated(text, mark.start, mark.end, "label") is None:
            continue
        if (
            mark.kind == "####"
            and text[mark.end : stop].strip()
            and not re.match(r"\s*[\d$\\(-]", text[mark.start : mark.end])
        ):
            continue
        return mark
    return None


def _answer(text: str, start: int, end: int, marker: str) -> Answer:
    content = text[start:end]
    first = start + len(content) - len(content.lstrip())
    last = first + len(content.strip())
    return Answer(text[first:last], (first, last), marker)


def _boxed(text: str, boxes: list[Mark]) -> Answer | Status:
    """The last box, or the list of the boxes that are joined to it."""
    group = [boxes[-1]]
    for box in reversed(boxes[:-1]):
        if _JOIN.match(text, box.end + 1, group[0].begin) is None:
            break
        group.insert(0, box)
    contents = [text[b.start : b.end].strip() for b in group]
    if not contents[-1]:
        return Status.NO_ANSWER
    if len({text_key(c) for c in contents}) == 1:
        distinct = {text_key(text[b.start : b.end]) for b in boxes}
        if len(distinct) >= 3:
            return Status.AMBIGUOUS
        return _answer(text, boxes[-1].start, boxes[-1].end, "boxed")
    span = (group[0].begin, group[-1].end + 1)
    return Answer(", ".join(contents), span, "boxed")


def has_words(text: str) -> bool:
    """True when plain words stand in a text: it is prose, not a formula."""
    for match in _PLAIN_WORD.finditer(text):
        word = match[1] or match[2]
        if word is not None and word not in FUNCTIONS and word.lower() not in _FORMULA_WORDS:
            return True
    return False


_FORMULA_WORDS: Final = frozenset(["and", "infty", "infinity", "mod"])


def _stated(text: str, start: int, end: int, marker: str) -> Answer | None:
    """The value that a stretch of prose states: all of it where it is a formula, else its last formula or number."""
    content = text[start:end]
    body = content.strip().strip(" \t\n*_:`")
    if not body.strip():
        return None
    plain = _MATH.sub(" ", body)
    if marker in _SAID_FIRST and _ASIDE.match(text, start, end) is not None:
        return _first_said(text, start, end, marker)
    if not has_words(plain) and not _LETTERS.search(_NAMES.sub(" ", plain)):
        return _answer(text, start, end, marker)
    if marker in _SAID_FIRST and (first := _first_said(text, start, end, marker)) is not None:
        return first
    last: re.Match[str] | None = None
    tail = start
    for match in _MATH.finditer(text, start, end):
        if has_words(next((g for g in match.group("a", "b", "c", "d") if g is not None), "")):
            continue
        if not NEGATED_BEFORE.search(text, max(start, match.start() - 60), match.start()):
            last = match
        elif last is not None:
            tail = match.end()  # "$x = 2$ (not $x = 3$)"
    tail = max(tail, last.end()) if last is not None else start
    rest = sentence(fold(text[tail:end]))
    if rest.status is Status.SCORED:
        return _number(text, tail + rest.start, tail + rest.end, end, marker)
    if rest.status is Status.AMBIGUOUS:
        return None if last is not None else _plain_formula(text, start, end, marker)
    if last is not None:
        return _answer(text, last.start(), last.end(), marker)
    if rest.denied:
        return None
    words = body.split()
    if marker == "label" and len(words) <= 8:
        return _answer(text, start, end, marker)
    return None


_SAID_FIRST: Final = ("label", "####")
"""Behind these the answer comes first: ``The answer is 72 clips for 2 months``."""
_RAISED: Final = re.compile(r"\s+(?:squared|cubed|factorial)\b")
_ASIDE: Final = re.compile(r"[\s*_:$]*-?[\d.,]+[\s$]+\([^()]*[-+*/=×][^()]*\)[\s.]*\Z")
_LEADING: Final = re.compile(r"[\s*_:]*")
_GOES_ON: Final = re.compile(
    r"\s*(?:[=<>≈\\]|[,;&]?\s*\b(?:and|or|is|are|equals?|gives?|makes?|so|then|thus|hence|i\.e|but|not|plus|minus|times)\b"
    r"|[,;&]\s*[$\\(]?-?(?:\\frac|\d[\d.,]*+(?!\s*%?\s*(?:[^\W\d_]+\s+)?(?:more|less|fewer|times|higher|lower)\b)))"
)
_NAME_ONLY: Final = re.compile(r"\s*\\?[A-Za-z]+(?:_\{?\w+\}?)?(?:\([A-Za-z, ]*\))?\s*\Z")


def _first_said(text: str, start: int, end: int, marker: str) -> Answer | None:
    """The formula or number that begins what a label says, where the rest is prose about it."""
    leading = _LEADING.match(text, start, end)
    at = leading.end() if leading is not None else start
    formula = _MATH.match(text, at, end)
    if formula is not None:
        inner = next((g for g in formula.group("a", "b", "c", "d") if g is not None), "")
        if has_words(inner) or _NAME_ONLY.match(inner) or not has_words(_MATH.sub(" ", text[formula.end() : end])):
            return None
        if _GOES_ON.match(text, formula.end(), end) is not None:
            return None
        return _answer(text, formula.start(), formula.end(), marker)
    said = direct(fold(text[start:end]))
    if said is None or said.status is not Status.SCORED or _RAISED.match(text, start + said.end, end):
        return None
    return _number(text, start + said.start, start + said.end, end, marker)


def _number(text: str, first: int, last: int, stop: int, marker: str) -> Answer:
    """A number in prose, with what behind it is part of the answer: a percent sign, ``p.m.``, ``below``."""
    percent = _PERCENT.match(text, last, stop)
    return _answer(text, first, sense_end(text, last, stop) if percent is None else percent.end(), marker)


_PREPOSITION: Final = re.compile(r"\s*(?:at|in|to|a)\s+(?=\d)")


def _plain_formula(text: str, start: int, end: int, marker: str) -> Answer | None:
    """The formula without delimiters that ends a sentence: ``Thus f(x) = x^2 + 1``. Lists and sums are none."""
    first = start
    for match in _PLAIN_WORD.finditer(text, start, end):
        word = match[1] or match[2]
        if word is not None and word not in FUNCTIONS and word.lower() not in ("infty", "infinity"):
            first = match.end()
    if (preposition := _PREPOSITION.match(text, first, end)) is not None:
        first = preposition.end()
    formula = text[first:end].strip(" \t\n*_:`.")
    if len(formula) > _SHORT or "," in formula or ";" in formula or _MARKS_OF_FORMULA.search(formula) is None:
        return None
    return _answer(text, first, end, marker)


def _unmarked(text: str, start: int, stop: int) -> Answer | Status:
    body = text[start:stop].strip()
    if not body:
        return Status.NO_ANSWER
    if len(body) <= _SHORT and not has_words(_MATH.sub(" ", body)):
        return _answer(text, start, stop, "whole")
    low = max(start, left_edge(text, stop - _REACH, stop))
    bounds = [m.end() for m in _BOUNDARY.finditer(text, low, stop)][-_MAX_STEPS:]
    edges = [low, *(b for b in bounds if b < stop), stop]
    masked = _protect(text, low, stop)
    right = stop
    for left in reversed(edges[:-1]):
        if left != low and masked[left - 1 - low]:
            continue  # the full stop stands inside a formula
        if text[left:right].strip():
            question = text[left:right].rstrip().endswith("?")
            answer = None if question else _stated(text, left, right, "last-value")
            if answer is not None:
                return answer
            if (
                not question
                and sentence(fold(text[left_edge(text, max(left, right - MAX_FORMULA), right) : right])).denied
            ):
                return Status.NO_ANSWER
            if not question and any(c.isdigit() for c in text[left:right]):
                return Status.AMBIGUOUS
        right = left
    if len(body) <= _SHORT:
        return _answer(text, start, stop, "whole")
    return Status.NO_ANSWER


def _protect(text: str, low: int, stop: int) -> bytearray:
    """Which characters lie inside a formula, where a full stop ends no sentence."""
    inside = bytearray(stop - low + 1)
    for match in _MATH.finditer(text, low, stop):
        first, last = match.start() - low, match.end() - low
        inside[first:last] = b"\x01" * (last - first)
    return inside
