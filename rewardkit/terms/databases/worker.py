"""Two queries against one SQLite file, and whether they find the same. Runs in worker processes only.

The file is opened as one that nobody changes, so that no lock and no journal is written beside it; an authorizer lets
nothing but SELECT through; and a query may take so many steps of SQLite's machine, the same number on every computer.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from typing import Any, Final
from urllib.parse import quote

import regex

MAX_ROWS: Final = 100_000
"""Most rows of a result."""
MAX_VALUE_BYTES: Final = 10_000_000
"""Longest text or blob that a query may make."""
_STEPS_AT_ONCE: Final = 1_000

_ALLOWED: Final = frozenset(
    [sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE]
)
_OPAQUE: Final = regex.compile(r"'(?:[^']|'')*+'|\"[^\"]*+\"|`[^`]*+`|\[[^\]]*+\]|--[^\n]*+|/\*(?s:.*?)\*/")
_INNERMOST: Final = regex.compile(r"\([^()]*+\)")
_ORDER: Final = regex.compile(r"\border\s++by\b", regex.IGNORECASE)


class TooMuch(Exception):
    """A query is over its limit of steps or rows."""


def compare(path: str, truth: str, query: str, steps: int) -> tuple[str, str]:
    """Whether a query finds what the ground truth's query finds.

    Args:
        path: the SQLite file.
        truth: the ground truth's query.
        query: the response's query.
        steps: steps of SQLite's virtual machine that each may take.

    Returns:
        ``equal``, ``unequal``, ``limit`` or ``unusable``, which is the ground truth's fault; and why.
    """
    connection = sqlite3.connect(f"file:{quote(path)}?mode=ro&immutable=1", uri=True, isolation_level=None)
    try:
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES)
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
        connection.set_authorizer(_authorized)
        try:
            wanted = _rows(connection, truth, steps)
        except (sqlite3.Error, sqlite3.Warning, ValueError, TooMuch) as e:
            return "unusable", f"the ground truth's query fails: {e}"
        if not wanted:
            return "unusable", "the ground truth's query finds no rows, as many wrong ones do"
        try:
            found = _rows(connection, query, steps)
        except TooMuch as e:
            return "limit", str(e)
        except (sqlite3.Error, sqlite3.Warning, ValueError) as e:
            return "unequal", str(e)
    finally:
        connection.close()
    same = wanted == found if is_ordered(truth) else Counter(wanted) == Counter(found)
    return ("equal" if same else "unequal"), ""


def is_ordered(query: str) -> bool:
    """Whether a query sorts its result: an ORDER BY outside brackets, texts and comments."""
    text = _OPAQUE.sub(" ", query)
    while (shorter := _INNERMOST.sub(" ", text)) != text:
        text = shorter
    return _ORDER.search(text) is not None


def _authorized(action: int, first: str | None, second: str | None, *_: Any) -> int:
    if action not in _ALLOWED or (action == sqlite3.SQLITE_FUNCTION and second in ("load_extension", "fts3_tokenizer")):
        return sqlite3.SQLITE_DENY
    return sqlite3.SQLITE_OK


def _rows(connection: sqlite3.Connection, query: str, steps: int) -> list[tuple[Any, ...]]:
    left = [steps // _STEPS_AT_ONCE]

    def count() -> bool:
        left[0] -= 1
        return left[0] < 0

    connection.set_progress_handler(count, _STEPS_AT_ONCE)
    try:
        rows = connection.execute(query).fetchmany(MAX_ROWS + 1)
    except sqlite3.OperationalError as e:
        if left[0] < 0:
            raise TooMuch(f"more than {steps:,} steps") from e
        raise
    finally:
        connection.set_progress_handler(None, 0)
    if len(rows) > MAX_ROWS:
        raise TooMuch(f"more than {MAX_ROWS:,} rows")
    return [tuple(map(_comparable, row)) for row in rows]


def _comparable(value: Any) -> Any:
    """A value under which equal ones are equal: numbers to twelve digits, for sums that were added in another order."""
    return float(f"{value:.12g}") if isinstance(value, float) else value
