"""Proof of what was written, from the files themselves and before they get their name.

Four independent looks: the shards against the CRC-32s that they were saved with; each tensor's checksum, read back
through the safetensors library, against a second pass over the shards (where every copy that ranks hold of a piece must
agree as well); names, shapes and dtypes against the model class that the config names, built without memory; and, where
the model fits, loading it and a forward pass.
"""

from __future__ import annotations

import hashlib
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import torch

from rewardkit.errors import CheckpointError

from . import base
from .shards import check_bytes
from .tensors import Buffer, ShardedTensor, Source
from .writer import Output, as_bytes

_FLOAT8: Final = frozenset({torch.float8_e4m3fn, torch.float8_e5m2})


@dataclass(frozen=True, slots=True)
class Verification:
    """What was proved."""

    checksums: dict[str, str]
    """SHA-256 of each tensor's bytes, equal in the files and in the shards."""
    model_class: str | None = None
    """The class whose names, shapes and dtypes agree with the files."""
    forward: bool = False
    """Whether the model was loaded and gave finite outputs."""
    skipped: list[str] = field(default_factory=list)
    """What could not be looked at, and why."""


def verify(
    folder: Path,
    files: Sequence[Path],
    outputs: Sequence[Output],
    tensors: Iterable[Source],
    *,
    shards: Iterable[Path],
    has_adapter: bool,
    on_block: Callable[[int], None],
) -> Verification:
    """Check a written model.

    Args:
        folder: Where it is.
        files: Its safetensors files, the adapter's included.
        outputs: What the files should hold.
        tensors: The checkpoint's tensors, for the copies among ranks.
        shards: The ranks' files, for the checksums that they were saved with.
        has_adapter: A LoRA adapter lies beside the model.
        on_block: Called with the size of each block that was compared.

    Raises:
        CheckpointError: Something is not as it should be; names the tensors.
    """
    skipped = [f"shards: {path.name} was saved without checksums" for path in shards if not check_bytes(path)]
    for tensor in tensors:
        if isinstance(tensor, ShardedTensor):
            tensor.check_replicas()
    checksums = _compare(files, outputs, on_block)
    own = [output for output in outputs if not output.name.startswith("base_model.")]
    if not own:
        return Verification(checksums, skipped=[*skipped, "model: the files hold an adapter only"])
    model = _empty_model(folder, skipped)
    if model is None:
        return Verification(checksums, skipped=skipped)
    _check_structure(model, own)
    name = type(model).__name__
    size = sum(output.nbytes for output in outputs)
    if any(output.dtype in _FLOAT8 for output in own):
        skipped.append("forward pass: the weights are 8-bit floats, which no model class computes in")
        return Verification(checksums, model_class=name, skipped=skipped)
    room = _available_memory()
    if room < 1.3 * size + 1e9:
        skipped.append(f"forward pass: the model is {size / 1e9:.1f} GB and {room / 1e9:.1f} GB of memory are free")
        return Verification(checksums, model_class=name, skipped=skipped)
    _forward(type(model), folder, [output.name for output in own], skipped, has_adapter=has_adapter)
    return Verification(checksums, model_class=name, forward=True, skipped=skipped)


def _compare(files: Sequence[Path], outputs: Sequence[Output], on_block: Callable[[int], None]) -> dict[str, str]:
    stored: dict[str, Source] = {}
    for path in files:
        _forget_cached(path)
        stored |= base.open_file(path)
    if set(stored) != {output.name for output in outputs}:
        raise CheckpointError(f"the files hold {len(stored)} tensors and {len(outputs)} were written")
    checksums = {}
    buffer = Buffer()
    for output in outputs:
        written = stored[output.name]
        if (written.shape, written.dtype) != (output.source.shape, output.dtype):
            raise CheckpointError(
                f"{output.name}: the file has {written.shape} {written.dtype}, the checkpoint {output.source.shape}"
            )
        of_shards, of_file = hashlib.sha256(), hashlib.sha256()
        for block in output.blocks(buffer):
            of_shards.update(as_bytes(block))
            on_block(block.nbytes)
        for block in buffer.blocks(written, written.dtype):
            of_file.update(as_bytes(block))
        if of_shards.digest() != of_file.digest():
            raise CheckpointError(
                f"{output.name}: what is on the disk is not what the shards hold",
                hint="the disk or the memory of this machine is at fault; convert again elsewhere",
            )
        checksums[output.name] = of_file.hexdigest()
    return checksums


def _forget_cached(path: Path) -> None:
    """Have the next read come from the disk and not from the memory that the write went through."""
    if hasattr(os, "posix_fadvise"):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(descriptor)


def _empty_model(folder: Path, skipped: list[str]) -> Any:
    """The model that the config describes, on the meta device; None where its code isn't in transformers."""
    try:
        import transformers
    except ImportError:
        skipped.append("model: transformers is not installed")
        return None
    raw = (folder / "config.json").read_text(encoding="utf-8")
    if '"auto_map"' in raw:
        skipped.append("model: it is defined by code of its own, which is not run here")
        return None
    try:
        config = transformers.AutoConfig.from_pretrained(folder)
        (architecture,) = config.architectures or [None]
        model_class = getattr(transformers, str(architecture), None)
        if model_class is None:
            skipped.append(f"model: this transformers ({transformers.__version__}) has no {architecture}")
            return None
        with torch.device("meta"):
            model = model_class(config)
    except Exception as error:  # its classes raise their own kinds
        raise CheckpointError(f"transformers can't build the model that config.json describes: {error}") from error
    return model


def _check_structure(model: Any, outputs: Sequence[Output]) -> None:
    model.tie_weights()
    expected = {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}
    same: dict[int, set[str]] = defaultdict(set)
    for name, parameter in model.named_parameters(remove_duplicate=False):
        same[id(parameter)].add(name)
    aliases = {name: names for names in same.values() for name in names}
    written = {output.name: output for output in outputs}
    head = {name for name in written if name.startswith("v_head.")}  # TRL's wrapper keeps it outside the model
    missing = [name for name in expected if not written.keys() & aliases.get(name, {name})]
    unexpected = sorted(written.keys() - expected.keys() - head)
    shapes = [
        f"{name}: {written[name].source.shape}, the model wants {shape}"
        for name, shape in expected.items()
        if name in written and written[name].source.shape != shape
    ]
    kinds = [
        f"{name}: {output.dtype}, the model wants {tensor.dtype}"
        for name, tensor in model.state_dict().items()
        if (output := written.get(name)) and output.dtype.is_floating_point != tensor.dtype.is_floating_point
    ]
    problems = {"missing": missing, "unexpected": unexpected, "other shape": shapes, "other dtype": kinds}
    if faults := {kind: names for kind, names in problems.items() if names}:
        lines = [f"{kind} ({len(names)}): {', '.join(names[:5])}" for kind, names in faults.items()]
        raise CheckpointError(
            f"the tensors are not those of {type(model).__name__}:\n  " + "\n  ".join(lines),
            hint="is config.json that of the trained model? Another one can be given with --base",
        )


def _forward(model_class: Any, folder: Path, names: Sequence[str], skipped: list[str], *, has_adapter: bool) -> None:
    """Load as a user would, and run a few tokens."""
    if has_adapter:
        try:
            import peft  # noqa: F401
        except ImportError:
            skipped.append("adapter in the forward pass: peft is not installed")
    try:
        with _quiet():
            model, info = model_class.from_pretrained(folder, output_loading_info=True, dtype="auto")
    except Exception as error:
        raise CheckpointError(f"transformers can't load the result: {type(error).__name__}: {error}") from error
    lost = [name for key in ("missing_keys", "mismatched_keys", "error_msgs") for name in info.get(key) or ()]
    if lost:
        raise CheckpointError(f"transformers loads the result without {len(lost)} tensors: {lost[:5]}")
    strange = set(info.get("unexpected_keys") or ()) & {name for name in names if not name.startswith("v_head.")}
    if strange:
        raise CheckpointError(f"transformers ignores {len(strange)} tensors of the result: {sorted(strange)[:5]}")
    vocabulary = int(model.get_input_embeddings().weight.shape[0])
    ids = torch.arange(min(8, vocabulary)).unsqueeze(0)
    with torch.no_grad():
        logits = model.eval()(input_ids=ids).logits
    if not bool(torch.isfinite(logits).all()):
        raise CheckpointError(
            "the model's outputs are not finite on a forward pass",
            hint="a diverged run, or fp16 too narrow for its weights: try --dtype bf16",
        )


@contextmanager
def _quiet() -> Iterator[None]:
    """Without transformers' own progress bar inside ours."""
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


def _available_memory() -> float:
    """Bytes that can be had without pushing something out."""
    limits = []
    for path in (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes")):
        if path.is_file() and (text := path.read_text().strip()).isdecimal():
            limits.append(float(text))
    meminfo = Path("/proc/meminfo")
    if meminfo.is_file():
        for line in meminfo.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                limits.append(float(line.split()[1]) * 1024)
    return min(limits, default=0.0)
