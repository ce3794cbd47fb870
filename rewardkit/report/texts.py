"""Model text made fit to keep: short enough, and encodable whatever a model wrote."""

from __future__ import annotations

from typing import Final

LONGEST: Final = 4_000
"""Characters of a text that are kept; of a longer one its start and its end."""
TAIL: Final = 1_000
"""Of these, so many from the end, where answers stand."""


def kept(text: str, most: int = LONGEST, tail: int = TAIL) -> str:
    """A text as it is kept and shown."""
    if len(text) > most:
        left_out = len(text) - most
        text = f"{text[: most - tail]}\n[... {left_out:,} characters ...]\n{text[-tail:]}"
    return encodable(text)


def encodable(text: str) -> str:
    """The text with a mark for each lone surrogate: JSON can hold them, a page or a terminal can't."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
