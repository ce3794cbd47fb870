"""One problem of a data set, and what makes a row a usable one. No file, no parquet, no hub may enter."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from rewardkit.errors import BadRow, DataError, listed

SHOWN_BAD_ROWS: Final = 20
"""Bad rows that an error names; of more it gives the number. A file of another form is bad in every row."""
_ROLES: Final = ("system", "user", "assistant", "tool")

Message = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Problem:
    """What a model is asked, and what its response is graded against.

    Attributes:
        prompt: chat messages, each with `role` and `content`.
        ground_truth: as text; what is not text in the source is JSON.
        extra: what else the source knows of the row; it becomes `extra_info`.
        data_source: the row's own data set, where the source mixes several.
    """

    prompt: Sequence[Message]
    ground_truth: str
    extra: Mapping[str, Any] = field(default_factory=dict)
    data_source: str | None = None

    @property
    def key(self) -> str:
        """Equal for problems that ask the same."""
        return json.dumps([dict(m) for m in self.prompt], sort_keys=True)


@dataclass(frozen=True, slots=True)
class Row:
    """A row as its source gives it, before anything is known to be right with it.

    Attributes:
        where: `FILE:LINE`, or the like for a source without lines.
        value: what stands there, or the BadRow that reading it raised.
    """

    where: str
    value: object


def asked(text: str, system: str | None = None) -> list[Message]:
    """A prompt of one message of the user, behind a system message where there is one."""
    user = {"role": "user", "content": text}
    return [user] if system is None else [{"role": "system", "content": system}, user]


def value_of(row: object, name: str) -> Any:
    """A field of a row, by its name or by its path: `reward_model.ground_truth`.

    A part of the path may be JSON in text, as some exports have it.

    Raises:
        BadRow: the row is not an object, or the field is missing or null.
    """
    if isinstance(row, BadRow):
        raise row
    if not isinstance(row, Mapping):
        raise BadRow(f"is a {type(row).__name__}; expected an object with `{name}`")
    value = row.get(name)
    if value is None and "." in name:
        value = row
        for key in name.split("."):
            value = _object(value).get(key)
    if value is None:
        missing = f"`{name}` is null" if name in row else f"has no `{name}`; its fields are {listed(row)}"
        raise BadRow(missing)
    return value


def _object(value: Any) -> Mapping[str, Any]:
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return {}
    return value if isinstance(value, Mapping) else {}


def text_field(row: object, name: str) -> str:
    """A field of a row that must hold text.

    Raises:
        BadRow: the row is not an object, or the field is missing, not text, or blank.
    """
    value = value_of(row, name)
    if not isinstance(value, str):
        raise BadRow(f"`{name}` is {short(value)}, a {type(value).__name__}; expected text")
    if not value.strip():
        raise BadRow(f"`{name}` is empty")
    return value


def messages_field(row: object, name: str) -> list[Message]:
    """A field of a row that holds a prompt: text, or chat messages that end before the model's turn.

    Raises:
        BadRow: the field is missing, blank or neither, or the model spoke last.
    """
    value = value_of(row, name)
    if isinstance(value, str):
        return asked(text_field(row, name))
    if not isinstance(value, list) or not value:
        raise BadRow(f"`{name}` is {short(value)}; expected text or chat messages")
    messages: list[Message] = []
    for message in value:
        role, content = (message.get("role"), message.get("content")) if isinstance(message, Mapping) else (None, None)
        if role not in _ROLES or not isinstance(content, str):
            raise BadRow(f"`{name}` holds {short(message)}; expected messages with a `role` and a `content` of text")
        messages.append({"role": role, "content": content})
    if messages[-1]["role"] == "assistant":
        raise BadRow(f"`{name}` ends in the assistant's turn, which would be the answer; expected the user's last")
    if not any(m["content"].strip() for m in messages):
        raise BadRow(f"`{name}` is empty")
    return messages


def truth_field(row: object, name: str) -> str:
    """A field of a row that holds a ground truth: text or a number as it stands, lists and objects as JSON.

    Raises:
        BadRow: it is missing or blank.
    """
    value = value_of(row, name)
    if isinstance(value, str):
        return text_field(row, name)
    return as_json(value)


def as_json(value: object) -> str:
    """A value as JSON, with objects that JSON does not know as text.

    Raises:
        BadRow: it holds itself, or text that is not Unicode.
    """
    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
        text.encode()
    except (ValueError, RecursionError) as e:
        raise BadRow(f"{short(value)} can't be written as JSON: {e}") from None
    return text


def refuse(bad: Iterable[tuple[str, BadRow]], total: int) -> DataError:
    """One error that names the bad rows.

    Args:
        bad: where each is, and why it is bad.
        total: rows that were read.
    """
    refused = list(bad)
    lines = [f"{where}: {why}" for where, why in refused[:SHOWN_BAD_ROWS]]
    if len(refused) > SHOWN_BAD_ROWS:
        lines.append(f"and {len(refused) - SHOWN_BAD_ROWS} more")
    rows = "row is" if len(refused) == 1 else "rows are"
    hint = "--on-bad-row skip leaves them out" if len(refused) < total else None
    text = "\n  ".join([f"{len(refused)} of {total} {rows} not usable; nothing was written:", *lines])
    return DataError(text, hint=hint)


def short(value: object) -> str:
    """A value for a message: its repr, cut."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
