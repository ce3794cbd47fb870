r"""LaTeX or plain formula text to tokens, after the static limits.

Spacing, sizing and font commands vanish here, so that the parser sees mathematics only. ``1{,}000``, ``1\,000`` and
``1,000`` are one number unless the comma stands in brackets, where it separates.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from rewardkit.answers.latex.styles import STYLES
from rewardkit.answers.latex.tree import OverLimit, Unreadable
from rewardkit.answers.limits import MAX_DIGITS, MAX_FORMULA, MAX_TOKENS
from rewardkit.answers.number import fold


class Token(NamedTuple):
    """``kind`` is num, cmd, name, op or text; ``space`` tells whether blank stood before it."""

    kind: str
    text: str
    space: bool


_SPACING: Final = re.compile(
    r"(\\\\)|\\(?:[,;:!>]|quad(?![a-z])|qquad(?![a-z])|displaystyle|textstyle|left(?![a-z])|right(?![a-z])|[bB]igg?[lr]?(?![a-z])"
    r"|(?:tiny|scriptsize|footnotesize|small|normalsize|large|Large|LARGE|huge|Huge|underline|bigl|bigr)(?![a-zA-Z])"
    r"|(?:text)?color(?:box)?\s*\{[^{}]*\}|limits(?![a-z])|nolimits|hfill|noindent|middle|enspace|thinspace|medspace|phantom\{[^{}]*\}|[hv]space\*?\{[^{}]*\})"
    r"|\\\$|\$|~|\\ |\\(?=\s|\Z)|&(?=[=<>])"
)
_DEGREE: Final = re.compile(r"\^\s*\{?\s*\\circ\s*\}?|\\degrees?\b|\\circ(?=\s*[,.;)}\]]|\s*\Z)|°|º")
_UNICODE: Final = {
    ord(k): v
    for k, v in {
        "π": r"\pi ", "∞": r"\infty ", "√": r"\sqrt", "×": r"\times ", "·": r"\cdot ", "∙": r"\cdot ", "≤": r"\le ",
        "≥": r"\ge ", "≠": r"\ne ", "±": r"\pm ", "∪": r"\cup ", "∩": r"\cap ", "∈": r"\in ", "∅": r"\emptyset ",
        "≈": r"\approx ", "φ": r"\phi ", "θ": r"\theta ", "α": r"\alpha ", "β": r"\beta ", "⌊": r"\lfloor ",
        "⌋": r"\rfloor ", "⌈": r"\lceil ", "⌉": r"\rceil ", "²": "^{2}", "³": "^{3}", "½": r"\frac{1}{2}",
        "¼": r"\frac{1}{4}", "¾": r"\frac{3}{4}", "⅓": r"\frac{1}{3}", "⅔": r"\frac{2}{3}", "ℝ": r"\mathbb{R}",
        "ℤ": r"\mathbb{Z}", "ℕ": r"\mathbb{N}", "€": " ", "£": " ", "¥": " ", "∛": r"\sqrt[3]", "∜": r"\sqrt[4]",
        "∧": r"\land ", "∨": r"\lor ", "∉": r"\notin ", "∖": r"\setminus ", "⊤": "T", "或": r"\lor ", "且": r"\land ",
    }.items()
}  # fmt: skip
_TOKEN: Final = re.compile(
    r"""(?P<space>\s+)
      | (?P<repeating> \d*\.\d*\\overline\s*\{\d+\})
      | (?P<scientific> \d+(?:\.\d+)?[eE][-+]?\d{1,4}(?![\w.^]))
      | (?P<num> \d{1,3}(?:(?:\{,\}|,)\d{3})+(?![\d])(?:\.\d+)? | \d+(?:\.\d+)? | \.\d+ )
      | \\(?:mathcal|"""
    + STYLES
    + r""")\s*\{(?P<text>[^{}]*)\}
      | \\begin\{(?P<begin>[a-z]+\*?)\}(?:\{[^{}]*\}|\[[^\]]*\])? | \\end\{(?P<end>[a-z]+\*?)\}
      | \\mathbb\s*\{?(?P<bb>[A-Z])\}?
      | (?P<cmd>\\(?:[a-zA-Z]+|[{}|%&\\]))
      | (?P<name>[a-zA-Z]+)
      | (?P<op>\*\*|<=|>=|!=|==|[-+*/^_=<>(){}\[\],;|!%&:'])
    """,
    re.VERBOSE,
)
_SPACED_GROUP: Final = re.compile(r"(?<=\d)\s*(?:,\s?\\!|\\!,?|\\,)\s*(?=\d{3}(?!\d))")
_RUN: Final = re.compile(rf"\d{{{MAX_DIGITS + 1}}}")


def tokenize(text: str, *, grouped: bool = True) -> list[Token]:
    """The tokens of a formula.

    Args:
        text: the formula, without its ``$ $``.
        grouped: read ``1,000`` as one number; False reads every comma as a separator.

    Raises:
        OverLimit: longer than MAX_FORMULA, more than MAX_TOKENS, or a run over MAX_DIGITS.
        Unreadable: a character that no formula has.
    """
    if len(text) > MAX_FORMULA:
        raise OverLimit("characters")
    text = _SPACED_GROUP.sub("{,}", text)
    text = fold_formula(text, degrees="\\degree ")
    if _RUN.search(text):
        raise OverLimit("digits in a run")
    tokens: list[Token] = []
    at = 0
    space = False
    depth = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise Unreadable(text[at])
        kind = match.lastgroup
        at = match.end()
        if kind == "space":
            space = True
            continue
        body = match[kind] if kind is not None else ""
        if kind == "num" and "," in body and (not grouped or (depth and "{" not in body)):
            first = body.partition(",")[0].rstrip("{")
            at = match.start() + len(first)
            body = first
        if (kind == "op" and body in "([") or (kind == "cmd" and body == "\\{"):
            depth += 1
        elif (kind == "op" and body in ")]") or (kind == "cmd" and body == "\\}"):
            depth = max(0, depth - 1)
        tokens.append(_token(kind or "op", body, space))
        space = False
        if len(tokens) > MAX_TOKENS:
            raise OverLimit("tokens")
    return tokens


def _token(kind: str, body: str, space: bool) -> Token:
    if kind == "num":
        return Token("num", body.replace("{,}", "").replace(",", ""), space)
    if kind == "bb":
        return Token("cmd", "\\mathbb" + body, space)
    return Token(kind, body, space)


_ROOT_OF: Final = re.compile(r"\\root\s*(?:\{\s*(\d{1,3})\s*\}|(\d{1,3}))\s*\\of(?![a-zA-Z])")
_ROW_BREAK: Final = re.compile(
    r"\\\\\s*(?:\*|\[\s*[-+]?[\d.]*\s*\\?[a-z]{2,12}\s*\])|\\(?:cr|tabularnewline|newline)(?![a-zA-Z])"
)
_ANGLE: Final = re.compile(r"m\s*\\angle(?![a-zA-Z])\s*|\\measuredangle(?![a-zA-Z])\s*")
_FULL_STOP: Final = re.compile(r"[.,;]\s*(?=\\\\|\\end)")
_OLD_MATRIX: Final = re.compile(r"\\([pbvBV]?matrix)\s*\{([^{}]*)\}")
_DOTTED: Final = re.compile(r"(\.\d*)\\dot\s*(?:\{(\d)\}|(\d))")
_PERIOD: Final = re.compile(r"(?<![\d.])(0?\.\d*)\((\d{1,40})\)")
_TO: Final = re.compile(r"(?<=\d)(?:\s*\\(?:text|mathrm)\{\s*to\s*\}\s*|\s+to\s+)(?=\d)")
_SPELLINGS: Final = {
    "\\lbrace": "\\{", "\\rbrace": "\\}", "\\colon": ":", "\\nicefrac": "\\frac", "\\sfrac": "\\frac",
}  # fmt: skip


_C: Final = r"(?:\\(?:mathrm|text|mathbf)\s*\{C\}|C)"
_N: Final = r"\s*(?:\{\s*(\d{1,3})\s*\}|(\d{1,3})(?!\d))\s*"
_CHOSEN: Final = re.compile(
    rf"(?:\{{\s*\}}|(?<![\w)}}\]!]))[\^_]{_N}{_C}\s*_{_N}|(?<![A-Za-z\\])(?:{_C}(?:_{_N}\^{_N}|\(\s*(\d{{1,3}})\s*,\s*(\d{{1,3}})\s*\)))"
)
r"""A binomial as schoolbooks write it: ``C_{10}^3``, ``{}_{10}C_3``, ``C(10, 3)``."""


def _binomial(match: re.Match[str]) -> str:
    n, k = (int(digits) for digits in match.groups() if digits is not None)
    return f"\\binom{{{n}}}{{{k}}}" if 2 <= n >= k else match[0]


def _respelled(text: str) -> str:
    r"""One spelling for each thing: ``\root 3 \of 8``, ``C_{10}^3``, ``0.\dot{3}``, ``0.(3)``, ``3 \text{ to } 4``."""
    if "\\" in text:
        text = _ANGLE.sub(r"\\angle ", text)
        if "cases" in text or "aligned" in text or "gathered" in text:
            text = _FULL_STOP.sub("", text)
        for spelling, usual in _SPELLINGS.items():
            text = text.replace(spelling, usual)
        if "matrix" in text or "array" in text:
            text = _ROW_BREAK.sub(r"\\\\", _OLD_MATRIX.sub(r"\\begin{\1}\2\\end{\1}", text))
        text = _ROOT_OF.sub(r"\\sqrt[\1\2]", text)
        text = _DOTTED.sub(r"\1\\overline{\2\3}", text)
    if "C" in text:
        text = _CHOSEN.sub(_binomial, text)
    if "to" in text:
        text = _TO.sub(":", text)
    return _PERIOD.sub(r"\1\\overline{\2}", text) if "(" in text and "." in text else text


def fold_formula(text: str, *, degrees: str = " ") -> str:
    """Formula text in ASCII, without what has no meaning: sizes, spaces, currency; ``degrees`` for a degree sign."""
    text = _respelled(text)
    if not text.isascii():
        text = fold(text.translate(_UNICODE)).replace("\u202f", " ")
    else:
        text = fold(text)
    return _SPACING.sub(_keep_row_break, _DEGREE.sub(lambda _: degrees, text))


def _keep_row_break(match: re.Match[str]) -> str:
    return match[1] or " "
