"""The letter of an option: which one a response asserts."""

from __future__ import annotations

import re
from typing import Final

from rewardkit.answers.extract import Answer
from rewardkit.answers.grade import FAILED, Grade, bad_gold
from rewardkit.answers.limits import MAX_CHARS
from rewardkit.answers.marks import visible_part
from rewardkit.answers.words import left_edge
from rewardkit.batch import Status

_STRONG: Final = (
    r"\banswers?\b|\bcorrect\b|\b(?:choose|chose|pick|select)\b|####|<answer>|\\boxed\b|\\fbox\b"
    r"|答案|答え|正解|正确的?是|[应應故]?[选選][择擇]?|정답|답은|답:|उत्तर|जवाब|الجواب|الإجابة"
    r"|\b(?:r[ée]ponse|antwort|respuesta|risposta|resposta|antwoord|svar|cevap|jawaban|odpowied[źz]|ответ|відповідь)\b"
    r"|đáp\s+án"
)
_WEAK: Final = r"\b(?:options?|choices?|it['’]?s|it\s+is|is|opci[óo]n|opção|variante?|вариант)\b|विकल्प"
_CUE: Final = re.compile(rf"(?P<strong>{_STRONG})|{_WEAK}", re.IGNORECASE)
_LETTER: Final = re.compile(
    r"(?<![A-Za-z0-9_\u00c0-\u024f\u0400-\u04ff'’\\-])"
    r"(?:\(\s*(?P<a>[A-Z])\s*\)|\[\s*(?P<b>[A-Z])\s*\]|\{\s*\(?(?P<c>[A-Z])\)?[.:]?\s*\}|(?P<d>[A-Z]))"
    r"(?![A-Za-z0-9_\u00c0-\u024f\u0400-\u04ff'’\-]|\^|\s?[=+<>*/]\s?[\w\\(])"
)
_NEGATED: Final = re.compile(
    r"(?:\b(?:not|n['’]t|never|neither|nor|cannot|non|nicht|kein\w*|no\s+es|n['’]est\s+pas|не|rather\s+than|instead\s+of|than"
    r"|eliminate|exclude|rule\s+out|wrong)|n['’]t(?:\s+be)?|不是|而不是|不[选選]|不[会會]是|排除)"
    r"[\s*(\"'{\[$\\]*(?:(?:be|is|option|choice|answer|either|text|mathrm|textbf)\b[\s*({\[$\\]*)*\Z",
    re.IGNORECASE,
)
_CHAIN: Final = re.compile(
    r"[\s*)\]}$,/、]*(?:,|\bor\b|\band\b|\bnor\b|或|和|与|/)?[\s*(\[{$]*(?:option|choice)?\s*\Z", re.IGNORECASE
)
_DENIED_AFTER: Final = re.compile(
    r"[\s*)\]}$]*(?:\?|(?:is|was)\s+(?:not|wrong|incorrect|false)\b|(?:isn|wasn)['’]t\b"
    r"|[选選]?[项項]?\s*是?(?:[错錯]|不正[确確]|不[对對]))",
    re.IGNORECASE,
)
_ARTICLE: Final = re.compile(r"\s+[a-z]")
_TURN: Final = re.compile(r"\b(?:but|wait|no|however|actually|instead|sorry)\b", re.IGNORECASE)
_FORMULA: Final = re.compile(
    r"\\(?:boxed|fbox)\s*\{(?P<a>(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}|\\\((?P<b>.{1,400}?)\\\)|\\\[(?P<c>.{1,400}?)\\\]"
    r"|(?<![\\$])\$(?P<d>[^$\n]{1,400})\$",
    re.DOTALL,
)
_FONT: Final = re.compile(
    r"\\(?:text|textbf|textrm|textit|mathrm|mathbf|mathsf|mbox|bf|rm|boxed|fbox|left|right|q?quad)(?![a-zA-Z])"
    r"|\\[ ,;:!]|[{}$~*]"
)
_OPTIONS: Final = re.compile(
    r"\s*(?:the\s+)?(?:(?:correct\s+)?(?:answer|option|choice)\s*(?:is)?\s*:?\s*)?"
    r"(?:[(\[]?\s*[A-Z]\s*[)\]]?[.:]?\s*(?:(?:,|;|/|&|\b(?:and|or)\b|或|和|、)\s*[(\[]?\s*[A-Z]\s*[)\]]?[.:]?\s*)*"
    r"|[(\[]?\s*[A-Z]\s*(?:[)\]][.:]?|[.:])\s*\S.*)\Z",
    re.DOTALL | re.IGNORECASE,
)
_WIDE: Final = str.maketrans(
    {**{chr(0xFF21 + i): chr(65 + i) for i in range(26)}, "（": "(", "）": ")", "【": "[", "】": "]"}
)
_TAIL: Final = 2000
_REACH: Final = 60


def grade_choice(response: str, ground_truth: object) -> Grade:
    r"""Right when the one option letter that the response asserts is the ground truth's.

    The letter after the last cue ("the answer is (C)", "故选C", ``\boxed{C}``) counts, else the only letter that stands
    alone in the response. Letters of a formula (``\boxed{F = ma}``) are not options; denied letters ("not A", "it can't
    be A or B") don't count; two asserted ones are AMBIGUOUS.

    Args:
        response: what the model wrote.
        ground_truth: a letter, or a text that starts with or asserts one: ``C``, ``(C) Cecile``, ``C. because ...``.

    >>> grade_choice("It can't be A or B, so the answer is C.", "C").value
    1.0
    """
    letter = _truth_letter(ground_truth)
    if letter is None:
        return bad_gold(ground_truth)
    if len(response) > MAX_CHARS:
        return FAILED[Status.LIMIT]
    part = visible_part(response)
    answer = _asserted(response, *part) if part is not None else Status.NO_ANSWER
    if not isinstance(answer, Answer):
        return FAILED[answer]
    return Grade(1.0 if answer.text == letter else 0.0, Status.SCORED, "text", answer)


def _truth_letter(truth: object) -> str | None:
    if not isinstance(truth, str):
        return None
    text = truth.strip()
    start = re.match(r"\\boxed\{\(?([A-Z])\)?\}|\(?([A-Z])(?:\)|[.:,)\s]|\Z)", text)
    if start is not None and (len(text) == 1 or _ARTICLE.match(text, start.end(2) if start[2] else len(text)) is None):
        return start[1] or start[2]
    if len(text) == 1 and text.isalpha():
        return text.upper()
    answer = _asserted(text, 0, len(text))
    return answer.text if isinstance(answer, Answer) else None


def _formulas(text: str, start: int, stop: int) -> list[tuple[int, int]]:
    """Where formulas stand that name no option."""
    if "$" not in text and "\\" not in text:
        return []
    spans = []
    for match in _FORMULA.finditer(text, start, stop):
        content = next(g for g in match.group("a", "b", "c", "d") if g is not None)
        plain = _FONT.sub(" ", content)
        if _OPTIONS.match(plain) is None and _LETTER.search(content) is not None:
            spans.append(match.span())
    return spans


def _letters(text: str, start: int, stop: int, formulas: list[tuple[int, int]]) -> list[re.Match[str]]:
    """Option letters that are not denied, in order. A denial reaches over a list: "can't be A or B"."""
    letters: list[re.Match[str]] = []
    denied_until = -1
    for match in _LETTER.finditer(text, start, stop):
        if any(low <= match.start() < high for low, high in formulas):
            continue
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
        letters.append(match)
    return letters


def _asserted(text: str, start: int, stop: int) -> Answer | Status:
    if not text.isascii():
        text = text.translate(_WIDE)
    low = max(start, left_edge(text, stop - _TAIL, stop))
    formulas = _formulas(text, low, stop)
    letters = _letters(text, low, stop, formulas)
    if not letters:
        return Status.NO_ANSWER
    weak: Answer | Status | None = None
    for cue in reversed(list(_CUE.finditer(text, low, stop))):
        if any(first <= cue.start() < last for first, last in formulas):
            continue
        asserted = _cued(text, letters, cue.end())
        if asserted is None:
            continue
        if cue["strong"] is None:
            weak = weak or asserted
            continue
        if weak is not None and (not isinstance(weak, Answer) or _TURN.search(text, cue.end(), weak.span[0])):
            return weak
        return asserted
    if weak is not None:
        return weak
    if len({_name(m) for m in letters}) > 1:
        return Status.AMBIGUOUS
    return _as_answer(letters[-1], "only-letter")


def _cued(text: str, letters: list[re.Match[str]], cue: int) -> Answer | Status | None:
    """The letter that a cue points at; None where it points at none."""
    after = [
        m for m in letters if m.start() >= cue and m.start() - cue <= _REACH and "\n\n" not in text[cue : m.start()]
    ]
    if not after or any(c in text[cue : after[0].start()] for c in ("?", ". ", ", ", "。", "，", "？")):
        return None
    if len(after) > 1 and _CHAIN.match(text, after[0].end(), after[1].start()) and _name(after[0]) != _name(after[1]):
        return Status.AMBIGUOUS
    return _as_answer(after[0], "label")


def _name(match: re.Match[str]) -> str:
    return next(g for g in match.groups() if g is not None)


def _as_answer(match: re.Match[str], marker: str) -> Answer:
    group = next(k for k, g in match.groupdict().items() if g is not None)
    return Answer(match[group], match.span(group), marker)
