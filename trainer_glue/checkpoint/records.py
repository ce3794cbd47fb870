"""What a rank's pickle may name, and the plain stand-ins that take its place.

A shard file is a pickle over a zip of raw storages. Unpickling it as torch does would build real ``DTensor`` and
``DeviceMesh`` objects, whose classes move and change between torch releases and look for process groups that a
converter doesn't have. Here every class that a sharded state dict needs is mapped, by its name in the file, to a record
without behaviour: files of any torch from 2.4 on read alike, without ``torch.distributed``, and nothing else that a
pickle names is ever imported or called. Names that are not in :data:`ALLOWED` (and not among the tensor and container
types that ``weights_only`` always permits) stop the load.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, Self

import numpy as np
import numpy.typing as npt
import torch


class Record:
    """A pickled object reduced to what it carried."""

    args: tuple[Any, ...]
    state: dict[str, Any]

    def __new__(cls, *args: Any) -> Self:
        """Keep the arguments and start without state."""
        record = super().__new__(cls)
        record.args = args
        record.state = {}
        return record

    def __init__(self, *args: Any) -> None:
        """Take any arguments: ``__new__`` has them already."""

    def __setstate__(self, state: Any) -> None:
        # An object with __slots__ pickles as (dict or None, slots).
        for part in state if isinstance(state, tuple) else (state,):
            if isinstance(part, dict):
                self.state.update(part)


@dataclass(frozen=True, slots=True)
class Placement:
    """How one mesh dimension spreads a tensor."""

    kind: Literal["shard", "strided", "replicate", "partial"]
    dim: int = 0
    split_factor: int = 1

    def __str__(self) -> str:
        if self.kind == "shard":
            return f"Shard({self.dim})"
        if self.kind == "strided":
            return f"StridedShard({self.dim}, split_factor={self.split_factor})"
        return self.kind.capitalize()


class ShardRecord(Record):
    """``Shard(dim)``."""

    def placement(self) -> Placement:
        """As a value."""
        return Placement("shard", int(self.state["dim"]))


class StridedShardRecord(Record):
    """``_StridedShard(dim, split_factor)``: a later mesh dimension was split off first (FSDP over tensor parallel)."""

    def placement(self) -> Placement:
        """As a value."""
        return Placement("strided", int(self.state["dim"]), int(self.state["split_factor"]))


class ReplicateRecord(Record):
    """``Replicate()``."""

    def placement(self) -> Placement:
        """As a value."""
        return Placement("replicate")


class PartialRecord(Record):
    """``Partial()``: an unreduced sum. No saved parameter should have one."""

    def placement(self) -> Placement:
        """As a value."""
        return Placement("partial")


class LayoutRecord(Record):
    """``_MeshLayout``: a mesh as sizes and strides over a list of ranks (torch 2.9 and later)."""

    def axes(self) -> list[list[tuple[int, int]]]:
        """For each mesh dimension its (size, stride) parts; a dimension of one rank has none."""
        if "axes" in self.state:
            pairs = [(axis.state["shape"], axis.state["stride"]) for axis in self.state["axes"]]
        else:
            pairs = list(zip(_tuple(self.state["shape"]), _tuple(self.state["stride"]), strict=True))
        return [list(zip(_flat(shape), _flat(stride), strict=True)) for shape, stride in pairs]


class MeshRecord(Record):
    """``DeviceMesh``: an array of ranks with named dimensions."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the dimensions, such as ``("ddp", "fsdp")``."""
        names = self.state.get("_mesh_dim_names", self.state.get("mesh_dim_names"))
        return tuple(str(name) for name in names or ())

    def saved_by(self, rank: int) -> int | None:
        """The rank that saved this mesh, seen as ``rank``'s; None where the file doesn't say."""
        if "_rank" in self.state:
            return int(self.state["_rank"])
        coordinate = self.state.get("_coordinate_on_dim")
        return int(self.ranks(rank)[tuple(coordinate)]) if coordinate else None

    def ranks(self, rank: int) -> npt.NDArray[np.int64]:
        """The ranks of this mesh by coordinate, as ``rank`` sees it."""
        for key in ("mesh", "_mesh"):
            tensor = self.state.get(key)
            if isinstance(tensor, torch.Tensor):
                return np.array(tensor.tolist(), dtype=np.int64).reshape(tuple(tensor.shape))
        world = [int(r) for r in self.state["_rank_map"].reshape(-1).tolist()]
        axes = self.state["_layout"].axes()
        # A slice of a larger mesh holds the ranks that differ from `rank` along its own dimensions only.
        base = world.index(rank)
        for size, stride in itertools.chain.from_iterable(axes):
            base -= (base // stride) % size * stride
        offsets = np.zeros((1,), dtype=np.int64)
        shape = []
        for axis in axes:
            along = np.zeros((1,), dtype=np.int64)
            for size, stride in axis:
                along = (along[:, None] + np.arange(size, dtype=np.int64)[None, :] * stride).reshape(-1)
            offsets = (offsets[:, None] + along[None, :]).reshape(-1)
            shape.append(len(along))
        return np.array([world[base + int(offset)] for offset in offsets], dtype=np.int64).reshape(shape)


class SpecRecord(Record):
    """``DTensorSpec``: mesh, placements and the global shape."""

    @property
    def mesh(self) -> MeshRecord:
        """The mesh that the tensor lives on."""
        mesh = self.state["mesh"]
        if not isinstance(mesh, MeshRecord):
            raise TypeError(f"a tensor's mesh is a {type(mesh).__name__}")
        return mesh

    @property
    def placements(self) -> tuple[Placement, ...]:
        """One placement for each mesh dimension."""
        return tuple(record.placement() for record in self.state["placements"])


class ShardedTensorRecord(torch.Tensor):  # type: ignore[misc]  # torch is Any to the checker
    """``DTensor``: the local tensor and its spec. A tensor subclass only because torch's rebuild function wants one."""

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """No operation is meant to run on the record itself."""
        raise TypeError(f"{func} on a record of a sharded tensor; use its local tensor")

    def __setstate__(self, state: Any) -> None:
        for part in state if isinstance(state, tuple) else (state,):
            for name, value in (part or {}).items():
                if name == "_local_tensor":
                    self.local = value
                elif name == "_spec":
                    self.spec = value


def _tuple(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def _flat(value: Any) -> list[int]:
    if isinstance(value, (tuple, list)):
        return [leaf for part in value for leaf in _flat(part)]
    return [int(value)]


def _spellings(modules: Sequence[str], name: str, record: type) -> dict[str, type]:
    return {f"{module}.{name}": record for module in modules}


_API = ("torch.distributed.tensor", "torch.distributed.tensor._api", "torch.distributed._tensor.api")
_SPEC = ("torch.distributed.tensor._dtensor_spec", "torch.distributed._tensor.placement_types")
_PLACEMENT = ("torch.distributed.tensor.placement_types", "torch.distributed._tensor.placement_types")

ALLOWED: Final[dict[str, type]] = {
    **_spellings(_API, "DTensor", ShardedTensorRecord),
    **_spellings(_SPEC, "DTensorSpec", SpecRecord),
    **_spellings(_SPEC, "TensorMeta", Record),
    **_spellings(_SPEC, "ShardOrderEntry", Record),
    **_spellings(_PLACEMENT, "Shard", ShardRecord),
    **_spellings(_PLACEMENT, "_StridedShard", StridedShardRecord),
    **_spellings(_PLACEMENT, "Replicate", ReplicateRecord),
    **_spellings(_PLACEMENT, "Partial", PartialRecord),
    **_spellings(_PLACEMENT, "_Partial", PartialRecord),
    "torch.distributed.device_mesh.DeviceMesh": MeshRecord,
    "torch.distributed._mesh_layout._MeshLayout": LayoutRecord,
    "torch.distributed._mesh_layout._FlatLayout": Record,
}
"""Every class that a shard file may name beyond torch's own tensors and containers, and its stand-in."""
