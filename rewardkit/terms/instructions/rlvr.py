"""RLVR-IFeval's 25 functions (Lambert et al. 2024, arXiv 2411.15124), by the names that its rows have.

They mean what IF-Eval's instructions mean and check it by other rules: counts are exact, "around" is a tenth to either
side, texts are compared with their case where open-instruct's are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import regex

from rewardkit.terms.instructions import counting
from rewardkit.terms.instructions.arguments import Arguments
from rewardkit.terms.instructions.ifeval import IFEVAL, Check
from rewardkit.terms.strict_json import read_json

_WORD: Final = regex.compile(r"\b\w+\b")
_CAPITALS: Final = regex.compile(r"\b[A-Z]+\b")
_SENTENCE_END: Final = regex.compile(r"(?<!\w\.\w.)(?<![A-Z][a-z]\.)(?<=[.?!])\s")


def _tenth(n: int) -> int:
    return max(round(n * 0.1), 1)


def _keywords(a: Arguments) -> Check:
    words = [word.lower() for word in a.texts("keyword_list")]
    return lambda text: all(word in lower for lower in [text.lower()] for word in words)


def _keyword_frequency(a: Arguments) -> Check:
    word, n = a.text("word").lower(), a.number("N")
    return lambda text: _WORD.findall(text.lower()).count(word) == n


def _forbidden_words(a: Arguments) -> Check:
    words = [word.lower() for word in a.texts("forbidden_words")]
    return lambda text: not any(word in lower for lower in [text.lower()] for word in words)


def _letter_frequency(a: Arguments) -> Check:
    letter, n = a.letter(), a.number("N")
    return lambda text: text.count(letter) == n


def _paragraphs(a: Arguments) -> Check:
    n = a.number("N")

    def check(text: str) -> bool:
        parts = "\n".join(line.strip() for line in text.splitlines()).split("* * *")
        return len(parts) == n and all(map(str.strip, parts))

    return check


def _words(a: Arguments) -> Check:
    compared = a.quantified(_tenth)
    return lambda text: compared(len(text.split()))


def _sentences(a: Arguments) -> Check:
    compared = a.quantified(lambda n: 1)
    return lambda text: compared(1 + len(_SENTENCE_END.findall(text)))


def _first_word(a: Arguments) -> Check:
    n, nth, word = a.number("N", 1), a.number("i", 1), a.text("first_word")
    if nth > n:
        raise ValueError(f"{a.instruction}: there is no paragraph {nth} of {n}")
    return lambda text: len(parts := text.split("\n\n")) == n and parts[nth - 1].strip().startswith(word)


def _postscript(a: Arguments) -> Check:
    marker = a.text("postscript_marker")
    return lambda text: marker in text and len(text[text.find(marker) :].strip()) > len(marker)


def _placeholders(a: Arguments) -> Check:
    n = a.number("N")
    return lambda text: counting.placeholders(text) >= n


def _bullets(a: Arguments) -> Check:
    n = a.number("N")
    return lambda text: sum(line.strip().startswith(("*", "-")) for line in text.split("\n")) == n


def _title(a: Arguments) -> Check:
    def check(text: str) -> bool:
        return any((begin := line.find("<<")) >= 0 and line.find(">>", begin + 2) >= 0 for line in text.split("\n"))

    return check


def _choice(a: Arguments) -> Check:
    options = a.texts("options")
    return lambda text: any(option in text for option in options)


def _highlights(a: Arguments) -> Check:
    n = a.number("N")
    return lambda text: sum(line.count("*") // 2 for line in text.split("\n")) >= n


def _sections(a: Arguments) -> Check:
    n, mark = a.number("N"), regex.compile(regex.escape(a.text("section_splitter")) + r"\s?\d", regex.IGNORECASE)
    return lambda text: len(mark.findall(text)) >= n


def _json(a: Arguments) -> Check:
    def check(text: str) -> bool:
        try:
            read_json(text)
        except ValueError:
            return False
        return True

    return check


def _repeat(a: Arguments) -> Check:
    prompt = a.text("original_prompt")
    return lambda text: text.startswith(prompt)


def _two_responses(a: Arguments) -> Check:
    def check(text: str) -> bool:
        first, mark, second = text.partition("******")
        return bool(mark) and "******" not in second and first.strip() != second.strip()

    return check


def _capital_words(a: Arguments) -> Check:
    compared = a.quantified(_tenth)
    return lambda text: compared(len(_CAPITALS.findall(text)))


def _end(a: Arguments) -> Check:
    phrase = a.text("end_phrase")
    return lambda text: text.endswith(phrase)


RLVR: Final[Mapping[str, Callable[[Arguments], Check]]] = {
    "verify_keywords": _keywords,
    "verify_keyword_frequency": _keyword_frequency,
    "validate_forbidden_words": _forbidden_words,
    "verify_letter_frequency": _letter_frequency,
    "validate_response_language": IFEVAL["language:response_language"],
    "verify_paragraph_count": _paragraphs,
    "validate_word_constraint": _words,
    "verify_sentence_constraint": _sentences,
    "validate_paragraphs": _first_word,
    "verify_postscript": _postscript,
    "validate_placeholders": _placeholders,
    "verify_bullet_points": _bullets,
    "validate_title": _title,
    "validate_choice": _choice,
    "validate_highlighted_sections": _highlights,
    "validate_sections": _sections,
    "validate_json_format": _json,
    "validate_repeat_prompt": _repeat,
    "validate_two_responses": _two_responses,
    "validate_uppercase": lambda a: lambda text: text == text.upper(),
    "validate_lowercase": lambda a: lambda text: text == text.lower(),
    "validate_frequency_capital_words": _capital_words,
    "validate_end": _end,
    "validate_quotation": lambda a: lambda text: text.startswith('"') and text.endswith('"'),
    "validate_no_commas": IFEVAL["punctuation:no_comma"],
}
