"""Chunks that hold whole groups: a formula that compares the responses of one prompt must see them together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from rewardkit.errors import DataError
from rewardkit.scoring.fields import BadRowAt, RawRow, column
from rewardkit.scoring.reading import Chunk, Rows

MAX_GROUP_ROWS: Final = 65_536
"""Rows of one group, at most: a group is held in memory whole. Rollouts of a prompt are tens, seldom thousands."""

MAX_BATCH_ROWS: Final = 262_144
"""Rows of one batch, at most: it is held in memory whole. Batches of trainers are thousands, seldom ten thousands."""


def first_rows(chunks: Iterable[Chunk], limit: int | None) -> Iterator[Chunk]:
    """The chunks of the first ``limit`` rows; all of them for None."""
    left = limit
    for chunk in chunks:
        if left is None:
            yield chunk
            continue
        yield chunk[:left]
        left -= len(chunk.rows)
        if left <= 0:
            return


def whole_groups(source: Rows, chunks: Iterable[Chunk], limit: int | None) -> Iterator[Chunk]:
    """The same rows, cut between groups. The group that row ``limit`` belongs to is the last, and complete.

    Raises:
        DataError: a row without a group, a group that comes back after another one, or one that is too large.
    """
    closed: set[int] = set()  # hashes: 64 bits each, however long the groups' names
    current: object = None
    held: Chunk | None = None
    seen = 0
    for chunk in chunks:
        try:
            groups = column(chunk.rows, "group")
        except BadRowAt as why:
            raise source.error(chunk.numbers[why.index], why) from None
        cut, end = 0, len(groups)
        for i, group in enumerate(groups):
            if group != current:
                if limit is not None and seen + i >= limit:
                    end = i
                    break
                key = hash(repr(group))
                if key in closed:
                    raise source.error(
                        chunk.numbers[i],
                        f"the group {group!r} was left and comes back; expected all rows of a group one after another",
                    )
                closed.add(key)
                current, cut = group, i
                if held is not None and i == 0:
                    yield held
                    held = None
        seen += end
        part = chunk[:end]
        if cut:
            yield part[:cut] if held is None else _joined(held, part[:cut])
            held = None
        rest = part[cut:]
        held = rest if held is None else _joined(held, rest)
        if len(held.rows) > MAX_GROUP_ROWS:
            raise source.error(
                held.numbers[0], f"the group {current!r} has over {MAX_GROUP_ROWS:,} rows; expected one prompt a group"
            )
        if end < len(groups):
            break
    if held is not None and held.rows:
        yield held


def whole_file(source: Rows, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
    """All rows of a file as one chunk.

    Raises:
        DataError: more rows than any training step has.
    """
    rows: list[RawRow] = []
    numbers: list[int] = []
    for chunk in chunks:
        rows += chunk.rows
        numbers += chunk.numbers
        if len(rows) > MAX_BATCH_ROWS:
            raise DataError(
                f"{source.name}: the formula compares all rows of a file with each other, and there are over "
                f"{MAX_BATCH_ROWS:,}",
                hint="one file a training step",
            )
    if rows:
        yield Chunk(rows, numbers, 1.0)


def _joined(first: Chunk, second: Chunk) -> Chunk:
    return Chunk([*first.rows, *second.rows], [*first.numbers, *second.numbers], second.done)
