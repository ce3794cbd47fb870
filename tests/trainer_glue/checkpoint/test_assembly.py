"""Where pieces lie: against cutting real tensors with torch, on meshes of any shape."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from rewardkit.errors import CheckpointError
from trainer_glue.checkpoint import tensors as tensors_module
from trainer_glue.checkpoint.assembly import Region, regions
from trainer_glue.checkpoint.records import LayoutRecord, MeshRecord, Placement, Record
from trainer_glue.checkpoint.shards import Piece, RankFile
from trainer_glue.checkpoint.tensors import Buffer, ShardedTensor, rows

SHARD0, REPLICATE = Placement("shard", 0), Placement("replicate")


@st.composite
def spread(draw: st.DrawFn) -> tuple[tuple[int, ...], np.ndarray, list[Placement]]:
    """A shape, a mesh of shuffled ranks, and placements on it."""
    shape = tuple(draw(st.lists(st.integers(0, 7), min_size=1, max_size=3)))
    mesh_shape = draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    ranks = draw(st.permutations(range(math.prod(mesh_shape))))
    one = st.one_of(st.just(REPLICATE), st.builds(Placement, st.just("shard"), st.integers(0, len(shape) - 1)))
    placements = [draw(one) for _ in mesh_shape]
    return shape, np.array(ranks, dtype=np.int64).reshape(mesh_shape), placements


def cut(tensor: torch.Tensor, sizes: tuple[int, ...], at: tuple[int, ...], placements: list[Placement]) -> torch.Tensor:
    """What torch gives a mesh coordinate: one `chunk` after the other, missing chunks empty."""
    for size, index, placement in zip(sizes, at, placements, strict=True):
        if placement.kind == "shard":
            chunks = list(tensor.chunk(size, placement.dim))
            empty = tensor.narrow(placement.dim, 0, 0)
            tensor = chunks[index] if index < len(chunks) else empty
    return tensor


def whole(pieces: list[Region], locals_: dict[int, torch.Tensor], full: torch.Tensor) -> ShardedTensor:
    parts = []
    for region in pieces:
        local = locals_[region.ranks[0]]
        assert region.shape == tuple(local.shape) or math.prod(region.shape) == local.numel() == 0
        if local.numel():
            piece = Piece(local, tuple(full.shape), full.dtype)
            parts.append((region, piece, RankFile(region.ranks[0], None, {})))  # type: ignore[arg-type]
    return ShardedTensor("t", tuple(full.shape), full.dtype, tuple(parts), ())


@given(spread(), st.integers(1, 64))
def test_pieces_give_the_tensor_back(case: Any, block_bytes: int) -> None:
    shape, mesh, placements = case
    full = torch.arange(math.prod(shape), dtype=torch.int32).reshape(shape)
    locals_ = {int(mesh[at]): cut(full, mesh.shape, at, placements) for at in np.ndindex(mesh.shape)}
    pieces = regions(shape, mesh, placements, name="t")
    assert sorted(rank for region in pieces for rank in region.ranks) == list(range(mesh.size))
    tensor = whole(pieces, locals_, full)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tensors_module, "BLOCK_BYTES", block_bytes)
        blocks = [block.clone() for block in Buffer().blocks(tensor, torch.int32)]
    flat = [block.reshape(-1) for block in blocks]
    assert torch.equal(torch.cat([full.reshape(-1)[:0], *flat]), full.reshape(-1))
    if shape[0] > 1:
        assert torch.equal(rows(tensor, 1, shape[0]), full[1:].float())


@given(st.integers(1, 40), st.integers(1, 4), st.integers(1, 4))
def test_strided_shards_are_cut_from_the_right(size: int, fsdp: int, tp: int) -> None:
    """FSDP over tensor parallel: tensor parallelism cuts first, though its mesh dimension comes second."""
    full = torch.arange(size)
    mesh = np.arange(fsdp * tp).reshape(fsdp, tp)
    locals_ = {}
    for i, j in np.ndindex(fsdp, tp):
        by_tp = cut(full, (tp,), (j,), [SHARD0])
        locals_[int(mesh[i, j])] = cut(by_tp, (fsdp,), (i,), [SHARD0])
    pieces = regions((size,), mesh, [Placement("strided", 0, tp), SHARD0], name="t")
    assert torch.equal(rows(whole(pieces, locals_, full), 0, size), full.float())


@pytest.mark.parametrize(
    ("placements", "message"),
    [
        ([Placement("partial")], "unreduced sum"),
        ([Placement("shard", 2)], r"Shard\(2\) on a tensor of 2 dimensions"),
        ([Placement("strided", 0, 3)], "does not match the mesh"),
        ([SHARD0, SHARD0], "2 placements on a mesh of 1 dimensions"),
    ],
)
def test_placements_that_make_no_sense(placements: list[Placement], message: str) -> None:
    with pytest.raises(CheckpointError, match=message):
        regions((4, 4), np.arange(2), placements, name="t")


def layout(*axes: tuple[tuple[int, ...], tuple[int, ...]]) -> LayoutRecord:
    made = []
    for shape, stride in axes:
        axis = Record()
        axis.state.update(shape=shape, stride=stride)
        made.append(axis)
    record = LayoutRecord()
    record.state["axes"] = tuple(made)
    return record


@pytest.mark.parametrize(
    ("axes", "rank", "expected"),
    [
        ([((2,), (2,)), ((2,), (1,))], 10, [[10, 11], [12, 13]]),
        ([((2,), (1,))], 12, [12, 13]),  # a slice of the mesh, as the second row sees it
        ([((2,), (2,))], 13, [11, 13]),  # a column
        ([((), ())], 11, [11]),  # one rank
        ([((2, 2), (1, 2))], 10, [10, 12, 11, 13]),  # two dimensions flattened in the other order
    ],
)
def test_mesh_of_a_layout(axes: Any, rank: int, expected: list[Any]) -> None:
    mesh = MeshRecord()
    mesh.state.update(_layout=layout(*axes), _rank_map=torch.tensor([10, 11, 12, 13]))
    assert mesh.ranks(rank).tolist() == expected
