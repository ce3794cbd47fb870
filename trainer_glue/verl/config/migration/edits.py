"""Edits of a YAML file's text, key by key: whatever no edit names stays as it is, to the byte.

YAML is read for where each key stands (PyYAML's marks) and never written back as a whole: a writer would lay out lists,
quotes, nulls and comments its own way. Only values that are new, and sections in braces that an edit reaches into, are
written by PyYAML. The edited text is read again and compared with the edited data before it is handed out.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import yaml

from rewardkit.errors import ConfigError
from trainer_glue.verl.config.written import dig, drop, put
from trainer_glue.verl.config.yaml_file import Loader

_REFERENCE: Final = r"(?<=\$\{)%s(?=\})"


@dataclass(frozen=True)
class _Entry:
    """A key of a mapping, with where it and its value stand. Lines count from 0; `end` is the line after the value."""

    key: yaml.ScalarNode
    value: yaml.Node
    line: int
    end: int
    column: int


class Edits:
    """A YAML text and the edits to it, which come into effect in :meth:`text`.

    Args:
        text: a mapping at its root, in a form that can be read.
    """

    def __init__(self, text: str) -> None:
        self._newline = "\r\n" if "\r\n" in text else "\n"
        self._lines = text.replace("\r\n", "\n").split("\n")
        if self._lines[-1] == "":
            self._lines.pop()
        loader = Loader(text.replace("\r\n", "\n"))
        root = loader.get_single_node()
        assert isinstance(root, yaml.MappingNode)
        self.data: dict[str, Any] = loader.construct_document(root)
        """What the file says, edits included."""
        self._entries: dict[str, _Entry] = {}
        self._shared: set[str] = set()
        self._collect(root, "", {})
        self._gone: set[int] = set()  # lines that are left out
        self._changed: dict[int, str] = {}  # lines that read otherwise
        self._inserted: dict[int, list[str]] = {}  # lines that come before a line
        self._added: dict[str, Any] = {}
        self._notes: dict[str, tuple[str, ...]] = {}
        self._anchors: dict[str, int] = {}
        self._braces: set[str] = set()  # sections in braces that are written anew

    def __contains__(self, path: str) -> bool:
        return path in self._entries

    def line(self, path: str) -> int | None:
        """The line, from 1, that the file has a key on."""
        return self._entries[path].line + 1 if path in self._entries else None

    def __iter__(self) -> Iterator[str]:
        """The dotted keys of the file as it was, sections included, in its order."""
        return iter(self._entries)

    def is_section(self, path: str) -> bool:
        """Whether the file has keys below this one."""
        return isinstance(self._entries[path].value, yaml.MappingNode) and bool(self._entries[path].value.value)

    def drop(self, path: str) -> None:
        """Leave out a key and what stands below it. Comments stay; a section that is empty then goes too."""
        if self._braced(path) is None:
            entry = self._entries[path]
            indent = " " * entry.column
            kept = [f"{indent}# {f'{key} (left out): ' if key else ''}{note}" for key, note in self._comments(path)]
            self._inserted.setdefault(entry.line, []).extend(kept)
        self._take(path)
        self._drop_empty(path.rpartition(".")[0])

    def move(self, path: str, new: str) -> None:
        """Put a key, its value and its comments under another name: in its place, or in the other section."""
        if path.rpartition(".")[0] == new.rpartition(".")[0]:
            self._rename(path, new)
            return
        value, notes = dig(self.data, path), [note for _, note in self._comments(path)]
        self._take(path)
        self._drop_empty(path.rpartition(".")[0])
        self.add(new, value, notes=notes)

    def replace(self, path: str, value: Any) -> None:
        """Another value for a key that holds one on its own line."""
        entry, braced = self._entries[path], self._braced(path)
        self._refuse_shared(path)
        put(self.data, path, value)
        if braced is not None:
            self._braces.add(braced)
            return
        start, end = entry.value.start_mark, entry.value.end_mark
        before = self._changed.get(entry.line, self._lines[entry.line])
        shift = len(before) - len(self._lines[entry.line])
        if start.line != entry.line or end.line != entry.line:
            raise self._too_much(path, "its value is not on its own line")
        self._changed[entry.line] = f"{before[: start.column + shift]}{scalar(value)}{before[end.column + shift :]}"

    def add(self, path: str, value: Any, *, notes: Sequence[str] = (), at: str | None = None) -> None:
        """A new key at the end of its section, which is made where there is none.

        Args:
            path: the dotted key.
            value: its value.
            notes: comments above it.
            at: an old key in whose place a new section at the root goes.
        """
        put(self.data, path, value)
        above = path.rpartition(".")[0]
        braced = self._braced(path) or (above if self._is_braces(above) else None)
        if braced is not None:
            self._refuse_shared(braced)
            self._braces.add(braced)
            return
        put(self._added, path, value)
        self._notes[path] = tuple(notes)
        if at is not None:
            self._anchors[path.partition(".")[0]] = self._entries[at].line

    def rename_references(self, old: str, new: str) -> None:
        """Let `${old}` in values be `${new}`."""
        pattern = re.compile(_REFERENCE % re.escape(old))
        for path, entry in self._entries.items():
            value = dig(self.data, path)
            if isinstance(value, str) and pattern.search(value) and isinstance(entry.value, yaml.ScalarNode):
                self.replace(path, pattern.sub(lambda _: new, value))

    def text(self) -> str:
        """The edited text.

        Raises:
            ConfigError: the file is written in a form that these edits don't reach.
        """
        before = copy.deepcopy((self._changed, self._gone, self._inserted))
        for path in self._braces:
            self._write_braces(path)
        self._insert("", self._added)
        out: list[str] = []
        for number in range(len(self._lines) + 1):
            out += self._inserted.get(number, [])
            if number < len(self._lines) and number not in self._gone:
                out.append(self._changed.get(number, self._lines[number]))
        self._changed, self._gone, self._inserted = before
        text = self._newline.join([*out, ""])
        again = Loader(text.replace("\r\n", "\n")).get_single_data()
        if (again or {}) != self.data:
            raise ConfigError(
                "the file is written in a way that can't be edited key by key",
                hint="write it without anchors and with one key a line, and give it again",
            )
        return text

    def _collect(self, node: yaml.MappingNode, prefix: str, seen: dict[int, str]) -> None:
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                continue
            path = f"{prefix}{key.value}"
            if key.tag == "tag:yaml.org,2002:merge" or id(value) in seen:
                self._shared |= {prefix.rstrip("."), path, seen.get(id(value), path)}
                continue
            seen[id(value)] = path
            line, end = key.start_mark.line, _end(value, key)
            while end - 1 > line and not self._lines[end - 1].strip():
                end -= 1
            self._entries[path] = _Entry(key, value, line, end, key.start_mark.column)
            if isinstance(value, yaml.MappingNode):
                self._collect(value, f"{path}.", seen)

    def _rename(self, path: str, new: str) -> None:
        self._refuse_shared(path)
        entry, braced = self._entries[path], self._braced(path)
        self.data = _renamed(self.data, path, new)
        if braced is not None:
            self._braces.add(braced)
            return
        mark = entry.key.start_mark
        before = self._changed.get(mark.line, self._lines[mark.line])
        name = scalar(new.rpartition(".")[2])
        self._changed[mark.line] = before[: mark.column] + name + before[entry.key.end_mark.column :]

    def _is_braces(self, path: str) -> bool:
        entry = self._entries.get(path)
        if entry is None or entry.line in self._gone:
            return False
        return isinstance(entry.value, yaml.MappingNode) and bool(entry.value.flow_style)

    def _braced(self, path: str) -> str | None:
        """The outermost section in braces that a key stands in."""
        names = path.split(".")[:-1]
        above = [".".join(names[: i + 1]) for i in range(len(names))]
        return next((p for p in above if self._is_braces(p)), None)

    def _take(self, path: str) -> None:
        entry, braced = self._entries[path], self._braced(path)
        self._refuse_shared(path)
        drop(self.data, path)
        if braced is not None:
            self._braces.add(braced)
        else:
            self._gone |= set(range(entry.line, entry.end))

    def _drop_empty(self, section: str) -> None:
        """Leave out a section from which everything was taken."""
        entry = self._entries.get(section)
        if entry is not None and dig(self.data, section) == {} and entry.value.value:
            self.drop(section)

    def _comments(self, path: str) -> Iterator[tuple[str, str]]:
        """The comments on and between the lines of a key: the name of the key each stands behind, and its text."""
        if self._braced(path) is not None:
            return
        entry = self._entries[path]
        inside = {p: e for p, e in self._entries.items() if p == path or p.startswith(f"{path}.")}
        at_end = {_last_line(e): (p, e) for p, e in inside.items()}
        text_lines = {n for e in inside.values() for n in _text_lines(e.value)}
        for number in range(entry.line, entry.end):
            line = self._lines[number]
            if number in text_lines or number in self._gone:
                continue
            if line.strip().startswith("#"):
                yield "", line.strip().lstrip("#").strip()
            elif number in at_end and (found := _comment_after(line, at_end[number][1], number)):
                yield at_end[number][0].rpartition(".")[2], found.lstrip("#").strip()

    def _refuse_shared(self, path: str) -> None:
        for shared in self._shared:
            if path == shared or path.startswith(f"{shared}.") or shared.startswith(f"{path}."):
                raise self._too_much(path, "an anchor or a merge key (`&`, `*`, `<<`) shares it with another section")

    def _too_much(self, path: str, why: str) -> ConfigError:
        return ConfigError(f"{path} (line {self.line(path)}) can't be edited: {why}", hint="write it out, once a key")

    def _write_braces(self, path: str) -> None:
        entry = self._entries[path]
        if entry.line in self._gone:
            return
        start, end = entry.value.start_mark, entry.value.end_mark
        span = "\n".join(self._lines[start.line : end.line + 1])[start.column :]
        if start.line != end.line and re.search(r"(^|\s)#", span):
            raise self._too_much(path, "it is in braces, with comments between them")
        first = self._changed.get(start.line, self._lines[start.line])
        shift = len(first) - len(self._lines[start.line])
        head, tail = first[: start.column + shift], self._lines[end.line][end.column :]
        self._changed[start.line] = f"{head}{scalar(dig(self.data, path))}{tail}"
        self._gone |= set(range(start.line + 1, end.line + 1))

    def _insert(self, prefix: str, added: Mapping[str, Any]) -> None:
        """Lines for new keys: each group at the end of the deepest section that the file has."""
        new = {k: v for k, v in added.items() if not self._extends(f"{prefix}{k}", v)}
        for name, value in added.items():
            if name not in new:
                self._insert(f"{prefix}{name}.", value)
        if not new:
            return
        section = prefix.rstrip(".")
        column, number = self._end_of(section)
        for name, value in new.items():
            lines = list(self._rendered(f"{prefix}{name}", value, column))
            at = self._anchors.get(name) if not section else None
            if not section and at is None and any(not x.strip() for x in self._lines):
                lines.insert(0, "")
            self._inserted.setdefault(number if at is None else at, []).extend(lines)

    def _extends(self, path: str, value: Any) -> bool:
        """Whether a section to add to is in the file and stays there."""
        entry = self._entries.get(path)
        if entry is None or not isinstance(value, Mapping) or entry.line in self._gone:
            return False
        if isinstance(entry.value, yaml.MappingNode):
            return True
        if _last_line(entry) != entry.line or entry.value.value not in ("", "null", "~"):
            return False
        start, end = entry.value.start_mark.column, entry.value.end_mark.column
        line = self._lines[entry.line]
        self._changed[entry.line] = (line[:start].rstrip() + line[end:]).rstrip()
        return True

    def _end_of(self, section: str) -> tuple[int, int]:
        """The column of a section's keys, and the line before which another goes."""
        if not section:
            return 0, len(self._lines)
        entry = self._entries[section]
        below = [e for p, e in self._entries.items() if p.rpartition(".")[0] == section]
        return (below[0].column if below else entry.column + 2), entry.end

    def _rendered(self, path: str, value: Any, column: int) -> Iterator[str]:
        indent, name = " " * column, path.rpartition(".")[2]
        yield from (f"{indent}# {note}" for note in self._notes.get(path, ()))
        if isinstance(value, Mapping) and value:
            yield f"{indent}{scalar(name)}:"
            for key, below in value.items():
                yield from self._rendered(f"{path}.{key}", below, column + 2)
        else:
            yield f"{indent}{scalar(name)}: {scalar(value)}"


def scalar(value: Any) -> str:
    """A value on one line of YAML."""
    text = _dumped(value)
    if "\n" in text:
        return _dumped(value, style='"')
    # PyYAML writes for YAML 1.1, where 1e-6 is text and needs no quotes
    return text if yaml.load(text, Loader) == value else _dumped(value, style="'")


def _dumped(value: Any, style: str | None = None) -> str:
    text: str = yaml.safe_dump(
        value,
        default_style=style,
        default_flow_style=True,
        width=float("inf"),
        allow_unicode=True,
        sort_keys=False,
    )
    return text.removesuffix("\n").removesuffix("\n...")


def _renamed(data: Mapping[str, Any], path: str, new: str) -> dict[str, Any]:
    """A copy with one key renamed in its place."""
    head, dot, rest = path.partition(".")
    if not dot:
        return {(new if k == path else k): v for k, v in data.items()}
    return {k: _renamed(v, rest, new.partition(".")[2]) if k == head else copy.copy(v) for k, v in data.items()}


def _last_line(entry: _Entry) -> int:
    """The line on which a key's own text ends: the value's, or for a section in lines the key's."""
    if isinstance(entry.value, yaml.CollectionNode) and not entry.value.flow_style:
        return entry.line
    return entry.end - 1


def _end(node: yaml.Node, key: yaml.Node | None = None) -> int:
    """The line after a node's last."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _end(last[1], last[0]) if isinstance(last, tuple) else _end(last)
    mark = node.end_mark
    if isinstance(node, yaml.ScalarNode) and node.style in ("|", ">"):
        return int(mark.line + (mark.column > 0))
    return max(int(mark.line), int(key.end_mark.line) if key is not None else 0) + 1


def _text_lines(node: yaml.Node) -> range:
    """The lines of a value that hold text, in which `#` begins no comment."""
    if not isinstance(node, yaml.ScalarNode) or node.start_mark.line == node.end_mark.line:
        return range(0)
    first = node.start_mark.line + (node.style in ("|", ">"))
    return range(first, _end(node) - (node.style not in ("|", ">")))


def _comment_after(line: str, entry: _Entry, number: int) -> str | None:
    node = entry.value
    is_block = isinstance(node, yaml.CollectionNode) and not node.flow_style
    start = entry.key.end_mark.column if is_block or node.end_mark.line != number else node.end_mark.column
    found = re.search(r"(?:^|\s)(#.*)$", line[start:])
    return found[1] if found else None
