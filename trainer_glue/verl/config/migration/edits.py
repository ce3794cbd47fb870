"""Edits of a YAML file, key by key, that lose no comment: ruamel.yaml's round trip, each comment put in its place.

ruamel.yaml keeps what stands above a key with the key before it, so that it goes when that one goes. Here the lines
above a key are held with the key itself, and those of a key that is left out go to the next one. Values that no edit
names are written as they were read, to the letter: nothing but an empty value is taken for anything but text.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

import yaml
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import CommentMark
from ruamel.yaml.resolver import VersionedResolver
from ruamel.yaml.scalarstring import FoldedScalarString, LiteralScalarString, ScalarString
from ruamel.yaml.tokens import CommentToken

from rewardkit.errors import ConfigError
from trainer_glue.verl.config.written import dig, drop, put
from trainer_glue.verl.config.yaml_file import Loader, key_lines

_REFERENCE: Final = r"(?<=\$\{)%s(?=\})"
_AS_WRITTEN: Final = {
    "": [("tag:yaml.org,2002:null", re.compile("$"))],
    "<": [("tag:yaml.org,2002:merge", re.compile("<<$"))],
}
_ABOVE, _BEHIND, _FIRST = 1, 2, 3
"""Where ruamel.yaml keeps the comments of a key: above it, behind it, and above the first key below it."""


_TEXTS: Final = (LiteralScalarString, FoldedScalarString)
"""Values whose last line ends before anything stands behind it."""


class _Resolver(VersionedResolver):
    @property
    def versioned_resolver(self) -> Any:
        return _AS_WRITTEN


class Edits:
    """A YAML text and the edits to it.

    Args:
        text: a mapping at its root, in a form that can be read.
    """

    def __init__(self, text: str) -> None:
        self._newline = "\r\n" if "\r\n" in text else "\n"
        self._before = text = text.replace("\r\n", "\n")
        self.data: dict[str, Any] = yaml.load(text, Loader)
        """What the file says, edits included."""
        self._lines = key_lines(text)
        self._sections = {path for path in self._lines if isinstance(section := dig(self.data, path), dict) and section}
        self._yaml = YAML()
        self._yaml.Resolver = _Resolver
        self._yaml.preserve_quotes = True
        self._yaml.width = 1 << 30
        self._root: CommentedMap = self._yaml.load(text)
        self._shared = set(_shared(self._root, "", {}))
        self._end = _settle(self._root, [])
        self._places: dict[str, tuple[str | None, int]] = {}
        self._edited = False

    def __contains__(self, path: str) -> bool:
        return path in self._lines

    def line(self, path: str) -> int | None:
        """The line, from 1, that the file has a key on."""
        return self._lines.get(path)

    def __iter__(self) -> Iterator[str]:
        """The dotted keys of the file as it was, sections included, in its order."""
        return iter(self._lines)

    def is_section(self, path: str) -> bool:
        """Whether the file has keys below this one."""
        return path in self._sections

    def drop(self, path: str) -> None:
        """Leave out a key and what stands below it. Comments stay; a section that is empty then goes too."""
        section, name = self._find(path)
        self._remove(path, [*_above(section, name), *_left_behind(section, name), *_lines_of(section[name])])

    def move(self, path: str, new: str) -> None:
        """Put a key, its value and its comments under another name: in its place, or in the other section."""
        section, name = self._find(path)
        above, last = new.rpartition(".")[0], new.rpartition(".")[2]
        value, plain, comments = section[name], dig(self.data, path), section.ca.items.get(name)
        if above == path.rpartition(".")[0]:
            place = list(section).index(name)
            del section[name]
            section.insert(place, last, value)
            _rename(dig(self.data, above) if above else self.data, name, last)
        else:
            self._remove(path, _above(section, name))
            if comments:
                comments[_ABOVE] = None
            section = self._section(above, None)
            section[last] = value
            put(self.data, new, plain)
        if comments:
            section.ca.items[last] = comments

    def replace(self, path: str, value: Any) -> None:
        """Another value for a key."""
        section, name = self._find(path)
        section[name] = self._parsed(value)
        put(self.data, path, value)

    def add(self, path: str, value: Any, *, notes: Sequence[str] = (), at: str | None = None) -> None:
        """A new key at the end of its section, which is made where there is none.

        Args:
            path: the dotted key.
            value: its value.
            notes: comments above it.
            at: an old key in whose place a new section at the root goes.
        """
        self._edited = True
        section, name = self._section(path.rpartition(".")[0], at), path.rpartition(".")[2]
        section[name] = self._parsed(value)
        _put_above(section, name, [f"# {note}\n" for note in notes])
        put(self.data, path, value)

    def rename_references(self, old: str, new: str) -> None:
        """Let `${old}` in values be `${new}`."""
        pattern = re.compile(_REFERENCE % re.escape(old))
        for path in self._lines:
            value = dig(self.data, path)
            if isinstance(value, str) and pattern.search(value):
                section, name = self._find(path)
                written = section[name]
                kind = type(written) if isinstance(written, ScalarString) else str
                section[name] = kind(pattern.sub(lambda _: new, str(written)))
                put(self.data, path, pattern.sub(lambda _: new, value))

    def text(self) -> str:
        """The edited text.

        Raises:
            ConfigError: the file is written in a form that these edits don't reach.
        """
        text = self._before
        if self._edited:
            _indented(self._root, 0)
            text = self._dumped(self._root).rstrip("\n") + "\n" + "".join(self._end)
            if self._dumped(self._yaml.load(self._before)).count("#") < self._before.count("#"):
                raise ConfigError("a comment between braces or brackets would be lost", hint="write it above its key")
        if (yaml.load(text, Loader) or {}) != self.data:
            raise ConfigError(
                "the file is written in a way that can't be edited key by key",
                hint="write it without anchors and with one key a line, and give it again",
            )
        return text.replace("\n", self._newline)

    def _dumped(self, root: CommentedMap) -> str:
        out = io.StringIO()
        self._yaml.dump(root, out)
        return out.getvalue()

    def _find(self, path: str) -> tuple[CommentedMap, str]:
        """The section that a key stands in, and its name there; for a key that an edit will change."""
        for shared in self._shared:
            if path == shared or path.startswith(f"{shared}.") or shared.startswith(f"{path}."):
                why = "an anchor or a merge key (`&`, `*`, `<<`) shares it with another section"
                raise ConfigError(f"{path} (line {self.line(path)}) can't be edited: {why}", hint="write it out twice")
        self._edited = True
        *above, name = path.split(".")
        section = self._root
        for part in above:
            section = section[part]
        return section, name

    def _section(self, path: str, at: str | None) -> CommentedMap:
        """A section, made where there is none: at the end, or in the place of a key that was left out."""
        section = self._root
        for name in filter(None, path.split(".")):
            if not isinstance(section.get(name), CommentedMap):
                before, lines = self._places.get(at or "", (None, 0)) if section is self._root else (None, 0)
                place = list(section).index(before) if before in section else len(section)
                is_new = name not in section
                section.insert(place, name, CommentedMap()) if is_new else section.update({name: CommentedMap()})
                if before is not None and before in section:
                    above = _above(section, before)
                    _put_above(section, name, above[:lines])
                    _put_above(section, before, above[lines:])
                elif is_new and section is self._root and "\n\n" in self._before:
                    _put_above(section, name, ["\n"])
            section = section[name]
        return section

    def _remove(self, path: str, left: list[str]) -> None:
        """Take a key out, and hand the lines that stay to the next key, or to the end of the file."""
        section, name = self._find(path)
        keys = list(section)
        following = keys[keys.index(name) + 1 :]
        del section[name]
        section.ca.items.pop(name, None)
        drop(self.data, path)
        parent = path.rpartition(".")[0]
        if following:
            _put_above(section, following[0], [*left, *_above(section, following[0])])
        elif not section and parent:
            self._remove(parent, [*_above(*self._find(parent)), *_left_behind(*self._find(parent)), *left])
        elif left:
            self._hand_on(parent, left)
        if not parent:
            self._places[path] = (following[0] if following else None, len(left))

    def _hand_on(self, path: str, left: list[str]) -> None:
        """Lines that stay at the end of a section stand above what follows it."""
        while path:
            section, name = self._find(path)
            keys = list(section)
            if following := keys[keys.index(name) + 1 :]:
                _put_above(section, following[0], [*left, *_above(section, following[0])])
                return
            path = path.rpartition(".")[0]
        self._end = [*left, *self._end]

    def _parsed(self, value: Any) -> Any:
        if isinstance(value, dict) and value:
            return CommentedMap((k, self._parsed(v)) for k, v in value.items())
        return self._yaml.load(f"x: {scalar(value)}\n")["x"]


def scalar(value: Any) -> str:
    """A value on one line of YAML."""
    text = _dumped(value)
    if "\n" in text:
        return _dumped(value, style='"')
    # PyYAML writes for YAML 1.1, where 1e-6 is text and needs no quotes
    return text if yaml.load(text, Loader) == value else _dumped(value, style="'")


def _dumped(value: Any, style: str | None = None) -> str:
    text: str = yaml.safe_dump(
        value, default_style=style, default_flow_style=True, width=float("inf"), allow_unicode=True, sort_keys=False
    )
    return text.removesuffix("\n").removesuffix("\n...")


def _rename(data: dict[str, Any], old: str, new: str) -> None:
    """Rename a key in its place."""
    items = [(new if name == old else name, value) for name, value in data.items()]
    data.clear()
    data.update(items)


def _shared(node: Any, path: str, seen: dict[int, str]) -> Iterator[str]:
    """The keys whose value another key has too, by an anchor or a merge."""
    if isinstance(node, CommentedMap | CommentedSeq):
        if id(node) in seen:
            yield from (path, seen[id(node)])
            return
        seen[id(node)] = path
    if isinstance(node, CommentedMap):
        if node.merge:
            yield path
        for name, value in node.items():
            yield from _shared(value, f"{path}.{name}" if path else str(name), seen)


def _settle(section: CommentedMap, before: list[str]) -> list[str]:
    """Put the comments between keys above the key that they precede; those behind the last one are left over.

    Args:
        section: a mapping in lines.
        before: lines that stand before its first key.
    """
    first, section.ca.comment = section.ca.comment, None
    lines = [*before, *(_split(first[1])[1] if first and first[1] else [])]
    for name, value in section.items():
        comments = section.ca.items.get(name) or [None] * 4
        behind, after = _split(comments[_BEHIND], is_behind=not isinstance(value, _TEXTS))
        section.ca.items[name] = [comments[0], None, behind, None]
        _put_above(section, name, [*lines, *_split(comments[_ABOVE])[1]])
        if isinstance(value, CommentedMap) and value and not value.fa.flow_style():
            if value.ca.comment and not comments[_FIRST]:
                comments[_FIRST], value.ca.comment = value.ca.comment[1], None
            value.ca.comment = None
            lines = _settle(value, [*after, *(_split(comments[_FIRST])[1] if comments[_FIRST] else [])])
        else:
            lines = [*after, *_after_list(value)]
    return lines


def _after_list(value: Any) -> list[str]:
    """The lines behind the last entry of a list in lines."""
    if not isinstance(value, CommentedSeq) or not value or value.fa.flow_style():
        return []
    last = len(value) - 1
    if isinstance(value[last], CommentedMap | CommentedSeq):
        return []
    comments = value.ca.items.get(last)
    if not comments or comments[0] is None:
        return []
    comments[0], after = _split(comments[0], is_behind=True)
    return after


def _split(tokens: Any, *, is_behind: bool = False) -> tuple[CommentToken | None, list[str]]:
    """What stands behind a value, and the lines below it."""
    if not tokens:
        return None, []
    tokens = tokens if isinstance(tokens, list) else [tokens]
    lines = "".join(t.value for t in tokens).removesuffix("\n").split("\n")
    behind = lines.pop(0) if is_behind else ""
    return (_token(behind, tokens[0].start_mark.column) if behind else None), [f"{line.strip()}\n" for line in lines]


def _token(text: str, column: int) -> CommentToken:
    return CommentToken(f"{text.rstrip()}\n", CommentMark(column), None)


def _above(section: CommentedMap, name: str) -> list[str]:
    comments = section.ca.items.get(name)
    return [t.value for t in comments[_ABOVE] or ()] if comments else []


def _left_behind(section: CommentedMap, name: str) -> list[str]:
    """What stood behind a key, as a line."""
    comments = section.ca.items.get(name)
    token = comments[_BEHIND] if comments else None
    return [f"# {name} (left out): {token.value.strip('# ')}"] if token else []


def _put_above(section: CommentedMap, name: str, lines: Sequence[str]) -> None:
    comments = section.ca.items.setdefault(name, [None] * 4)
    comments[_ABOVE] = [_token(line, 0) for line in lines] or None


def _lines_of(value: Any) -> Iterator[str]:
    """The comments below a key, each behind the name of the key that it stood behind."""
    if isinstance(value, CommentedMap) and value.ca.items:
        for name, below in value.items():
            yield from (line for line in _above(value, name) if line.strip())
            yield from _left_behind(value, name)
            yield from _lines_of(below)
    elif isinstance(value, CommentedSeq):
        for comments in value.ca.items.values():
            yield from (line for line in _split(comments[0])[1] if line.strip())


def _indented(section: CommentedMap, column: int) -> None:
    """Let the comments above keys stand in the keys' column."""
    for name, value in section.items():
        for token in (section.ca.items.get(name) or [None] * 4)[_ABOVE] or ():
            token.start_mark.column = column
        if isinstance(value, CommentedMap) and not value.fa.flow_style():
            _indented(value, column + 2)
