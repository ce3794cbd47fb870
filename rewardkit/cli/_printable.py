"""Text of data as it may stand on a terminal: a key or a response must not move the cursor or change a colour."""

from __future__ import annotations

import re
from typing import Final

_CONTROLS: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def printable(text: str) -> str:
    r"""The text with ``\x1b`` and the like for control characters and lone surrogates; line ends and tabs stay."""
    return _CONTROLS.sub(lambda found: ascii(found[0])[1:-1], text)


def json_printable(text: str) -> str:
    r"""The same for JSON: ``\u001b``, which is the same value. Line ends of an indented text stay."""
    return _CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
