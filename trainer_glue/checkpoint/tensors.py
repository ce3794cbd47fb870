"""Whole tensors, read a block of rows at a time.

A :class:`Source` knows name, shape and dtype before any byte is read, so that a file's header can be written first;
``fill`` then copies any rows into the caller's memory, casting on the way. Every placement is served by that one copy:
the rows of a block are gathered from the ranks that hold them, whichever dimensions the sharding cuts, so no whole
tensor is ever needed.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch

from rewardkit.errors import CheckpointError

from .assembly import Region, regions
from .shards import Piece, RankFile

BLOCK_BYTES = 16 << 20
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

    def fill(self, target: torch.Tensor, start: int) -> None:
        """Copy the rows from ``start`` on into ``target``, cast to its dtype. A scalar has no rows: ``start`` is 0."""


class Buffer:
    """Memory that blocks are read into: two halves in turn, so that one can be written while the next is read."""

    def __init__(self) -> None:
        self._halves = itertools.cycle([[torch.empty(0, dtype=torch.uint8)], [torch.empty(0, dtype=torch.uint8)]])

    def blocks(self, source: Source, dtype: torch.dtype) -> Iterator[torch.Tensor]:
        """A source's rows in order, each block valid until the next but one is asked for."""
        for start, stop in _spans(source.shape, dtype.itemsize):
            shape = (stop - start, *source.shape[1:]) if source.shape else ()
            size = math.prod(shape) * dtype.itemsize
            half = next(self._halves)
            if len(half[0]) < size:
                half[0] = torch.empty(max(size, BLOCK_BYTES), dtype=torch.uint8)
            block = half[0][:size].view(dtype).view(shape)
            source.fill(block, start)
            yield block


def rows(source: Source, start: int, stop: int) -> torch.Tensor:
    """A copy of some rows in float32, for arithmetic."""
    copy = torch.empty((stop - start, *source.shape[1:]), dtype=torch.float32)
    source.fill(copy, start)
    return copy


def _spans(shape: Sequence[int], itemsize: int) -> Iterator[tuple[int, int]]:
    """Rows of each block of a tensor; nothing for a tensor without elements."""
    if math.prod(shape) == 0:
        return
    count = shape[0] if shape else 1
    step = max(1, BLOCK_BYTES // (math.prod(shape[1:]) * itemsize))
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

    def fill(self, target: torch.Tensor, start: int) -> None:
        """See :class:`Source`."""
        if not self.shape:
            target.copy_(self.parts[0][1].local.reshape(()))
            return
        stop = start + len(target)
        for region, piece, file in self.parts:
            offset = 0
            for interval in region.axes[0]:
                first, last = max(start, interval.start), min(stop, interval.stop)
                if first < last:
                    view = piece.local[offset + first - interval.start : offset + last - interval.start]
                    _scatter(target[first - start : last - start], view, region)
                    file.release(view)
                offset += len(interval)

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


def _scatter(target: torch.Tensor, view: torch.Tensor, region: Region, dim: int = 1) -> None:
    """Copy rows of a piece to where its other dimensions lie in the target."""
    if dim == view.dim():
        target.copy_(view)
        return
    offset = 0
    for interval in region.axes[dim]:
        length = len(interval)
        _scatter(target.narrow(dim, interval.start, length), view.narrow(dim, offset, length), region, dim + 1)
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
    try:
        mesh = first.mesh.ranks(first_rank)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise CheckpointError(f"{name}: the mesh that rank {first_rank} saved can't be understood: {error}") from error
    for region in regions(first.shape, mesh, first.placements, name=name):
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
