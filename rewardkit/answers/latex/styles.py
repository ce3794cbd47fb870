r"""Styles around values: ``\mathbf{6}``, ``\textbf{12 cm}``, ``{\bf 6}``, ``\text{A and C}`` say what is inside them.

A style that holds a formula vanishes; one that holds a value with its unit, or values joined by "and", is taken apart;
words stay words. Braces stay, so that ``\frac\mathbf{12}5`` keeps its two arguments.
"""

from __future__ import annotations

import re
from typing import Final

STYLES: Final = (
    r"text(?:bf|it|rm|tt|sf|sc|sl|up|md|normal)?|math(?:bf|it|rm|tt|sf|normal|bfit)|mbox|hbox|bm|boldsymbol|pmb|emph"
    r"|operatorname\*?|bf|it|rm|tt|sf|sl|ensuremath|uline|underline|hl|framebox|mathop"
)
_ROMAN: Final = ("text", "textrm", "textnormal", "mathrm", "rm", "mbox", "hbox", "operatorname", "operatorname*")
r"""Styles in which units are set: ``5\text{ m}`` is five metres, ``5\mathbf{m}`` five times m."""
_UNIT: Final = re.compile(r"[a-zA-Z](?:[a-zA-Z/.·\s]|\^\{?-?\d\}?)*\Z")
_STYLE: Final = re.compile(rf"\\({STYLES})\s*\{{")
_OLD: Final = re.compile(
    r"(?<![a-zA-Z])\{\s*\\(?:(bf|bm|bfseries|boldmath)|it|rm|tt|sf|sl|sc|em|itshape|ttfamily|mit|cal)(?![a-zA-Z])\s*(?!\s*\{)"
)
_DECLARED: Final = re.compile(
    r"\\(?:(?:bf|it|rm|tt|sf|sl|sc)(?![a-zA-Z])(?!\s*\{)|(?:em|bfseries|itshape|ttfamily|boldmath)(?![a-zA-Z]))\s*"
)
_COLOR: Final = re.compile(r"\\(?:(?:text)?color(?:box)?|fcolorbox\s*\{[^{}]*\})\s*\{[^{}]*\}")
_LEAD: Final = re.compile(r"(?:the\s+)?(?:final\s+)?answer(?:\s+is)?\s*:?\s*(?=\S)", re.IGNORECASE)
_UNBRACED: Final = re.compile(r"\\((?:math|text)[a-z]{2}|bm|boldsymbol|pmb)(?![a-zA-Z])\s*(\d+|[a-zA-Z])(?![a-zA-Z])")
_COMMANDS: Final = re.compile(r"\\[a-zA-Z]+|\b(?:sin|cos|tan|log|ln|pi|sqrt)(?![a-z])")
_WORD: Final = re.compile(r"[^\W\d_]{2,}")
_MEASURED: Final = re.compile(
    r"((?:[A-Za-z]\w?\s*=\s*)?[-+]?\s*(?:\\?\$)?\s*(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:\s*/\s*\d+|\s+\d+\s*/\s*\d+|:\d\d)?)"
    r"((?:\s|~|\\[ ,;:])*)((?![eE]\d)[^\W\d_][^\d\\{}=]*(?:\^\{?[23]\}?)?\s*)\Z"
)
_CONNECTOR: Final = re.compile(r"(\s*[,;]?\s*(?:\b(?:and|or)\b|\\?&|[,;]|或|和|、|；)\s*)")
_LETTER: Final = re.compile(r"\(?[A-Z]\)?\Z")
_BOTH: Final = re.compile(r"\s*(?:both|either)\s+", re.IGNORECASE)
_MAX_STYLES: Final = 64


def unstyled(text: str) -> str:
    """The text without styles around its values; unchanged where there are none, or more than 64."""
    if "\\" not in text:
        return text
    text = _UNBRACED.sub(r"\\\1{\2}", _COLOR.sub("", text))
    text = _DECLARED.sub("", _OLD.sub(lambda old: "\\mathbf{" if old[1] else "\\text{", text))
    styles = list(_STYLE.finditer(text))
    if not styles or len(styles) > _MAX_STYLES:
        return text
    for style in reversed(styles):  # the innermost come before what is around them
        close = _closing(text, style.end())
        if close < 0:
            return text
        inner = _content(text[style.end() : close], style[1], text[: style.start()].rstrip())
        if inner is not None:
            text = text[: style.start()] + inner + text[close + 1 :]
    return text


def _closing(text: str, at: int) -> int:
    """Where the brace closes that was opened right before, or -1."""
    depth = 1
    for i in range(at, len(text)):
        if text[i] in "{}" and text[i - 1] != "\\":
            depth += 1 if text[i] == "{" else -1
            if not depth:
                return i
    return -1


def _content(inner: str, style: str, before: str) -> str | None:
    """What stands for a styled text; None where it stays as it is."""
    body = inner.strip()
    if not any(c.isalnum() and c.isascii() for c in body):
        return None
    lead = _LEAD.match(body)
    if lead is not None:
        body = body[lead.end() :]
    measured = _MEASURED.match(body)
    if measured is not None and (_CONNECTOR.search(measured[3]) or not _is_unit(style, measured)):
        measured = None
    if measured is None and not _WORD.search(_COMMANDS.sub(" ", body)):
        if style in _ROMAN and _UNIT.match(body):
            return None
        return body if body.isdigit() and before[-1:].isdigit() else f"{{{body}}}"
    return _joined(body) if measured is None else f"{{{measured[1]}}}\\text{{ {measured[3]}}}"


def _is_unit(style: str, measured: re.Match[str]) -> bool:
    """Whether letters behind a number are a unit; one letter right behind it, or in bold, is a variable."""
    return _WORD.search(measured[3]) is not None or (
        bool(measured[2]) and (style in _ROMAN or style.startswith("text"))
    )


def _joined(body: str) -> str | None:
    """``A and C``, ``2 cm or 3 cm``: a list of values in words; None where any of them is none."""
    parts = _CONNECTOR.split(_BOTH.sub("", body))
    if len(parts) < 3:
        return None
    made = []
    for i, part in enumerate(parts):
        if i % 2:
            made.append(part if part.strip() in ",;" else f"\\text{{{part}}}")
        elif not part and 0 < i < len(parts) - 1:
            continue
        elif (measured := _MEASURED.match(part)) is not None:
            made.append(f"{{{measured[1]}}}\\text{{ {measured[3]}}}")
        elif part and (_LETTER.match(part) or not _WORD.search(_COMMANDS.sub(" ", part))):
            made.append(f"{{{part}}}")
        else:
            return None
    return "".join(made)
