r"""Where a response marks its answers: ``####``, ``\boxed{}``, ``<answer>``, ``The answer is``.

Only places are found here; what stands there is read by the caller. Every search is a C-speed ``str.find`` for a
literal, followed by a bounded look at the place, so the work is linear in the text and small when nothing is there.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from rewardkit.answers.limits import MAX_CLAIM, MAX_MARKERS
from rewardkit.answers.words import right_edge


class Mark(NamedTuple):
    """One marked place: ``text[start:end]`` is what it marks, ``begin`` is where the marker itself starts."""

    kind: str
    begin: int
    start: int
    end: int


class TooManyMarkers(Exception):
    """More than MAX_MARKERS markers, or braces nested past use: the response gets the status LIMIT."""


_STOP_TOKENS: Final = re.compile(
    r"<(?:\|(?:im_end|im_start|eot_id|eom_id|endoftext|end_of_text|end|user|assistant|start_header_id|begin_of_text)\|"
    r"|/s|eos|end_of_turn)>"
)
_LAST_TOKENS: Final = re.compile(rf"(?:\s|{_STOP_TOKENS.pattern})*+\Z")
_LONGEST_END: Final = 1000
_MAY_BE_TOKEN: Final = re.compile(r"<[|/te]")  # twice as fast as one that is sure
_WORD: Final = re.compile(r"\w")


def visible_part(text: str) -> tuple[int, int] | None:
    """The part of a response that speaks to the reader: after the reasoning, before the end-of-turn token.

    The last ``</think>`` ends the reasoning (the opening tag may stand in the prompt). Reasoning that never ends was
    cut off, and nothing was said: None.
    """
    if "<" not in text or _MAY_BE_TOKEN.search(text) is None:
        return 0, len(text)
    start = end_of_reasoning(text)
    if start is None:
        return None
    stop = len(text)
    if "<|" in text or "</s>" in text or "<e" in text:
        # Tokens before the first word are not an end: "<|im_start|>Answer: 42<|im_end|>".
        for count, token in enumerate(_STOP_TOKENS.finditer(text, start)):
            if count == MAX_MARKERS or _WORD.search(text, start, token.start()) is not None:
                stop = token.start()
                break
            start = token.end()
    return start, stop


def end_of_reasoning(text: str) -> int | None:
    """Where the part behind the last ``</think>`` begins; None where reasoning begins that never ends."""
    closing = text.rfind("</think>")
    start = closing + 8 if closing >= 0 else 0
    return None if text.find("<think>", start) >= 0 else start


def end_of_turn(text: str, start: int) -> int:
    """Where the end-of-turn tokens and blanks that a text closes with begin; tokens inside the text don't count."""
    return _LAST_TOKENS.search(text, max(start, len(text) - _LONGEST_END)).start()  # type: ignore[union-attr]


def find_marks(text: str, start: int, stop: int, *, hashes_only: bool = False) -> list[Mark]:
    """All marks in ``text[start:stop]``, in order.

    Raises:
        TooManyMarkers: more than MAX_MARKERS of them.
    """
    marks: list[Mark] = []
    # A find for one character is several times faster than one for a word: most texts lack most of these characters.
    if (first := text.find("#", start, stop)) >= 0 and (at := text.find("####", first, stop)) >= 0:
        _hashes(text, at, stop, marks)
    if hashes_only:
        return marks
    if (first := text.find("\\", start, stop)) >= 0 and text.find("box", first, stop) >= 0:
        for word in ("\\boxed", "\\fbox"):
            if (at := text.find(word, first, stop)) >= 0:
                _boxes(text, word, at, stop, marks)
    if (first := text.find("<", start, stop)) >= 0 and (at := text.find("<answer>", first, stop)) >= 0:
        _tags(text, at, stop, marks)
    if (first := text.find("w", start, stop)) >= 0 and (at := text.find("nswer", max(start, first - 2), stop)) >= 0:
        _labels(text, "nswer", at, stop, marks)
    if text.find("W", start, stop) >= 0 and (at := text.find("NSWER", start, stop)) >= 0:
        _labels(text, "NSWER", at, stop, marks)
    if not text.isascii() and (at := text.find("答案", start, stop)) >= 0:
        _labels(text, "答案", at, stop, marks)
    if not marks:
        _other_labels(text, start, stop, marks)
    if len(marks) > 1:
        marks.sort(key=_begin)
    return marks


def _begin(mark: Mark) -> int:
    return mark.begin


def _add(marks: list[Mark], mark: Mark) -> None:
    if len(marks) >= MAX_MARKERS:
        raise TooManyMarkers
    marks.append(mark)


_HASH_RUN: Final = re.compile("#*+")


def _hashes(text: str, at: int, stop: int, marks: list[Mark]) -> None:
    while at >= 0:
        start = at + 4
        if text.startswith("#", start):
            start = _HASH_RUN.match(text, start, stop).end()  # type: ignore[union-attr]
        following = text.find("#", start, stop)
        if following >= 0:
            following = text.find("####", following, stop)
        end = text.find("\n", start, stop if following < 0 else following)
        if end < 0:
            end = stop if following < 0 else following
        if end - start > MAX_CLAIM:
            end = right_edge(text, start + MAX_CLAIM, start)
        _add(marks, Mark("####", at, start, end))
        at = following


_BRACE: Final = re.compile(r"\\.|[{}]", re.DOTALL)
_BARE_BOX: Final = re.compile(r"[ ]?([0-9][^\s{}$]{0,100})")
_MAX_BRACES: Final = 20_000


def _boxes(text: str, word: str, at: int, stop: int, marks: list[Mark]) -> None:
    budget = _MAX_BRACES
    looked = 0
    while at >= 0:
        looked += 1
        start = at + len(word)
        opening = start
        while opening < min(stop, start + 8) and text[opening] in " \t":
            opening += 1
        if opening < stop and text[opening] == "{":
            end, used = closing_brace(text, opening, min(stop, opening + MAX_CLAIM))
            budget -= used
            if budget < 0 or looked > MAX_MARKERS * 4:
                raise TooManyMarkers
            # A box that never closes was cut off, digits and all: it claims nothing.
            _add(marks, Mark("boxed", at, opening + 1, end) if end >= 0 else Mark("boxed", at, stop, stop))
        elif (bare := _BARE_BOX.match(text, start, stop)) is not None:
            _add(marks, Mark("boxed", at, bare.start(1), bare.end(1)))
        at = text.find(word, start, stop)


def closing_brace(text: str, opening: int, stop: int) -> tuple[int, int]:
    """The place of the brace that closes the one at ``opening``, or -1; and how many braces were looked at."""
    end = text.find("}", opening, stop)
    if end >= 0 and text.find("{", opening + 1, end) < 0 and text.find("\\", opening + 1, end) < 0:
        return end, 1
    depth = used = 0
    for match in _BRACE.finditer(text, opening, stop):
        used += 1
        brace = match[0]
        if brace == "{":
            depth += 1
        elif brace == "}":
            depth -= 1
            if depth == 0:
                return match.start(), used
    return -1, used


def _tags(text: str, at: int, stop: int, marks: list[Mark]) -> None:
    while at >= 0:
        start = at + 8
        end = text.find("</answer>", start, stop)
        if end < 0:
            return
        if end - start <= MAX_CLAIM:
            _add(marks, Mark("answer-tag", at, start, end))
        at = text.find("<answer>", start, stop)


_LABEL: Final = re.compile(
    r"""(?:nswers?|NSWERS?|答案)
        (?: [\s*_"')\]}]{0,8}+ (?::|=|：|是|为|應?该?为)
          | [^\n.?!\d:=#]{0,48}? (?: \b(?:is|are|was|were|be|equals|becomes)\b
                                 | (?=\b(?:is|was)(?:n't|n’t)|\bcan(?:no|'|’)t\b) )
          | [\s*_]{0,8}\n
        )
        (?:[\s*_]{0,8}+[:：])?""",
    re.VERBOSE,
)
_SENTENCE_END: Final = re.compile(r"(?<!\bRs)[.!?\n。।](?:(?<=[\n。।])|(?=[\s*_\"')]|\Z))")
_OTHER_LABEL: Final = re.compile(
    r"""(?: [Aa]ntwort|Lösung|Ergebnis|[Rr]éponse|[Rr]eponse|[Rr]espuesta|[Rr]isposta|[Rr]esposta|[Aa]ntwoord
          | [Ss]var(?:et)?|[Jj]awaban(?:nya)?|[Cc]evap|[Yy]anıt|[Oo]dpowied[źz]|[Oo]dpověď
          | [Rr]ăspuns(?:ul)?|[Vv]álasz|[Vv]astaus|[Оо]твет|[Вв]ідповідь|[Оо]тговор|[Αα]πάντηση
          | [Đđ]áp\s(?:án|số)|[Kk]ết\squả
          | 答え|答|正解|解答|정답|답|उत्तर|जवाब|উত্তর|الجواب|الإجابة|الاجابة|جواب|پاسخ|คำตอบ|תשובה
        )
        [\s*_"')\]}]{0,8}+
        (?: [:：=]|(?:(?!no\b|n[aã]o\b|non\b|nicht|ikke|inte|niet|nie\b)[a-z]{1,12}\s){0,2}
            (?:ist|lautet|est|es|è|é|is|är|er|adalah|là|sunt|este|είναι)\b
          | составляет|равен|—|–|は|是|为|為|은|는|が|है|হল|هو|هي|คือ|היא|הוא )
        (?:[\s*_]{0,8}+[:：])?""",
    re.VERBOSE,
)
_ASCII_HINT: Final = re.compile(r"ntwo|espuest|ispost|espost|eponse|Ergebn|Svar|svar|awaban|evap|Vastaus|vastaus")
_OTHER_REACH: Final = 800
_LABEL_REACH: Final = 400
_DENSE: Final = 1 << 14
_FEW: Final = 4
_NEAR: Final = 24
_BLANK: Final = re.compile(r"[\s*_:$\\\[(`]*")


def _labels(text: str, word: str, at: int, stop: int, marks: list[Mark]) -> None:
    looked = 0
    if stop - at > _DENSE and text.count(word, at, at + _DENSE) > MAX_MARKERS * 4:
        raise TooManyMarkers  # nothing but labels: no need to look at each
    while at >= 0:
        looked += 1
        if looked > MAX_MARKERS * 4:
            raise TooManyMarkers
        if len(marks) <= _FEW and any(0 < mark.begin - at <= _NEAR for mark in marks):
            at = text.find(word, at + len(word), stop)  # "The answer is \\boxed{18}": the box says it
            continue
        label = _LABEL.match(text, at, min(stop, at + 100))
        following = at + len(word)
        is_tag = at > 1 and text[at - 2] in "</"
        if label is not None and not is_tag and (word == "答案" or text[at - 1 : at] in ("a", "A")):
            start = label.end()
            blank = _BLANK.match(text, start, min(stop, start + 100))
            first = blank.end() if blank is not None else start
            sentence_end = _SENTENCE_END.search(text, first, min(stop, start + _LABEL_REACH))
            end = sentence_end.start() if sentence_end is not None else min(stop, start + _LABEL_REACH)
            if sentence_end is None and end < stop:
                end = right_edge(text, end, start)
            _add(marks, Mark("label", max(at - 1, 0), start, end))
            following = max(following, start)
        at = text.find(word, following, stop)


def _other_labels(text: str, start: int, stop: int, marks: list[Mark]) -> None:
    """Labels of other languages near the end: ``Antwort: 72``, ``उत्तर: 72``."""
    low = max(start, stop - _OTHER_REACH)
    if text.isascii() and _ASCII_HINT.search(text, low, stop) is None:
        return
    for label in _OTHER_LABEL.finditer(text, low, stop):
        if label.start() > start and (before := text[label.start() - 1]).isalpha() and before.isascii():
            continue
        begin = label.end()
        blank = _BLANK.match(text, begin, min(stop, begin + 100))
        limit = min(stop, begin + _LABEL_REACH)
        sentence_end = _SENTENCE_END.search(text, blank.end() if blank is not None else begin, limit)
        end = sentence_end.start() if sentence_end is not None else limit
        if sentence_end is None and end < stop:
            end = right_edge(text, end, begin)
        _add(marks, Mark("label", label.start(), begin, end))
