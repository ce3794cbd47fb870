"""The program that a response gives: its last fenced code block.

Only text is looked at. Whether it is Python at all is found out in the sandbox, since a hostile text can end the
process that parses it.
"""

from __future__ import annotations

import re
import textwrap
from typing import Final, NamedTuple

from rewardkit.answers.limits import MAX_CHARS
from rewardkit.answers.marks import end_of_reasoning, end_of_turn
from rewardkit.batch import Status

MAX_PROGRAM: Final = 100_000
"""Longest program (characters). The longest accepted ones of programming contests have under 65,536."""
MAX_FENCES: Final = 1_000
"""Most code blocks that are begun in one response. Nobody writes so many; a loop that prints fences does."""
PYTHON_TAGS: Final = frozenset({"python", "python3", "py", "py3"})

_FENCE: Final = re.compile(r"[ \t]*+(`{3,}+|~{3,}+)[ \t]*+([^`]*+)")
_FENCE_IN_LINE: Final = re.compile(r"(?<!`)(`{3,}+)[ \t]*+((?:python|py)3?)[ \t]*+", re.IGNORECASE)
_TAG: Final = re.compile(r"[\w+#-]+")


class Block(NamedTuple):
    """A fenced code block that was closed."""

    tag: str
    """The first word behind the opening fence, in small letters; empty where there is none."""
    code: str


class NoProgram(Exception):
    """The response gives no program: the status and the reason of its row."""

    def __init__(self, status: Status, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


def program_of(response: str, *, defining: str = "", fenced: bool = True) -> str:
    """The program that a response gives.

    Of the closed code blocks behind the reasoning those count that are tagged as Python, or where none is those without
    a tag. Of several the last one that defines what is asked for, or else the last one. A block that is never closed
    was cut off, and is no answer.

    Args:
        response: what the model wrote.
        defining: the function, or ``Class().method``, that the tests call; empty where they run the program.
        fenced: whether it must be a code block; False: without any the whole text behind the reasoning is the program.

    Raises:
        NoProgram: there is none, or it is too long.
    """
    if len(response) > MAX_CHARS:
        raise NoProgram(Status.LIMIT, f"the response is longer than {MAX_CHARS:,} characters")
    start = end_of_reasoning(response)
    if start is None:
        raise NoProgram(Status.NO_ANSWER, "the reasoning never ends")
    text = response[start : end_of_turn(response, start)].replace("\r\n", "\n")
    blocks, is_cut = code_blocks(text)
    code = _chosen(blocks, defining)
    if code is None and not fenced and not blocks and not is_cut:
        code = text if text.strip() else None
    if code is None:
        raise NoProgram(Status.NO_ANSWER, _why_none(blocks, is_cut))
    if len(code) > MAX_PROGRAM:
        raise NoProgram(Status.LIMIT, f"the program is longer than {MAX_PROGRAM:,} characters")
    return code


def code_blocks(text: str) -> tuple[list[Block], bool]:
    """The closed blocks of a text in order, and whether another one was begun and never closed.

    An opening fence stands alone on its line, but for its tag; one that is tagged as Python may also end a line. The
    closing fence ends a line. A fence tagged as Python in a block begins it anew: the one before was never closed.

    Raises:
        NoProgram: more than MAX_FENCES are begun.
    """
    begun = 0
    blocks: list[Block] = []
    fence, tag, indent = "", "", 0
    lines: list[str] = []
    for line in text.split("\n"):
        has_fence = "```" in line or "~~~" in line
        if has_fence and fence and (body := line.rstrip()).endswith(fence):
            if body.strip(" \t" + fence[0]):
                lines.append(body[: -len(fence)])
            blocks.append(Block(tag, "\n".join(_unindented(line, indent) for line in lines) + "\n"))
            fence = ""
        elif has_fence and (opening := _opening(line)) is not None and (not fence or opening[1] in PYTHON_TAGS):
            fence, tag, indent = opening
            lines = []
            begun += 1
            if begun > MAX_FENCES:
                raise NoProgram(Status.LIMIT, f"more than {MAX_FENCES:,} code blocks")
        elif fence:
            lines.append(line)
    return blocks, bool(fence)


def _opening(line: str) -> tuple[str, str, int] | None:
    """The fence that a line opens, its tag, and how far it is indented."""
    if (alone := _FENCE.fullmatch(line)) is not None:
        tag = _TAG.search(alone[2])
        return alone[1], "" if tag is None else tag[0].lower(), alone.start(1)
    for inside in _FENCE_IN_LINE.finditer(line):
        if inside.end() == len(line):
            return inside[1], inside[2].lower(), 0
    return None


def _unindented(line: str, indent: int) -> str:
    blank = len(line) - len(line.lstrip(" \t"))
    return line[min(indent, blank) :]


def _chosen(blocks: list[Block], defining: str) -> str | None:
    full = [block for block in blocks if block.code.strip()]
    ours = [b.code for b in full if b.tag in PYTHON_TAGS] or [b.code for b in full if not b.tag]
    if not ours:
        return None
    if defining and len(ours) > 1:
        pattern = _definition(defining)
        return next((code for code in reversed(ours) if pattern.search(code)), ours[-1])
    return ours[-1]


def _definition(name: str) -> re.Pattern[str]:
    name = re.escape(name.rpartition(".")[2])
    return re.compile(rf"^[ \t]*+(?:(?:async[ \t]++)?def[ \t]++{name}\b|{name}[ \t]*+=[^=])", re.MULTILINE)


def _why_none(blocks: list[Block], is_cut: bool) -> str:
    if is_cut:
        return "the code block is never closed"
    if any(block.code.strip() for block in blocks):
        tags = ", ".join(dict.fromkeys(block.tag or "untagged" for block in blocks))
        return f"no code block of Python; those it has are {tags}"
    return "no code block"


def is_body(code: str) -> bool:
    """Whether a program goes on inside the function that its prompt opens: its first line is indented."""
    first = next((line for line in code.split("\n") if line.strip()), "")
    return first[:1] in (" ", "\t")


_FUTURE: Final = re.compile(r"^from[ \t]+__future__[ \t]+import[ \t].*$", re.MULTILINE)


def completed(code: str, prompt: str, header: str) -> str:
    """A program with what its prompt has above it.

    Args:
        code: the program, or only the body of the function that the prompt opens.
        prompt: the code that the response goes on with; empty where there is none.
        header: the part of the prompt that stands above the function.
    """
    if is_body(code) and prompt:
        return f"{prompt.rstrip()}\n{code}"
    code = textwrap.dedent(code) if is_body(code) else code
    if not header.strip():
        return code
    future = _FUTURE.findall(code)
    return "\n".join((*dict.fromkeys(future), header.rstrip(), "", _FUTURE.sub("", code) if future else code))
