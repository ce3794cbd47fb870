"""The fenced blocks of a page, and the commands of a console block. Nothing is run here."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

_BLOCK = re.compile(r"^```(?P<kind>\w+)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
_SHOWN = re.compile(r"\n\n```text\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
_SAVED = re.compile(r"[Ss]ave this as\s`([^`\n]+)`[^\n]*:\n\n$")
_VARIABLE = re.compile(r"([A-Z][A-Z0-9_]*)=(.*)", re.DOTALL)


@dataclass(frozen=True)
class Command:
    """One command line, its backslashes joined and its comment left out."""

    line: int
    text: str
    words: tuple[str, ...]
    variables: dict[str, str]


@dataclass(frozen=True)
class Block:
    """A fenced block, the file that the page says it is, and the output that the page shows right after it."""

    page: str
    line: int
    kind: str
    body: str
    shown: str | None = None
    file: str | None = None

    @property
    def name(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def commands(self) -> list[Command]:
        commands = []
        number = self.line
        for joined in re.findall(r"(?:.*\\\n)*.*\n", self.body):
            number, here = number + joined.count("\n"), number + 1
            words = shlex.split(joined.replace("\\\n", " "), comments=True)
            variables = {}
            while words and (m := _VARIABLE.fullmatch(words[0])):
                variables[m[1]] = m[2]
                words.pop(0)
            if words:
                commands.append(Command(here, joined.strip(), tuple(words), variables))
        return commands


def blocks(page: Path) -> list[Block]:
    """The blocks of a page, in order; one of another kind than `text` may have its output right after it."""
    text = page.read_text(encoding="utf-8")
    all_blocks = []
    for m in _BLOCK.finditer(text):
        after = _SHOWN.match(text, m.end())
        shown = after["body"] if after and m["kind"] != "text" else None
        line = text.count("\n", 0, m.start()) + 1
        saved = _SAVED.search(text, 0, m.start())
        all_blocks.append(Block(page.name, line, m["kind"], m["body"], shown, saved[1] if saved else None))
    return all_blocks


def shows(shown: str, came: str) -> str | None:
    """What differs between the output of a page and what came; None where nothing does.

    A page may leave out lines before and after; within, `...` stands for any text. Blanks at the ends of lines don't
    count.
    """
    want, got = (re.sub(r"[ \t]+$", "", text, flags=re.MULTILINE).strip("\n") for text in (shown, came))
    pattern = ".*?".join(re.escape(part) for part in want.split("..."))
    if re.search(rf"^{pattern}$", got, re.MULTILINE | re.DOTALL):
        return None
    return f"the page shows\n{want}\n\nand the command says\n{got}"
