"""Where each rank's piece lies in the whole tensor: arithmetic on placements, no tensors.

A mesh dimension with a ``Shard(d)`` placement cuts dimension ``d`` into ``ceil(n / k)`` long pieces (the last ones
shorter or empty), as ``torch.chunk`` does; several mesh dimensions cut one after the other. A ``StridedShard`` says
that mesh dimensions to its right were cut first. The result is exact for any mesh, and a local shape that disagrees
with it is an error, never a guess.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rewardkit.errors import CheckpointError

from .records import Placement


@dataclass(frozen=True, slots=True)
class Interval:
    """Indices ``start`` to ``stop`` of one dimension."""

    start: int
    stop: int

    def __len__(self) -> int:
        return self.stop - self.start


@dataclass(frozen=True, slots=True)
class Region:
    """The part of a tensor that one mesh coordinate holds, and the ranks that hold a copy of it."""

    axes: tuple[tuple[Interval, ...], ...]
    """For each dimension the intervals held, in the order of the local tensor."""
    ranks: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the local tensor."""
        return tuple(sum(len(interval) for interval in axis) for axis in self.axes)


def regions(
    shape: Sequence[int], mesh: npt.NDArray[np.int64], placements: Sequence[Placement], *, name: str
) -> list[Region]:
    """The regions of a tensor, one for each coordinate along the sharding mesh dimensions.

    Args:
        shape: The global shape.
        mesh: Ranks by mesh coordinate.
        placements: One for each mesh dimension.
        name: The tensor's name, for errors.

    Returns:
        Regions that are disjoint and together cover the tensor. Empty ones are included.

    Raises:
        CheckpointError: A placement that no parameter should have, or that doesn't fit the shape or the mesh.
    """
    if len(placements) != mesh.ndim:
        raise CheckpointError(f"{name}: {len(placements)} placements on a mesh of {mesh.ndim} dimensions")
    for placement in placements:
        if placement.kind == "partial":
            raise CheckpointError(
                f"{name}: placement Partial, which holds an unreduced sum; expected Shard or Replicate",
                hint="the checkpoint was saved in the middle of a reduction; save again after the step has ended",
            )
        if placement.kind != "replicate" and not 0 <= placement.dim < len(shape):
            raise CheckpointError(f"{name}: {placement} on a tensor of {len(shape)} dimensions")
    cuts = [_order(d, mesh.shape, placements, name) for d in range(len(shape))]
    sharding = [i for i, placement in enumerate(placements) if placement.kind != "replicate"]
    covered = []
    for coordinate in itertools.product(*(range(mesh.shape[i]) for i in sharding)):
        at = dict(zip(sharding, coordinate, strict=True))
        axes = []
        for size, order in zip(shape, cuts, strict=True):
            axis: tuple[Interval, ...] = (Interval(0, size),)
            for i in order:
                axis = _chunk(axis, mesh.shape[i], at[i])
            axes.append(axis)
        index = tuple(at.get(i, slice(None)) for i in range(mesh.ndim))
        covered.append(Region(tuple(axes), tuple(int(rank) for rank in np.ravel(mesh[index]))))
    return covered


def _order(dim: int, mesh_shape: Sequence[int], placements: Sequence[Placement], name: str) -> list[int]:
    """The mesh dimensions that cut ``dim``, first cut first."""
    order: list[int] = []
    for i in reversed(range(len(placements))):
        placement = placements[i]
        if placement.kind == "replicate" or placement.dim != dim:
            continue
        cut_before, at = 1, 0
        while cut_before < placement.split_factor and at < len(order):
            cut_before *= mesh_shape[order[at]]
            at += 1
        if cut_before != placement.split_factor:
            raise CheckpointError(
                f"{name}: {placement} does not match the mesh {tuple(mesh_shape)}: no cut to its right has that factor"
            )
        order.insert(at, i)
    return order


def _chunk(axis: Sequence[Interval], parts: int, index: int) -> tuple[Interval, ...]:
    """The ``index``-th of ``parts`` chunks of the concatenated intervals."""
    total = sum(len(interval) for interval in axis)
    step = -(-total // parts)
    begin, end = min(index * step, total), min((index + 1) * step, total)
    picked, offset = [], 0
    for interval in axis:
        start, stop = max(begin - offset, 0), min(end - offset, len(interval))
        if start < stop:
            picked.append(Interval(interval.start + start, interval.start + stop))
        offset += len(interval)
    return tuple(picked)
