"""A launch script as people post it, `python -m verl.trainer.main_ppo KEY=VALUE ...`, as the YAML that it stands for.

Only what such scripts use of a shell is read: quotes, continued lines, comments, assignments, `$NAME`, `${NAME}`,
`${NAME:-default}` and `$((...))` over whole numbers. Nothing is run. A default is taken, and said so. A variable that
the script doesn't set is left to the environment of the run, as `${oc.env:NAME}`.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

from rewardkit.errors import ConfigError
from trainer_glue.verl.config.overrides import parse_overrides
from trainer_glue.verl.config.written import put
from trainer_glue.verl.config.yaml_file import MAIN

_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*=")
_OVERRIDE: Final = re.compile(r"[+~]{0,2}[A-Za-z_][\w.@/]*(?:=|\Z)")
_VARIABLE: Final = re.compile(r"\$(?:(\w+)|\{(\w+)\})")
_DEFAULT: Final = re.compile(r"\$\{(\w+):?[-=]")
_SUM: Final = re.compile(r"\$\(\(([^()`]*+(?:\([^()`]*+\)[^()`]*+)*+)\)\)")
_DO: Final[Mapping[type, Callable[[int, int], int]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.floordiv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_ENDS: Final = frozenset({">", ">>", "2>&1", "&>", "|", "||", "&&", "&"})
"""What ends the arguments of a command."""
_LARGEST: Final = 1 << 63


@dataclass(frozen=True, slots=True)
class Script:
    """What a launch script says.

    Attributes:
        text: YAML of its keys, in their order.
        lines: the line of each key in the script.
        notes: what the YAML can't say.
    """

    text: str
    lines: Mapping[str, int]
    notes: tuple[str, ...] = ()


def read_script(text: str, path: Path, config_folder: Path) -> Script:
    """The arguments of the first line that starts verl.

    Args:
        text: the script.
        path: where it is, for messages.
        config_folder: verl's config folder, whose sub-folders are the config groups.

    Raises:
        ConfigError: a quote that never ends, or no arguments.
    """
    shell = _Shell(path)
    try:
        for number, words in shell.commands(text):
            if any(MAIN.search(word) for word in words):
                return _read(words, number, shell, config_folder)
            shell.assign(words)
    except RecursionError:
        raise ConfigError(f"{path}: a variable's default is nested too deep", hint="write its value") from None
    raise ConfigError(
        f"{path} starts no verl", hint="expected a line such as python3 -m verl.trainer.main_ppo KEY=VALUE"
    )


def _read(words: list[str], number: int, shell: _Shell, config_folder: Path) -> Script:
    main = next(i for i, word in enumerate(words) if MAIN.search(word))
    data: dict[str, Any] = {}
    lines: dict[str, int] = {}
    notes = [*shell.notes]
    for i, word in enumerate(words[main + 1 :], main + 1):
        line = shell.lines[i]
        if word in _ENDS:
            break
        if not _OVERRIDE.match(word):
            of_whom = "an option of hydra's" if word.startswith("-") else "no KEY=VALUE"
            notes.append(f"line {line}: {word} is {of_whom}: give it to the run, if it matters")
            continue
        parsed, bad = parse_overrides([word], config_folder)
        if bad:
            raise ConfigError(f"{shell.path}:{line}: {word} {bad[0].message}")
        override = parsed[0]
        if override.action in ("delete", "group"):
            notes.append(f"line {line}: give the run {word}: a file can't say it")
        else:
            put(data, override.key, override.value)
            lines[override.key] = line
    if not data:
        raise ConfigError(f"{shell.path}:{number} starts verl without KEY=VALUE arguments: nothing is to migrate")
    return Script(yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=1000), lines, tuple(notes))


@dataclass
class _Shell:
    path: Path
    variables: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    lines: dict[int, int] = field(default_factory=dict)
    """The line of each word of the last command."""

    def assign(self, words: list[str]) -> None:
        for word in words[1:] if words[:1] in (["export"], ["local"], ["declare"]) else words:
            if not _ASSIGNMENT.match(word):
                return
            name, _, value = word.partition("=")
            self.variables[name] = value

    def commands(self, text: str) -> Iterator[tuple[int, list[str]]]:
        """The words of each command, variables filled in, and its line."""
        at, number = 0, 1
        while at < len(text):
            words, begun, (at, number) = self._words(text, at, number)
            if words:
                yield begun, words

    def _words(self, text: str, at: int, number: int) -> tuple[list[str], int, tuple[int, int]]:
        words: list[str] = []
        self.lines = {}
        word: list[str] | None = None
        begun = number

        def close() -> None:
            nonlocal word
            if word is not None:
                self.lines[len(words)] = number
                words.append("".join(word))
                word = None

        while at < len(text):
            c = text[at]
            if c == "\\" and text[at + 1 : at + 2] == "\n":
                close()
                at, number = at + 2, number + 1
            elif c == "\n" or (c == ";" and word is None):
                close()
                at, number = at + 1, number + (c == "\n")
                if words:
                    break
                begun = number
            elif c in " \t\r":
                close()
                at += 1
            elif c == "#" and word is None:
                end = text.find("\n", at)
                end = len(text) if end < 0 else end
                # A comment within a continued command ends it for a shell; that it goes on is what its author means.
                continued = bool(words) and text[at:end].rstrip().endswith("\\")
                at, number = (end + 1, number + 1) if continued else (end, number)
            elif c in "'\"":
                end = _closing(text, at)
                if end < 0:
                    raise ConfigError(f"{self.path}:{number}: a quote {c} never ends")
                part = text[at + 1 : end]
                word = [*(word or []), part if c == "'" else self._filled(re.sub(r'\\(["\\$`\n])', r"\1", part))]
                at, number = end + 1, number + part.count("\n")
            elif c == "$" and (end := _expansion(text, at)) > at:
                word = [*(word or []), self._filled(text[at:end])]
                at = end
            else:
                word = [*(word or []), text[at + 1 : at + 2] if c == "\\" else c]
                at += 2 if c == "\\" else 1
        close()
        return words, begun, (at, number)

    def _filled(self, text: str) -> str:
        """A text with everything after a `$` filled in."""
        parts: list[str] = []
        at = 0
        while (begin := text.find("$", at)) >= 0:
            parts.append(text[at:begin])
            at = _expansion(text, begin)
            parts.append(self._expanded(text[begin:at]) if at > begin else "$")
            at = max(at, begin + 1)
        return "".join([*parts, text[at:]])

    def _expanded(self, text: str) -> str:
        if match := _SUM.fullmatch(text):
            return self._sum(match)
        if match := _VARIABLE.fullmatch(text):
            return self._variable(match)
        match = _DEFAULT.match(text)
        assert match is not None
        default = text[match.end() : -1]
        if match[1] in self.variables:
            return self.variables[match[1]]
        if default[:1] in "'\"" and default[:1] == default[-1:]:
            default = default[1:-1]
        value = self._filled(default)
        self.notes.append(f"{match[1]} is {value!r}, the script's default; the script would heed the environment")
        return value

    def _variable(self, match: re.Match[str]) -> str:
        name = match[1] or match[2]
        if name in self.variables:
            return self.variables[name]
        if name.isdigit():
            self.notes.append(f"${name} is an argument of the script: write its value")
        return f"${{oc.env:{name}}}"

    def _sum(self, match: re.Match[str]) -> str:
        text = _VARIABLE.sub(self._variable, match[1])
        text = re.sub(r"\b[A-Za-z_]\w*\b", lambda m: self.variables.get(m[0], m[0]), text)
        try:
            return str(_value(ast.parse(text.strip(), mode="eval").body))
        except (ValueError, SyntaxError, ZeroDivisionError, RecursionError, MemoryError):
            raise ConfigError(
                f"{self.path}: $(({match[1]})) can't be worked out", hint="write its value into the script"
            ) from None


def _value(node: ast.expr) -> int:
    match node:
        case ast.Constant(value=int(value)) if type(value) is int and abs(value) < _LARGEST:
            return value
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _DO:
            value = _DO[type(op)](_value(left), _value(right))
            if abs(value) < _LARGEST:
                return value
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand)
    raise ValueError


def _expansion(text: str, at: int) -> int:
    """Where what begins with a `$` ends; its own place where a `$` is nothing but one."""
    if match := _SUM.match(text, at) or _VARIABLE.match(text, at):
        return match.end()
    if _DEFAULT.match(text, at):
        depth = 0
        for end in range(at + 1, min(len(text), at + 10_000)):
            depth += (text[end] == "{") - (text[end] == "}")
            if depth == 0:
                return end + 1
    return at


def _closing(text: str, opening: int) -> int:
    quote = text[opening]
    end = text.find(quote, opening + 1)
    while quote == '"' and end > 0 and (end - len(text[:end].rstrip("\\"))) % 2:
        end = text.find(quote, end + 1)
    return end
