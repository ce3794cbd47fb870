"""Writing safetensors files as a stream.

The format is eight bytes of header length, a JSON header with dtype, shape and byte range of each tensor, and the
bytes. Everything in the header is known before a tensor is read, so a file of any size is written with one block in
memory; the safetensors library's own ``save_file`` wants every tensor of a file at once.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import torch

from rewardkit.errors import CheckpointError

from .tensors import BLOCK_BYTES, Buffer, Source

DTYPES: Final[dict[torch.dtype, str]] = {
    torch.float64: "F64",
    torch.float32: "F32",
    torch.float16: "F16",
    torch.bfloat16: "BF16",
    torch.float8_e4m3fn: "F8_E4M3",
    torch.float8_e5m2: "F8_E5M2",
    torch.int64: "I64",
    torch.int32: "I32",
    torch.int16: "I16",
    torch.int8: "I8",
    torch.uint8: "U8",
    torch.bool: "BOOL",
}
CASTABLE: Final = frozenset({torch.float64, torch.float32, torch.float16, torch.bfloat16})
"""Dtypes that a requested dtype replaces. Integers and scaled 8-bit floats mean something else: they stay."""


@dataclass(frozen=True, slots=True)
class Output:
    """One tensor of the result: where it comes from, and the name and dtype it is written with."""

    name: str
    source: Source
    dtype: torch.dtype

    @property
    def nbytes(self) -> int:
        """Bytes in the file."""
        return math.prod(self.source.shape) * int(self.dtype.itemsize)

    def blocks(self, buffer: Buffer) -> Iterator[torch.Tensor]:
        """Consecutive blocks of rows in the output's dtype, each valid until the next but one."""
        return buffer.blocks(self.source, self.dtype)


def output_dtype(stored: torch.dtype, wanted: torch.dtype | None) -> torch.dtype:
    """The dtype a tensor is written with; ``wanted=None`` keeps what is stored."""
    return stored if wanted is None or stored not in CASTABLE else wanted


def split(outputs: Sequence[Output], max_bytes: int) -> list[list[Output]]:
    """Files of at most ``max_bytes`` of tensors each, in order; a tensor above the limit has a file of its own."""
    files: list[list[Output]] = [[]]
    room = max_bytes
    for output in outputs:
        if files[-1] and output.nbytes > room:
            files.append([])
            room = max_bytes
        files[-1].append(output)
        room -= output.nbytes
    return files


def write_model(
    folder: Path, outputs: Sequence[Output], max_bytes: int, on_block: Callable[[Output, torch.Tensor], None]
) -> list[Path]:
    """Write a model's tensors, with an index where there is more than one file.

    Args:
        folder: An existing folder.
        outputs: What to write, in the order of the state dict.
        max_bytes: Size of tensors in one file.
        on_block: Called with each block.

    Returns:
        The files, in order.
    """
    groups = split(outputs, max_bytes)
    if len(groups) == 1:
        return [write_file(folder / "model.safetensors", groups[0], on_block)]
    weight_map: dict[str, str] = {}
    paths = []
    for i, group in enumerate(groups, start=1):
        path = folder / f"model-{i:05d}-of-{len(groups):05d}.safetensors"
        paths.append(write_file(path, group, on_block))
        weight_map.update({output.name: path.name for output in group})
    index = {
        "metadata": {
            "total_parameters": sum(math.prod(output.source.shape) for output in outputs),
            "total_size": sum(output.nbytes for output in outputs),
        },
        "weight_map": dict(sorted(weight_map.items())),
    }
    write_text(folder / "model.safetensors.index.json", json.dumps(index, indent=2) + "\n")
    return paths


def write_file(path: Path, outputs: Sequence[Output], on_block: Callable[[Output, torch.Tensor], None]) -> Path:
    """Write one safetensors file and flush it to the disk."""
    # Wide dtypes first keeps every tensor aligned to its own size, as the reference implementation lays them out.
    ordered = sorted(outputs, key=lambda output: -output.dtype.itemsize)
    buffer = Buffer()
    with path.open("xb", buffering=0) as file, ThreadPoolExecutor(1) as writer:
        written = writer.submit(_write_all, file, _header(ordered))
        for output in ordered:
            for block in output.blocks(buffer):
                written.result()  # the other half of the buffer is free again, and its errors are seen
                written = writer.submit(_write_all, file, as_bytes(block))
                on_block(output, block)
        written.result()
        os.fsync(file.fileno())
    return path


def write_text(path: Path, text: str) -> Path:
    """Write a small text file and flush it to the disk."""
    with path.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    return path


def as_bytes(block: torch.Tensor) -> memoryview:
    """The bytes of a contiguous tensor, not copied."""
    return memoryview(block.reshape(-1).view(torch.uint8).numpy())


def _header(outputs: Sequence[Output]) -> bytes:
    entries: dict[str, Mapping[str, Any]] = {"__metadata__": {"format": "pt"}}
    offset = 0
    for output in outputs:
        if output.dtype not in DTYPES:
            raise CheckpointError(f"{output.name} is {output.dtype}, which safetensors files can't hold")
        end = offset + output.nbytes
        shape = list(output.source.shape)
        entries[output.name] = {"dtype": DTYPES[output.dtype], "shape": shape, "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(entries, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text


def _write_all(file: Any, data: bytes | memoryview) -> None:
    """An unbuffered write may take less than it was given."""
    view = memoryview(data)
    while view:
        view = view[file.write(view[:BLOCK_BYTES]) :]
