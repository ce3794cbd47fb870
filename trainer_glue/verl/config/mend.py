"""The one form of a reward's switch that is not YAML and stands in published files, mended in the text.

    reward_manager:
      custom
      custom_reward_class: LengthBonusRewardManager

A word alone can't have a key beside it. It is the manager's name.
"""

from __future__ import annotations

import re
from typing import Final

_BLOCK: Final = re.compile(
    r"""^(?P<indent>[ ]*)reward_manager:[ ]*(?P<comment>\#.*)?\n
        (?P<blank>(?:[ ]*(?:\#.*)?\n)*)
        (?P<inner>(?P=indent)[ ]+)(?P<word>[A-Za-z_]\w*)(?P<after>[ ]*(?:\#.*)?)\n
        (?=(?:[ ]*(?:\#.*)?\n)*(?P=inner)[ ]*[A-Za-z_]\w*:(?:[ ]|$))""",
    re.VERBOSE | re.MULTILINE,
)


def mend(text: str) -> tuple[str, int | None]:
    """The text with the block as YAML, and the line that was mended: None where there is no such block."""
    block = _BLOCK.search(text)
    if block is None:
        return text, None
    start, end = block.span("word")
    line = text.count("\n", 0, start)
    mended = f"{text[:start]}name: {text[start:end]}{text[end:]}"
    return _aligned(mended, line, len(block["inner"])), line + 1


def _aligned(text: str, line: int, column: int) -> str:
    """The keys below the word, where they are indented further, moved to its column."""
    lines = text.split("\n")
    number = line + 1
    while number < len(lines) and (not lines[number].strip() or _indent(lines[number]) > column):
        number += 1
    below = lines[line + 1 : number]
    further = min((_indent(x) for x in below if x.strip()), default=column) - column
    lines[line + 1 : number] = [x[further:] if x.strip() else x for x in below]
    return "\n".join(lines)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))
