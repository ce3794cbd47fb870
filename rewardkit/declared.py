"""What a user's term sees of a row: what it declared, and an error that names the fix for everything else.

Equal rows are scored once, and "equal" means equal in what the term declared. A term that read the ground truth without
saying so would get another row's score, silently; here it gets an error instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

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
}
"""From a need to the batch's column that fills it."""
_NEED_OF: Final = {column: need for need, column in COLUMN_OF.items()}


class DeclaredSample:
    """A :class:`Sample` of which only the declared parts can be read."""

    __slots__ = ("_needs", "_sample", "_term")

    def __init__(self, sample: Sample, needs: frozenset[str], term: str) -> None:
        self._sample, self._needs, self._term = sample, needs, term

    def __getattr__(self, name: str) -> Any:
        if name in COLUMN_OF and name not in self._needs:
            raise undeclared(self._term, name)
        return getattr(self._sample, name)


class DeclaredBatch:
    """A :class:`Batch` of which only the declared columns can be read."""

    __slots__ = ("_batch", "_needs", "_term")

    def __init__(self, batch: Batch, needs: frozenset[str], term: str) -> None:
        self._batch, self._needs, self._term = batch, needs, term

    def __getattr__(self, name: str) -> Any:
        need = _NEED_OF.get(name)
        if need is not None and need not in self._needs:
            raise undeclared(self._term, need)
        return getattr(self._batch, name)

    def __len__(self) -> int:
        return len(self._batch)

    def __getitem__(self, i: int) -> DeclaredSample:
        return DeclaredSample(self._batch[i], self._needs, self._term)

    def __iter__(self) -> Iterator[DeclaredSample]:
        return (self[i] for i in range(len(self)))


def undeclared(term: str, need: str) -> ParameterError:
    """The error for a term that reads what it did not declare."""
    return ParameterError(
        f"the term {term!r} reads {need} of a row without declaring it", hint=f"@term(..., needs=({need!r},))"
    )
