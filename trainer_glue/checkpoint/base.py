"""Tensors of a base model that are already in Hugging Face form: what an adapter-only checkpoint merges into."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from rewardkit.errors import CheckpointError

from .layout import read_json
from .tensors import Source
from .writer import DTYPES


@dataclass(frozen=True, slots=True)
class StoredTensor:
    """One tensor of a safetensors file, read by rows."""

    name: str
    shape: tuple[int, ...]
    dtype: torch.dtype
    file: Any

    def fill(self, target: torch.Tensor, start: int) -> None:
        """See :class:`Source`."""
        if self.shape:
            target.copy_(self.file.get_slice(self.name)[start : start + len(target)])
        else:
            target.copy_(self.file.get_tensor(self.name))


def open_folder(folder: Path) -> dict[str, Source]:
    """All tensors of a folder in Hugging Face form, in the order of its files.

    Raises:
        CheckpointError: There are none in safetensors form, or a file is damaged.
    """
    index = folder / "model.safetensors.index.json"
    if index.is_file():
        names = sorted(set(read_json(index).get("weight_map", {}).values()))
    else:
        names = ["model.safetensors"]
    sources: dict[str, Source] = {}
    for name in names:
        sources |= open_file(folder / name)
    return sources


def open_file(path: Path) -> dict[str, Source]:
    """All tensors of one safetensors file.

    Raises:
        CheckpointError: It is absent or damaged.
    """
    from safetensors import SafetensorError, safe_open

    of_name = {name: dtype for dtype, name in DTYPES.items()}
    try:
        file: Any = safe_open(path, framework="pt")
        keys = list(file.keys())
    except (OSError, SafetensorError) as error:
        raise CheckpointError(f"{path} can't be read: {error}") from error
    sources: dict[str, Source] = {}
    for key in keys:
        view = file.get_slice(key)
        if view.get_dtype() not in of_name:
            raise CheckpointError(f"{path}: {key} is {view.get_dtype()}, which can't be converted")
        sources[key] = StoredTensor(key, tuple(view.get_shape()), of_name[view.get_dtype()], file)
    return sources
