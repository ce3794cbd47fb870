"""What a user's term sees of a row: what it declared, and an error that names the fix for everything else.

Equal rows are scored once, and "equal" means equal in what the term declared. A term that read the ground truth without
saying so would get another row's score, silently; here it gets an error instead. What it gets is its own copy: a term
that changes what it was handed changes nothing for the next one, nor for the caller.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from rewardkit.batch import Batch, Sample
from rewardkit.errors import ParameterError

COLUMN_OF: Final = {
    "response": "responses",
    "ground_truth": "ground_truths",
    "prompt": "prompts",
    "data_source": "data_sources",
    "extra_info": "extra_infos",
    "truncated": "truncated",
    "tokens": "tokens",
    "group": "groups",
    "turns": "turns",
    "chat": "chats",
}
"""From a need to the batch's column that fills it."""
_PARTS: Final = frozenset({*COLUMN_OF, *COLUMN_OF.values()})
_PLAIN: Final = frozenset({str, int, float, bool, type(None)})
_NEED_OF: Final = {column: need for need, column in COLUMN_OF.items()}


class GuardedSample:
    """A :class:`Sample` of which only the declared parts can be read."""

    __slots__ = ("_copies", "_needs", "_sample", "_term")

    def __init__(self, sample: Sample, needs: frozenset[str], term: str) -> None:
        self._sample, self._needs, self._term = sample, needs, term
        self._copies: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        if name in COLUMN_OF and name not in self._needs:
            raise undeclared(self._term, name)
        return _own(self._copies, self._sample, name)


class GuardedBatch:
    """A :class:`Batch` of which only the declared columns can be read."""

    __slots__ = ("_batch", "_copies", "_needs", "_term")

    def __init__(self, batch: Batch, needs: frozenset[str], term: str) -> None:
        self._batch, self._needs, self._term = batch, needs, term
        self._copies: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        need = _NEED_OF.get(name)
        if need is not None and need not in self._needs:
            raise undeclared(self._term, need)
        return _own(self._copies, self._batch, name)

    def __len__(self) -> int:
        return len(self._batch)

    def __getitem__(self, i: int) -> GuardedSample:
        return GuardedSample(self._batch[i], self._needs, self._term)

    def __iter__(self) -> Iterator[GuardedSample]:
        return (self[i] for i in range(len(self)))


def _own(copies: dict[str, Any], holder: Sample | Batch, name: str) -> Any:
    """An attribute's value, copied when it is first asked for."""
    if name not in _PARTS:
        return getattr(holder, name)
    if name not in copies:
        copies[name] = _copied(getattr(holder, name))
    return copies[name]


def _copied(value: Any) -> Any:
    """A value whose lists, dicts, sets and arrays are new; what else there is in them can be anything, and is kept."""
    if isinstance(value, dict):
        return {key: entry if type(entry) in _PLAIN else _copied(entry) for key, entry in value.items()}
    if isinstance(value, list) or (isinstance(value, np.ndarray) and value.dtype == object and value.ndim == 1):
        return [entry if type(entry) in _PLAIN else _copied(entry) for entry in value]
    if type(value) is tuple:
        return tuple(_copied(entry) for entry in value)
    return value.copy() if isinstance(value, set | bytearray | np.ndarray) else value


def undeclared(term: str, need: str) -> ParameterError:
    """The error for a term that reads what it did not declare."""
    return ParameterError(
        f"the term {term!r} reads {need} of a row without declaring it", hint=f"@term(..., needs=({need!r},))"
    )
