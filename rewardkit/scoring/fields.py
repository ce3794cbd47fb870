"""What a row of a data file says, under the names that people use: the one place that knows verl's columns.

==============  =====================  =================================================
field           its own name           also read, where the row lacks that name
==============  =====================  =================================================
response        `response`             `responses` (text, or a list of one), `output`
ground truth    `ground_truth`         `reward_model.ground_truth`, `gts`
prompt          `prompt`               `input`; a list of chat messages becomes text
group           `group`                `uid`
turns           `turns`                `messages`; a list of chat messages
==============  =====================  =================================================

`data_source`, `extra_info`, `truncated` and `tokens` have one name. A row's own name wins; two of the others that
disagree are an error, never a guess. Of the `uid` in a dump of verl's, `{prompt}_{rollout}_{output}`, the prompt's part
is the group.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Final

from rewardkit.errors import BadRow, listed
from rewardkit.scoring.tokens import encoder
from rewardkit.turns import Turn, turns_of

RawRow = Mapping[str, Any]
Path = tuple[str, ...]
SPELLINGS: Final[Mapping[str, tuple[Path, ...]]] = {
    "response": (("response",), ("responses",), ("output",)),
    "ground_truth": (("ground_truth",), ("reward_model", "ground_truth"), ("gts",)),
    "prompt": (("prompt",), ("input",)),
    "data_source": (("data_source",),),
    "extra_info": (("extra_info",),),
    "truncated": (("truncated",),),
    "tokens": (("tokens",),),
    "group": (("group",), ("uid",)),
    "turns": (("turns",), ("messages",)),
    "chat": (("prompt",), ("input",)),
}
"""From a field to where it may stand in a row, its own name first."""
OPTIONAL: Final = frozenset({"ground_truth", "prompt", "data_source", "extra_info", "truncated", "turns", "chat"})
"""Fields that some rows of a file may lack."""


def column(rows: Sequence[RawRow], field: str) -> list[Any]:
    """A field of many rows, checked; None where a row doesn't have it and need not.

    Raises:
        BadRow: through :class:`BadRowAt`, for the first row whose field is missing or of the wrong type.
    """
    own, *others = SPELLINGS[field]
    values = [row.get(own[0]) for row in rows]
    check = _CHECKS.get(field)
    i = 0
    try:
        if None in values and (others := [path for path in others if any(path[0] in row for row in rows)]):
            for i, value in enumerate(values):
                if value is None:
                    values[i] = _other(rows[i], field, others)
        if field == "tokens" and None in values and (encode := encoder()) is not None:
            lacking = [j for j, value in enumerate(values) if value is None]
            texts = column([rows[j] for j in lacking], "response")
            for j, ids in zip(lacking, encode(texts), strict=True):
                values[j] = ids
        if check is not None and not (field == "response" and all(type(v) is str for v in values)):
            for i, value in enumerate(values):
                values[i] = check(value, rows[i])
    except BadRow as why:
        raise BadRowAt(i, why) from None
    return values


def group_of(row: RawRow) -> Any:
    """A row's group as the file has it; None where it has none."""
    own, uid = row.get("group"), row.get("uid")
    if own is not None or "output" not in row or not isinstance(uid, str):
        return uid if own is None else own
    prompt, *rest = uid.rsplit("_", 2)
    return prompt if len(rest) == 2 and all(part.isdecimal() for part in rest) else uid


def groups_of(rows: Sequence[RawRow], prompts: Sequence[Any]) -> list[Hashable]:
    """For each row its group, or else its prompt; None where it has neither."""
    groups = [group_of(row) for row in rows]
    return [p if g is None else g for g, p in zip(groups, prompts, strict=True)]


class BadRowAt(BadRow):
    """A bad row and its place among the rows that were given."""

    def __init__(self, index: int, why: BadRow) -> None:
        super().__init__(str(why))
        self.index = index


def _other(row: RawRow, field: str, spellings: Sequence[Path]) -> Any:
    present = [(path, value) for path in spellings if (value := _get(row, path)) is not None]
    if not present:
        return None
    (first, value), *rest = present
    for path, other in rest:
        if other != value:
            raise BadRow(f"has both {_name(first)} and {_name(path)}, and they differ; name one of them `{field}`")
    return value


def _get(row: RawRow, path: Path) -> Any:
    value: Any = row
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _name(path: Path) -> str:
    return f"`{'.'.join(path)}`"


def _came(value: object) -> str:
    text = repr(value)
    return f"{text if len(text) <= 60 else text[:57] + '...'}, a {type(value).__name__}"


def _response(value: Any, row: RawRow) -> str:
    if isinstance(value, str):
        return value
    if value is None:
        raise BadRow(f"has no `response` (nor `responses`, `output`); its fields are {listed(row)}")
    if isinstance(value, list) and all(isinstance(v, str) for v in value):
        if len(value) == 1:
            return str(value[0])
        raise BadRow(f"`responses` holds {len(value)} texts; expected one response a row")
    raise BadRow(f"`response` is {_came(value)}; expected text")


def _prompt(value: Any, row: RawRow) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(m, Mapping) for m in value):
        return "\n\n".join(m["content"] for m in value if isinstance(m.get("content"), str))
    raise BadRow(f"`prompt` is {_came(value)}; expected text or a list of chat messages")


def _chat(value: Any, row: RawRow) -> Any:
    _prompt(value, row)
    return value


def _data_source(value: Any, row: RawRow) -> str | None:
    if value is None or isinstance(value, str):
        return value
    raise BadRow(f"`data_source` is {_came(value)}; expected text")


def _extra_info(value: Any, row: RawRow) -> Mapping[str, Any]:
    if value is None:
        return {}
    if isinstance(value, Mapping):
        return value
    raise BadRow(f"`extra_info` is {_came(value)}; expected an object")


def _truncated(value: Any, row: RawRow) -> bool | None:
    if value is None or isinstance(value, bool):
        return value
    raise BadRow(f"`truncated` is {_came(value)}; expected true or false")


def _tokens(value: Any, row: RawRow) -> list[int]:
    if isinstance(value, list) and all(type(t) is int for t in value):
        return value
    if value is None:
        raise BadRow(
            "has no `tokens`, which the formula needs: token ids of the response; --tokenizer MODEL makes them"
        )
    raise BadRow(f"`tokens` is {_came(value)}; expected a list of token ids")


def _turns(value: Any, row: RawRow) -> Sequence[Turn] | None:
    if value is None:
        return None
    if isinstance(value, list) and all(isinstance(m, Mapping) and "role" in m for m in value):
        return turns_of(value)
    raise BadRow(f"`turns` is {_came(value)}; expected a list of chat messages with `role` and `content`")


def _group(value: Any, row: RawRow) -> str | int:
    value = group_of(row)
    if isinstance(value, str) or type(value) is int:
        return value
    if value is None:
        raise BadRow("has no `group` (nor `uid`), which the formula needs: equal for the responses of one prompt")
    raise BadRow(f"`group` is {_came(value)}; expected text or an integer")


_CHECKS: Final[Mapping[str, Callable[[Any, RawRow], Any]]] = {
    "response": _response,
    "prompt": _prompt,
    "data_source": _data_source,
    "extra_info": _extra_info,
    "truncated": _truncated,
    "tokens": _tokens,
    "group": _group,
    "turns": _turns,
    "chat": _chat,
}
