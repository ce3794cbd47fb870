"""Reading one rank's file: memory-mapped, by allow-list, pages given back after use.

Nothing here copies a tensor. ``torch.load(mmap=True)`` gives views of the file, so opening a rank costs its pickle
only, and :meth:`RankFile.release` drops the pages of what was read: they are the file's own and come back on demand.
"""

from __future__ import annotations

import ctypes
import functools
import mmap
import re
import sys
import threading
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from rewardkit.errors import CheckpointError

from .records import ALLOWED, MeshRecord, Placement, ShardedTensorRecord

_ALLOW_LIST_LOCK = threading.Lock()
_RESERVED = "__metadata__"
_CHUNK = 4 << 20


@dataclass(frozen=True, slots=True)
class Piece:
    """What one rank holds of one tensor. ``placements`` is None for a plain tensor, which every rank holds in full."""

    local: torch.Tensor
    shape: tuple[int, ...]
    dtype: torch.dtype
    placements: tuple[Placement, ...] | None = None
    mesh: MeshRecord | None = None


@dataclass(frozen=True, slots=True)
class RankFile:
    """One opened ``model_world_size_W_rank_R.pt``."""

    rank: int
    path: Path
    pieces: Mapping[str, Piece]
    mapped: tuple[tuple[int, int], ...] = field(repr=False, default=())

    def release(self, view: torch.Tensor) -> None:
        """Let go of the pages below a view of this file; later reads fetch them again."""
        count = view.numel()
        if count == 0:
            return
        start = view.data_ptr()
        last = sum((size - 1) * stride for size, stride in zip(view.shape, view.stride(), strict=True))
        stop = start + (last + 1) * view.element_size()
        # Only ever inside the file's own mapping: the same call on anonymous memory would zero it.
        if any(low <= start and stop <= high for low, high in self.mapped):
            page = mmap.PAGESIZE
            begin = start - start % page
            _libc().madvise(ctypes.c_void_p(begin), ctypes.c_size_t(stop - begin), _MADV_DONTNEED)


def open_rank(path: Path, rank: int) -> RankFile:
    """Map a rank's file and read its pickle.

    Raises:
        CheckpointError: The file is truncated, not a torch file, names a class outside the allow-list, or doesn't hold
            a state dict.
    """
    if not zipfile.is_zipfile(path):
        raise CheckpointError(
            f"{path} ({path.stat().st_size:,} bytes) is not a complete torch file: its archive directory is missing",
            hint="the save or the copy of this rank was cut short; copy it again, or convert an earlier step",
        )
    with _only_our_allow_list():
        try:
            state = torch.load(path, map_location="cpu", mmap=True, weights_only=True)
        except Exception as error:
            raise _unreadable(path, error) from error
    if not isinstance(state, dict):
        raise CheckpointError(f"{path} holds a {type(state).__name__}; expected a state dict")
    pieces = {}
    for name, value in state.items():
        if not isinstance(name, str) or not isinstance(value, torch.Tensor):
            raise CheckpointError(
                f"{path}: entry {name!r} is a {type(value).__name__}; expected tensors under text names"
            )
        if name == _RESERVED or not _is_text(name):
            raise CheckpointError(
                f"{path}: a tensor has the name {name!r}, which a safetensors file can't hold",
                hint="rename it in the model",
            )
        pieces[name] = _piece(path, name, value)
    for mesh in {id(piece.mesh): piece.mesh for piece in pieces.values() if piece.mesh is not None}.values():
        _check_rank(path, rank, mesh)
    return RankFile(rank, path, pieces, _mappings(path))


def _piece(path: Path, name: str, value: torch.Tensor) -> Piece:
    if not isinstance(value, ShardedTensorRecord):
        plain = _dense(path, name, value.detach())
        return Piece(plain, tuple(plain.shape), plain.dtype)
    try:
        local, spec = value.local, value.spec
        if not isinstance(local, torch.Tensor) or isinstance(local, ShardedTensorRecord):
            raise TypeError(f"its local part is a {type(local).__name__}")
        local = _dense(path, name, local.detach())
        piece = Piece(local, tuple(value.shape), local.dtype, spec.placements, spec.mesh)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise CheckpointError(f"{path}: {name} is a sharded tensor that can't be understood: {error}") from error
    if local.dtype != value.dtype:
        raise CheckpointError(f"{path}: {name} says {value.dtype} and holds {local.dtype}")
    return piece


def _check_rank(path: Path, rank: int, mesh: MeshRecord) -> None:
    try:
        saved_by = mesh.saved_by(rank)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        return  # a mesh that can't be understood is an error where it is read
    if saved_by not in (None, rank):
        raise CheckpointError(
            f"{path} was saved by rank {saved_by}, and its name says rank {rank}",
            hint="the files of the ranks were renamed or mixed up: copy them again from where they were saved",
        )


def _dense(path: Path, name: str, tensor: torch.Tensor) -> torch.Tensor:
    if tensor.layout is torch.strided and not tensor.is_meta:
        return tensor
    what = "is on the meta device and has no data" if tensor.is_meta else f"is stored as {tensor.layout}"
    raise CheckpointError(
        f"{path}: {name} {what}; expected a dense tensor", hint="save it as tensor.to_dense(), or leave it out"
    )


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def check_bytes(path: Path) -> bool:
    """Read a rank's file and compare each of its records with the CRC-32 that was written beside it.

    Returns:
        Whether there was anything to compare with: torch can be told to write none.

    Raises:
        CheckpointError: A record is not what was saved.
    """
    with zipfile.ZipFile(path) as archive:
        records = archive.infolist()
        if not any(record.CRC for record in records):
            return False
        for record in records:
            try:
                with archive.open(record) as stream:
                    while stream.read(_CHUNK):
                        pass
            except (zipfile.BadZipFile, OSError) as error:
                raise CheckpointError(
                    f"{path}: its record {record.filename} is not what was saved: {error}",
                    hint="the disk or the copy of this rank is damaged; copy it again, or convert an earlier step",
                ) from error
    return True


@contextmanager
def _only_our_allow_list() -> Iterator[None]:
    """The process's list of permitted classes, replaced by :data:`ALLOWED` for the time of one load."""
    with _ALLOW_LIST_LOCK:
        before = torch.serialization.get_safe_globals()
        torch.serialization.clear_safe_globals()
        torch.serialization.add_safe_globals([(record, name) for name, record in ALLOWED.items()])
        try:
            yield
        finally:
            torch.serialization.clear_safe_globals()
            torch.serialization.add_safe_globals(before)


def _unreadable(path: Path, error: Exception) -> CheckpointError:
    # torch's own text recommends weights_only=False, which runs whatever the file says. Keep the name only.
    text = str(error)
    named = re.search(r"GLOBAL ([\w.]+)", text) or re.search(r"unrecognized function (.+)", text)
    if named:
        return CheckpointError(
            f"{path} names {named.group(1)}, which no state dict needs; nothing was run",
            hint="a shard file holds tensors only. Don't load this file with another tool until you know who wrote it",
        )
    first = text.splitlines()[0] if text else type(error).__name__
    return CheckpointError(
        f"{path} can't be read: {first[:200]}",
        hint="the save or the copy of this rank was damaged; copy it again, or convert an earlier step",
    )


_MADV_DONTNEED = 4


@functools.cache
def _libc() -> Any:
    return ctypes.CDLL(None, use_errno=True)


def _mappings(path: Path) -> tuple[tuple[int, int], ...]:
    """Address ranges that this process maps from ``path``; none where the system doesn't say."""
    if sys.platform != "linux":
        return ()
    real = str(path.resolve())
    mappings: list[tuple[int, int]] = []
    for line in Path("/proc/self/maps").read_text().splitlines():
        parts = line.split(maxsplit=5)
        if len(parts) == 6 and parts[5] == real:
            low, high = (int(end, 16) for end in parts[0].split("-"))
            mappings.append((low, high))
    return tuple(mappings)
