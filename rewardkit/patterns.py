"""Regular expressions that a formula names: compiled once, and refused where compiling them would take the memory.

The package `regex` writes a repeat out: ``x{1000000000}`` becomes as many nodes, before any text is read.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Final

MAX_NODES: Final = 100_000
"""Nodes of a pattern with its repeats written out, which take 50 ms and 40 MB. A format has a few dozen."""

_PIECE: Final = re.compile(
    r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]"  # one character, or a set of them
    r"|(?P<open>\()|(?P<close>\))"
    r"|\{(?P<least>\d*)(?:,\d*)?\}"  # a repeat; what is written out is its lower bound
    r"|[*+?]|.",
    re.DOTALL,
)


@lru_cache(maxsize=256)
def compiled(pattern: str) -> Any:
    """The compiled pattern.

    Raises:
        ValueError: it is not a regular expression, or has over ``MAX_NODES`` nodes; the text says what is wrong.
    """
    import regex

    nodes = written_out(pattern)
    if nodes > MAX_NODES:
        raise ValueError(
            f"its repeats are {nodes:,} nodes when they are written out; at most {MAX_NODES:,}: "
            "lower the counts in braces"
        )
    try:
        return regex.compile(pattern)
    except (regex.error, RecursionError, OverflowError, MemoryError) as e:
        raise ValueError(str(e) or type(e).__name__) from None


def written_out(pattern: str) -> int:
    """How many nodes a pattern has once each repeat is as many copies as its lower bound."""
    totals, last = [0], 0  # of each group that is open; of the piece that a repeat would be about
    for piece in _PIECE.finditer(pattern):
        if piece["open"]:
            totals.append(0)
            last = 0
        elif piece["close"]:
            last = totals.pop() if len(totals) > 1 else 0
            totals[-1] += last
        elif piece["least"] is not None:
            copies = max(1, int(piece["least"][:20] or 0))
            totals[-1] += last * (copies - 1)
            last *= copies
        else:
            last = 1
            totals[-1] += 1
    return sum(totals)
