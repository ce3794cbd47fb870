"""One row from its JSON text, strictly: an object in UTF-8 that says each thing once."""

from __future__ import annotations

import json
from typing import Any, Final

from rewardkit.errors import BadRow


def json_row(line: bytes, *, first: bool = False) -> dict[str, Any]:
    """The object that a text is.

    Args:
        line: without blanks around it.
        first: whether a byte order mark may stand before it.

    Raises:
        BadRow: it is not UTF-8, not JSON or no object, or an object in it has a key twice.
    """
    try:
        text = line.decode("utf-8-sig" if first else "utf-8")
        value, end = _decode(text)
        if end != len(text):
            json.loads(text)  # for its message
    except UnicodeDecodeError as e:
        raise BadRow(f"is not UTF-8: byte {e.start} is {line[e.start]:#x}") from None
    except BadRow:
        raise
    except json.JSONDecodeError as e:
        array = ", and this looks like an array" if line.startswith(b"[") else ""
        raise BadRow(f"is not JSON: {e}; expected one JSON object a line{array}") from None
    except RecursionError:
        raise BadRow("is not JSON that can be read: nested too deep; expected one object a line") from None
    except ValueError:  # what is left is Python's limit on the digits of an integer
        raise BadRow("has an integer of thousands of digits; expected it in quotes, as text") from None
    if type(value) is not dict:
        raise BadRow(f"is a JSON {type(value).__name__}; expected one object a line")
    return value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries = dict(pairs)
    if len(entries) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise BadRow(f"has the key {twice!r} twice; expected each key once")
    return entries


_decode: Final = json.JSONDecoder(object_pairs_hook=_once).raw_decode
