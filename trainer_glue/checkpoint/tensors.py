"""Whole tensors, read a block of rows at a time.

A :class:`Source` knows name, shape and dtype before any byte is read, so that a file's header can be written first;
``blocks`` then yields consecutive rows. Blocks are views of the mapped shards where the rows lie together, and copies
of one block's size where the sharding cuts other dimensions. A block is valid until the next one is asked for.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch

from rewardkit.errors import CheckpointError

from .assembly import Region, regions
from .shards import Piece, RankFile

BLOCK_BYTES = 32 << 20
"""Largest block, unless one row is larger: enough to keep a disk busy, small beside any model."""

_MIXED = "the ranks' files are of different runs or steps"
_NO_MESH = np.zeros((), dtype=np.int64)
_BITS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


class Source(Protocol):
    """A tensor that can be streamed."""

    @property
    def name(self) -> str:
        """Name in the state dict."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Whole shape."""

    @property
    def dtype(self) -> torch.dtype:
        """As stored."""

    def blocks(self) -> Iterator[torch.Tensor]:
        """Consecutive blocks of rows that together are the tensor; one block for a scalar."""

    def rows(self, start: int, stop: int) -> torch.Tensor:
        """A copy of some rows."""


def size_in_bytes(source: Source) -> int:
    """Bytes of the whole tensor as stored."""
    return math.prod(source.shape) * int(source.dtype.itemsize)


def row_spans(shape: Sequence[int], itemsize: int) -> Iterator[tuple[int, int]]:
    """Rows of each block of a tensor."""
    count = shape[0] if shape else 1
    step = max(1, BLOCK_BYTES // max(1, math.prod(shape[1:]) * itemsize))
    for start in range(0, count, step):
        yield start, min(start + step, count)


@dataclass(frozen=True, slots=True)
class ShardedTensor:
    """A tensor put together from the ranks by its placements. Build with :func:`assemble`."""

    name: str
    shape: tuple[int, ...]
    dtype: torch.dtype
    parts: tuple[tuple[Region, Piece, RankFile], ...]
    replicas: tuple[tuple[Piece, RankFile, Piece, RankFile], ...]
    """Pairs of pieces that have to be equal: each further copy beside the one that is read."""
    is_replicated: bool = False
    """Whether every rank holds all of it as a plain tensor."""

    def blocks(self) -> Iterator[torch.Tensor]:
        """See :class:`Source`."""
        for start, stop in row_spans(self.shape, self.dtype.itemsize):
            block, used = self._read(start, stop)
            yield block
            for file, view in used:
                file.release(view)

    def rows(self, start: int, stop: int) -> torch.Tensor:
        """See :class:`Source`."""
        block, used = self._read(start, stop)
        copy = block.clone()
        for file, view in used:
            file.release(view)
        return copy

    def _read(self, start: int, stop: int) -> tuple[torch.Tensor, list[tuple[RankFile, torch.Tensor]]]:
        """Rows as one tensor, and the views of the shards below it."""
        if not self.shape:
            (_, piece, file), *_ = self.parts
            return piece.local.reshape(()), [(file, piece.local)]
        block: torch.Tensor | None = None
        used = []
        for region, piece, file in self.parts:
            offset = 0
            for interval in region.axes[0]:
                first, last = max(start, interval.start), min(stop, interval.stop)
                if first < last:
                    view = piece.local[offset + first - interval.start : offset + last - interval.start]
                    used.append((file, view))
                    if (first, last) == (start, stop) and tuple(view.shape[1:]) == self.shape[1:]:
                        return view.contiguous(), used
                    if block is None:
                        block = torch.empty((stop - start, *self.shape[1:]), dtype=self.dtype)
                    _scatter(block[first - start : last - start], view, region)
                offset += len(interval)
        if block is None:
            raise AssertionError(f"{self.name}: no part holds rows {start} to {stop}")
        return block, used

    def check_replicas(self) -> None:
        """Raise where a further copy of the tensor, or of a piece, differs from the one that is read.

        Raises:
            CheckpointError: Two ranks that should agree don't; names both.
        """
        for piece, file, copy, other in self.replicas:
            a, b = piece.local.reshape(-1), copy.local.reshape(-1)
            step = BLOCK_BYTES // piece.dtype.itemsize
            bits = _BITS.get(piece.dtype.itemsize, torch.uint8)
            for i in range(0, a.numel(), step):
                left, right = a[i : i + step], b[i : i + step]
                # As bits: NaN is equal to itself here, and -0.0 is not 0.0.
                if not torch.equal(left.view(bits), right.view(bits)):
                    raise CheckpointError(
                        f"{self.name} differs between rank {file.rank} and rank {other.rank}, which hold copies of it",
                        hint="the files are of different steps, or one is damaged; convert another step",
                    )
                file.release(left)
                other.release(right)


def _scatter(block: torch.Tensor, view: torch.Tensor, region: Region, dim: int = 1) -> None:
    """Copy rows of a piece to where its other dimensions lie in the block."""
    if dim == view.dim():
        block.copy_(view)
        return
    offset = 0
    for interval in region.axes[dim]:
        length = len(interval)
        _scatter(block.narrow(dim, interval.start, length), view.narrow(dim, offset, length), region, dim + 1)
        offset += length


def assemble(name: str, files: Mapping[int, RankFile]) -> ShardedTensor:
    """Put one tensor together from all ranks that are there.

    Args:
        name: Its name in every rank's state dict.
        files: The opened ranks.

    Raises:
        CheckpointError: A rank that is needed is missing, or ranks disagree on shape, dtype, mesh or placements.
    """
    first_rank = min(files)
    first = files[first_rank].pieces[name]
    for rank, file in files.items():
        _check_agreement(name, first, first_rank, file.pieces[name], rank)
    if first.placements is None or first.mesh is None:
        return _plain(name, first, files)
    parts = []
    replicas: list[tuple[Piece, RankFile, Piece, RankFile]] = []
    missing: set[int] = set()
    for region in regions(first.shape, first.mesh.ranks(first_rank), first.placements, name=name):
        holders = [rank for rank in region.ranks if rank in files]
        if not holders:
            missing.update(region.ranks)
            continue
        for rank in holders:
            held = tuple(files[rank].pieces[name].local.shape)
            if held != region.shape and math.prod(held) + math.prod(region.shape) > 0:
                raise CheckpointError(
                    f"{name}: rank {rank} holds {held}; placement {_text(first)} of {first.shape} says {region.shape}",
                    hint=_MIXED,
                )
        head, *rest = ((files[rank].pieces[name], files[rank]) for rank in holders)
        if math.prod(region.shape):
            parts.append((region, *head))
            replicas.extend((*head, *copy) for copy in rest)
    if missing:
        ranks = ", ".join(str(rank) for rank in sorted(missing))
        raise CheckpointError(
            f"{name}: no file of rank {ranks}, and no other rank holds that part of it",
            hint="each node writes its own ranks: copy the files of every node into one folder",
        )
    return ShardedTensor(name, first.shape, first.dtype, tuple(parts), tuple(replicas))


def _plain(name: str, first: Piece, files: Mapping[int, RankFile]) -> ShardedTensor:
    """A tensor that is whole on every rank: a buffer, or any tensor of a run on one rank."""
    head, *rest = ((file.pieces[name], file) for _, file in sorted(files.items()))
    (region,) = regions(first.shape, _NO_MESH, (), name=name)
    return ShardedTensor(
        name, first.shape, first.dtype, ((region, *head),), tuple((*head, *copy) for copy in rest), True
    )


def _check_agreement(name: str, a: Piece, rank_a: int, b: Piece, rank_b: int) -> None:
    names = (a.mesh.names if a.mesh else (), b.mesh.names if b.mesh else ())
    if (a.shape, a.dtype, a.placements, names[0]) != (b.shape, b.dtype, b.placements, names[1]):
        of_a, of_b = (f"{piece.shape} {piece.dtype} {_text(piece)}" for piece in (a, b))
        raise CheckpointError(f"{name}: rank {rank_a} has {of_a}, rank {rank_b} has {of_b}", hint=_MIXED)


def _text(piece: Piece) -> str:
    if piece.placements is None:
        return "whole"
    return "(" + ", ".join(str(placement) for placement in piece.placements) + ")"
