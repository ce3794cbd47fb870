"""What looks at the response's text: string methods, `in`, `len`, and regular expressions.

`rewardkit.matches` runs the `regex` package, so a pattern of `re` is checked for what the two read differently.
"""

from __future__ import annotations

import re
from typing import Final

from rewardkit.expression import Condition, Reward, Verdict
from rewardkit.terms import contains, ends_with, length, match_count, matches, starts_with, tag_count
from rewardkit.translate.values import UNSEEN, Found, Level, Number, Pattern, Text, Truth, Unknown, Value, Words

FLAGS: Final = {
    "DOTALL": "s", "S": "s", "MULTILINE": "m", "M": "m", "IGNORECASE": "i", "I": "i", "VERBOSE": "x", "X": "x",
    "ASCII": "a", "A": "a", "UNICODE": "", "U": "",
}  # fmt: skip
_CLASSES: Final = re.compile(r"\\[wWdDsSbB]")
_ONLY_REGEX: Final = re.compile(r"\[\[:|\{[eids<]|\(\?[a-z]*e[a-z]*\)")
"""POSIX classes and fuzzy counts: plain text to `re`, not to `regex`."""
_INLINE: Final = re.compile(r"\(\?([aimsx]+)\)")
_LONGEST_TAG: Final = 64
REGEX_DIFFERS: Final = (
    "\\w, \\d, \\s, \\b and case follow the regex package, which differs from re on a few characters (², combining "
    "marks, U+001C to U+001F)"
)


def found_by(pattern: Pattern, how: str, text: Text) -> tuple[Value, str]:
    """What a regular expression finds in the response, and what to say of it; ``how`` is the function of `re`."""
    raw, flags = pattern.raw, pattern.flags
    try:
        re.compile(f"(?{flags})" + raw if flags else raw)
    except (re.error, RecursionError, OverflowError):
        return Unknown(f"{raw!r} is no pattern of re"), ""
    if _ONLY_REGEX.search(raw):
        return Unknown(f"{raw!r} means something else to the regex package, which runs patterns here"), ""
    inline = _INLINE.match(raw)
    body = raw
    if inline is not None:
        body, flags = raw[inline.end() :], flags + inline[1]
    end = "\n)" if "x" in flags else ")"
    anchored = body.startswith(("^", "\\A")) and "|" not in body and "m" not in flags
    if how == "fullmatch":
        body = f"\\A(?:{body}{end}\\Z"
    elif how == "match" and not anchored:
        body = f"\\A(?:{body}{end}"
    written = f"(?{''.join(sorted(set(flags)))}){body}" if flags else body
    level, says = Level.EQUAL, ""
    if _CLASSES.search(raw) or "i" in flags:
        level, says = Level.NEARLY, REGEX_DIFFERS
    if text.stripped or text.lower:
        level, says = Level.SIMILAR, "the formula looks at the response as it is, not stripped or in lower case"
    if text.tail is not None:
        level, says = max(level, Level.SIMILAR), says or "the formula looks at the whole response, not at its end"
    return Found(written, raw, tail=text.tail, level=level), says


def holds(found: Found) -> Truth:
    """Whether anything is found."""
    node = contains(found.literal) if found.literal is not None else matches(found.pattern)
    return Truth(node, present=found, level=found.level)


def count(found: Found) -> Number:
    """How often it is found."""
    return Number(((match_count(found.pattern, cap=UNSEEN), 1.0),), level=found.level)


def count_compared(found: Found, op: str, n: float) -> Truth | None:
    """A count against a whole number; None where no node says it."""
    if n != int(n) or not 0 <= n < UNSEEN:
        return None
    k, level = int(n), found.level
    at_least: dict[int, Condition] = {}

    def least(times: int) -> Condition:
        if times not in at_least:
            one = holds(found).node
            at_least[times] = one if times == 1 else match_count(found.pattern, cap=times) >= times
        return at_least[times]

    if op in ("<", ">=", "<=", ">"):
        times = k + (op in ("<=", ">"))
        if times == 0:
            return None
        return Truth(least(times) if op in (">", ">=") else ~least(times), level=level)
    if op not in ("==", "!="):
        return None
    if k == 0:
        node: Condition = ~least(1)
    elif k == 1 and found.literal is not None and len(found.literal) <= _LONGEST_TAG:
        once: Reward = tag_count([found.literal])
        return Truth(once >= 1 if op == "==" else once < 1, once if op == "==" else None, level=level)
    else:
        node = (least(k)) & ~least(k + 1)
    return Truth(node if op == "==" else ~node, level=level)


def literal(text: str) -> Found:
    """What `str.count` counts."""
    return Found(re.escape(text), text, literal=text)


def length_of(value: Value) -> tuple[Number, str] | None:
    """`len(...)` of the response or its words."""
    if isinstance(value, Words):
        return Number(((length(), 1.0),), level=value.level), ""
    if isinstance(value, Text) and value.tail is None:
        node = Number(((length(unit="characters"), 1.0),), level=value.level)
        if value.stripped:
            return Number(node.parts, level=Level.SIMILAR), "the formula counts blanks at the ends, too"
        return node, ""
    return None


def inside(needle: str, text: Text) -> tuple[Truth, str]:
    """`needle in text`."""
    level, says = _unchanged(text, needle)
    if text.lower:
        return Truth(matches(f"(?i){re.escape(needle)}"), level=max(level, Level.NEARLY)), (
            says or "a pattern without case takes ſ for s"
        )
    return Truth(contains(needle), level=level), says


def begins(texts: tuple[str, ...], text: Text) -> tuple[Truth, str]:
    """`text.startswith(...)`."""
    node: Verdict | None = None
    for beginning in texts:
        if "l" in text.stripped:
            one = starts_with(beginning)
        else:
            one = matches(f"\\A{re.escape(beginning)}")
        node = one if node is None else node | one
    assert node is not None
    if text.lower or text.tail is not None or ("r" in text.stripped and any(t != t.rstrip() for t in texts)):
        return Truth(node, level=Level.SIMILAR), "the formula looks at the response as it is"
    return Truth(node), ""


def ends(texts: tuple[str, ...], text: Text) -> tuple[Truth, str]:
    """`text.endswith(...)`."""
    if "r" in text.stripped and not text.lower and all(len(t) == 1 and t.strip() for t in texts):
        node: Verdict = ends_with("".join(texts), min_words=0)
        return Truth(node, level=Level.NEARLY), "ends_with() also looks past characters of no width (U+200B)"
    choices = "|".join(map(re.escape, texts))
    group = f"(?:{choices})" if len(texts) > 1 else choices
    if all(len(t) == 1 for t in texts) and len(texts) > 1:
        group = f"[{''.join(map(re.escape, texts))}]"
    if text.lower:
        return Truth(matches(f"(?i){group}\\Z"), level=Level.SIMILAR), "the formula looks at the response as it is"
    if "r" in text.stripped:
        return Truth(matches(f"{group}\\s*\\Z"), level=Level.NEARLY), REGEX_DIFFERS
    return Truth(matches(f"{group}\\Z")), ""


def _unchanged(text: Text, needle: str) -> tuple[Level, str]:
    if text.tail is not None:
        return Level.SIMILAR, "the formula looks at the whole response, not at its end"
    if text.stripped and needle != needle.strip():
        return Level.SIMILAR, "the formula looks at the response as it is, not stripped"
    return Level.EQUAL, ""
