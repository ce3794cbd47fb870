"""Whether the model's weight files are whole: by their headers and sizes; no weight is read.

The format is a length of 8 bytes, a JSON header of that length with each tensor's offsets, and the data
(huggingface.co/docs/safetensors). A download that broke off and a pointer of Git LFS are found in no time.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from trainer_glue.verl.config.diagnostics import ConfigDiagnostic
from trainer_glue.verl.preflight.subject import MODEL, Subject

_LONGEST_HEADER: Final = 100_000_000
"""Bytes; what safetensors itself takes at most."""
_POINTER: Final = b"version https://git-lfs"


def check_weights(subject: Subject) -> Iterator[ConfigDiagnostic]:
    """Broken files of the model's folder, where it is one on this machine."""
    key = f"{MODEL}.path"
    if key in subject.resolved.made or not isinstance(subject.get(key), str):
        return
    for path, why in broken(Path(subject.get(key)).expanduser()):
        fix = "git lfs pull" if "Git LFS" in why else "download it again"
        yield subject.diagnostic("RKD903", key, f"{path} {why}", fix)


def broken(folder: Path) -> Iterator[tuple[Path, str]]:
    """The files that are not whole, and why."""
    for path in sorted(folder.glob("*.safetensors")) if folder.is_dir() else ():
        why = _fault(path)
        if why is not None:
            yield path, why


def _fault(path: Path) -> str | None:
    size = path.stat().st_size
    with path.open("rb") as file:
        start = file.read(8)
        if start == _POINTER[:8]:
            return "is a pointer of Git LFS, not the file"
        length = int.from_bytes(start, "little")
        if len(start) < 8 or not 2 <= length <= min(size - 8, _LONGEST_HEADER):
            return f"is not a safetensors file: {size:,} bytes, without a header"
        try:
            header = json.loads(file.read(length))
            offsets = [entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__"]
        except (ValueError, AttributeError, KeyError, TypeError, IndexError):
            return "is not a safetensors file: its header can't be read"
    wanted = 8 + length + max(offsets, default=0)
    return None if size == wanted else f"has {size:,} bytes; its header says {wanted:,}"
