"""Where words begin and end: digits inside a name are not a number, and no window cuts a word.

``pytest-0``, ``step299``, ``v2.0``, ``gpt-4``, ``x_1``, ``a/b/3.txt``, ``18-year-old`` and ``https://x.org/7`` hold
digits and assert no number. Texts here are folded (:func:`rewardkit.answers.number.fold`). Every look is bounded.
"""

from __future__ import annotations

import re
from typing import Final

CJK: Final = re.compile(
    r"[\u0590-\u06ff\u0900-\u0dff\u0e00-\u0eff\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"
)
"""Letters that are written right before or behind a number without joining it: ``共72元``, ``72개``."""

OTHER_SCRIPT: Final = (
    r"\u0400-\u052f\u0590-\u06ff\u0750-\u077f\u0900-\u0dff\u0e00-\u0eff\u10a0-\u11ff"
    r"\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
)
"""The inside of a character class: letters of scripts in which no formula is written."""

OTHER_DENIAL: Final = re.compile("[不非没無未第]|не|아니|नहीं|ليس|לא")
ATTACHED_OR: Final = "还是|還是|或者|或是|或|または|もしくは|あるいは|또는|혹은"
OR_WORDS: Final = rf"oder|ou|hoặc|atau|veya|ya\s+da|lub|eller|nebo|vagy|sau|ή|или|або|أو|או|या|অথবা|หรือ|{ATTACHED_OR}"
"""What separates two answers, in other languages than English; the attached ones need no blank around them."""
ATTACHED_AND: Final = "以及|和|及|与|與|と|그리고|및"
AND_WORDS: Final = rf"und|et|og|och|dan|ve|và|и|і|और|এবং|และ|{ATTACHED_AND}"

_MAX_WORD: Final = 256
_RUN_BEFORE: Final = re.compile(r"[\w./\\@~#&-]*\Z")
_RUN_BEHIND: Final = re.compile(r"[\w./\\@~#&:-]*")
_JOINERS: Final = "./\\@~#&-_"
_COMMAND: Final = re.compile(r"[^A-Za-z]*\\[a-zA-Z]+\Z")
_CURRENCY_CODE: Final = re.compile(r"(?:\A|[^\w])(?:US|HK|USD|EUR|GBP|INR|CAD|AUD|CHF|JPY|CNY|RMB|Rs|Rp|Kr|kr)\.?\Z")
_RESULT_WORD: Final = re.compile(r"\A(?:the|a|an|my)?(?:answers?|ans|result|total)[.-]?\Z", re.IGNORECASE)
_UNDERSCORES: Final = re.compile(r"_+\Z")
_BEHIND: Final = re.compile(
    r"""\.[a-z][a-z0-9]{0,4}(?![\w])      # 3.txt
      | -(?!years-old\b)[^\W\d_]{2}        # 18-year-old, but "he is 18-years-old"
      | @[^\W\d_]                          # 3@x.org
      | _[^\W_]                            # 3_a
    """,
    re.VERBOSE,
)
_VERSION: Final = re.compile(r"\d+(?:\.\d+){2,}\Z")
_FILE: Final = re.compile(r"/.*[^\W\d_].*\.[a-z][a-z0-9]{0,4}\Z|/[^/]*[^\W\d_]{3,}[^/]*/|/.*/[^/]*[^\W\d_]{3,}")


def in_name(text: str, start: int, end: int) -> bool:
    """Whether the number at ``text[start:end]`` is part of a name."""
    before = text[start - 1] if start else " "
    if before not in " \n\t($=*\"'" and _is_name_before(text, start, end, before):
        return True
    if end == len(text) or text[end] in " \n\t,;!?)*%$\"'":
        return False
    if _BEHIND.match(text, end) is not None and text[end - 1].isdigit():
        return True
    if text[end] in "./":
        behind = _RUN_BEHIND.match(text, start, start + _MAX_WORD)
        word = behind[0].rstrip(".:-") if behind is not None else ""
        return _VERSION.match(word) is not None or _FILE.search(word) is not None
    return False


def _is_name_before(text: str, start: int, end: int, before: str) -> bool:
    if before == "\u7b2c":  # an ordinal: the third
        return True
    if CJK.match(before):
        return False
    if before == "+":
        return start > 1 and text[start - 2].isalpha()
    low = max(0, start - _MAX_WORD)
    match = _RUN_BEFORE.search(text, low, start)
    run = match[0] if match is not None else ""
    if not run:
        return before == ":" and _HOST.search(text, low, start) is not None
    if len(run) == start - low and low > 0:
        return True
    if before == "_" and _UNDERSCORES.match(run):  # emphasis: __18__
        return not text.startswith(run, end)
    token = text[max(0, start - len(run) - 8) : start - len(run)]
    if token.endswith(":") and run.startswith("//"):
        return True
    latin = [c for c in run if c.isalpha() and not CJK.match(c)]
    if not latin:
        if before == "/" and run[0] in "./~":
            return True
        return _VERSION.match(run + text[start:end]) is not None
    if _COMMAND.match(run) or _CURRENCY_CODE.search(run) or _RESULT_WORD.match(run):
        return False
    if "://" in text[low:start].rpartition(" ")[2]:
        return True
    last = run.rstrip(_JOINERS)
    return bool(last) and (last[-1].isdigit() or (last[-1].isalpha() and not CJK.match(last[-1])))


_HOST: Final = re.compile(r"(?:localhost|\w\.[a-z][\w.]*):\Z")
_EDGE: Final = re.compile(r"[\s\u0e00-\u0eff\u1100-\u11ff\u3000-\u9fff\uac00-\ud7af\uff01-\uff0f\uff1a-\uff20]")

_TO_LAST_EDGE: Final = re.compile(rf"(?s:.*){_EDGE.pattern}")


def left_edge(text: str, at: int, stop: int) -> int:
    """The first place from ``at`` on where a window may begin without cutting a word; ``stop`` where there is none."""
    if at <= 0 or _EDGE.match(text, at - 1) is not None:
        return at
    edge = _EDGE.search(text, at, stop)
    return stop if edge is None else edge.start()


def right_edge(text: str, at: int, start: int) -> int:
    """The last place up to ``at`` where a window may end without cutting a word; ``start`` where there is none."""
    if at >= len(text):
        return len(text)
    if _EDGE.match(text, at) is not None:
        return at
    last = _TO_LAST_EDGE.match(text, start, at)
    return start if last is None else last.end()
