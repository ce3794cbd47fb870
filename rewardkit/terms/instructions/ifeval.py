"""IF-Eval's 25 instructions (Zhou et al. 2023, arXiv 2311.07911): for each, what its arguments make of a text.

The rules are those of Google's code, but for two: an argument that is missing is an error of the row and not drawn at
random, and keywords stand for themselves and are no patterns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import regex

from rewardkit.terms.instructions import counting
from rewardkit.terms.instructions.arguments import Arguments
from rewardkit.terms.instructions.language import is_in, languages
from rewardkit.terms.strict_json import read_json

Check = Callable[[str], bool]

_WORD: Final = regex.compile(r"\w+")
_DIVIDER: Final = regex.compile(r"\s?\*\*\*\s?")
_POSTSCRIPTS: Final = {"P.S.": regex.compile(r"p\.\s?s\."), "P.P.S": regex.compile(r"p\.\s?p\.\s?s")}
_OPTIONS: Final = ("My answer is yes.", "My answer is no.", "My answer is maybe.")
_JSON_FENCES: Final = ("```json", "```Json", "```JSON", "```")


def _keywords(a: Arguments) -> Check:
    words = [word.lower() for word in a.texts("keywords")]
    return lambda text: all(word in lower for lower in [text.lower()] for word in words)


def _keyword_frequency(a: Arguments) -> Check:
    word, compared = a.text("keyword").strip().lower(), a.compared("frequency")
    return lambda text: compared(text.lower().count(word))


def _forbidden_words(a: Arguments) -> Check:
    words = "|".join(regex.escape(word) for word in a.texts("forbidden_words"))
    pattern = regex.compile(rf"\b(?:{words})\b", regex.IGNORECASE)
    return lambda text: pattern.search(text) is None


def _letter_frequency(a: Arguments) -> Check:
    letter, compared = a.letter().lower(), a.compared("let_frequency", "let_relation")
    return lambda text: compared(text.lower().count(letter))


def _language(a: Arguments) -> Check:
    language = a.text("language")
    if language.lower().partition("-")[0] not in languages():
        raise ValueError(f"{a.instruction}: the language {language!r:.40} is not known")
    return lambda text: is_in(text, language)


def _sentences(a: Arguments) -> Check:
    compared = a.compared("num_sentences")
    return lambda text: compared(counting.sentences(text))


def _paragraphs(a: Arguments) -> Check:
    wanted = a.number("num_paragraphs")

    def check(text: str) -> bool:
        first, *middle, last = [*_DIVIDER.split(text), ""] if "***" not in text else _DIVIDER.split(text)
        return all(map(str.strip, middle)) and len(middle) + bool(first.strip()) + bool(last.strip()) == wanted

    return check


def _words(a: Arguments) -> Check:
    compared = a.compared("num_words")
    return lambda text: compared(len(_WORD.findall(text)))


def _first_word(a: Arguments) -> Check:
    wanted, nth, word = a.number("num_paragraphs", 1), a.number("nth_paragraph", 1), a.text("first_word").lower()

    def check(text: str) -> bool:
        paragraphs = text.split("\n\n")
        if sum(bool(p.strip()) for p in paragraphs) != wanted or nth > wanted or not paragraphs[nth - 1].strip():
            return False
        first = paragraphs[nth - 1].split(None, 1)[0].lstrip("'").lstrip('"')
        return bool(_NO_PUNCTUATION.match(first)[0].lower() == word)

    return check


_NO_PUNCTUATION: Final = regex.compile(r"[^.,?!'\"]*+")


def _placeholders(a: Arguments) -> Check:
    least = a.number("num_placeholders")
    return lambda text: counting.placeholders(text) >= least


def _postscript(a: Arguments) -> Check:
    marker = a.text("postscript_marker").strip()
    pattern = _POSTSCRIPTS.get(marker) or regex.compile(regex.escape(marker.lower()))
    return lambda text: pattern.search(text.lower()) is not None


def _bullets(a: Arguments) -> Check:
    wanted = a.number("num_bullets")
    return lambda text: counting.bullets(text) == wanted


def _constrained(a: Arguments) -> Check:
    return lambda text: any(option in text for option in _OPTIONS)


def _highlights(a: Arguments) -> Check:
    least = a.number("num_highlights")
    return lambda text: counting.highlights(text) >= least


def _sections(a: Arguments) -> Check:
    least = a.number("num_sections")
    mark = regex.compile(regex.escape(a.text("section_spliter").strip()) + r"\s?\d")
    return lambda text: len(mark.findall(text)) >= least


def _json(a: Arguments) -> Check:
    def check(text: str) -> bool:
        body = text.strip()
        for fence in _JSON_FENCES:
            body = body.removeprefix(fence)
        try:
            read_json(body.removesuffix("```").strip())
        except ValueError:
            return False
        return True

    return check


def _title(a: Arguments) -> Check:
    return counting.has_title


def _two_responses(a: Arguments) -> Check:
    def check(text: str) -> bool:
        parts = [part.strip() for part in text.split("******")]
        given = [part for part in parts if part]
        return all(parts[1:-1]) and len(given) == 2 and given[0] != given[1]

    return check


def _repeat(a: Arguments) -> Check:
    prompt = a.text("prompt_to_repeat").strip().lower()
    return lambda text: text.strip().lower().startswith(prompt)


def _end(a: Arguments) -> Check:
    phrase = a.text("end_phrase").strip().lower()
    return lambda text: text.strip().strip('"').lower().endswith(phrase)


def _capital_words(a: Arguments) -> Check:
    compared = a.compared("capital_frequency", "capital_relation")
    return lambda text: compared(counting.capital_words(text))


def _capital(a: Arguments) -> Check:
    return lambda text: text.isupper() and is_in(text, "en")


def _lowercase(a: Arguments) -> Check:
    return lambda text: text.islower() and is_in(text, "en")


def _no_comma(a: Arguments) -> Check:
    return lambda text: "," not in text


def _quotation(a: Arguments) -> Check:
    return lambda text: len(body := text.strip()) > 1 and body[0] == body[-1] == '"'


IFEVAL: Final[Mapping[str, Callable[[Arguments], Check]]] = {
    "keywords:existence": _keywords,
    "keywords:frequency": _keyword_frequency,
    "keywords:forbidden_words": _forbidden_words,
    "keywords:letter_frequency": _letter_frequency,
    "language:response_language": _language,
    "length_constraints:number_sentences": _sentences,
    "length_constraints:number_paragraphs": _paragraphs,
    "length_constraints:number_words": _words,
    "length_constraints:nth_paragraph_first_word": _first_word,
    "detectable_content:number_placeholders": _placeholders,
    "detectable_content:postscript": _postscript,
    "detectable_format:number_bullet_lists": _bullets,
    "detectable_format:constrained_response": _constrained,
    "detectable_format:number_highlighted_sections": _highlights,
    "detectable_format:multiple_sections": _sections,
    "detectable_format:json_format": _json,
    "detectable_format:title": _title,
    "combination:two_responses": _two_responses,
    "combination:repeat_prompt": _repeat,
    "startend:end_checker": _end,
    "startend:quotation": _quotation,
    "change_case:capital_word_frequency": _capital_words,
    "change_case:english_capital": _capital,
    "change_case:english_lowercase": _lowercase,
    "punctuation:no_comma": _no_comma,
}
