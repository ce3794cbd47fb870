"""In which language a text is, by py3langid: a hundred languages in a model of 4 MB, without downloads or chance.

langdetect, which IF-Eval's own code uses, draws random numbers and so disagrees with itself on short texts. lingua is
better on single words, and its models are some 100 MB that take seconds to load.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any, Final

from rewardkit.terms.optional import optional

_PART: Final = 240
"""Characters of the beginning, the middle and the end that are looked at."""


def package() -> Any:
    """The module py3langid.

    Raises:
        MissingDependencyError: it is not installed.
    """
    return optional("py3langid", wanted_by="follows", extra="instructions")


def is_in(text: str, language: str) -> bool:
    """Whether a text is in a language, named as ISO 639-1 does. A text without letters is in none."""
    middle = len(text) // 2
    parts = (text[:_PART], text[middle - _PART // 2 : middle + _PART // 2], text[-_PART:])
    excerpt = text if len(text) <= 3 * _PART else "\n".join(parts)
    return any(map(str.isalpha, excerpt)) and _language(excerpt) == language.lower().partition("-")[0]


@lru_cache(maxsize=1024)
def _language(text: str) -> str:
    return next(str(language) for language, _ in package().rank(text) if len(language) == 2)


@cache
def languages() -> frozenset[str]:
    """The languages that are told apart: those with a code of ISO 639-1, and none of the model's dialects."""
    return frozenset(language for language, _ in package().rank("") if len(language) == 2)
