"""From the shards of a step to a Hugging Face folder: find, open, plan, write, verify, rename."""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import torch

from rewardkit.errors import CheckpointError, ParameterError

from . import base as base_model_files
from . import card, lora, sidecar
from .layout import Layout, find, read_json
from .plan import Plan, plan
from .report import Report
from .shards import RankFile, open_rank
from .staging import check_free, staged
from .tensors import ShardedTensor, assemble
from .verify import Verification, verify
from .writer import Output, write_file, write_model, write_text

Dtype = Literal["keep", "bf16", "fp16", "fp32"]
Progress = Callable[[int, int], None]

DTYPES: Mapping[Dtype, torch.dtype | None] = {
    "keep": None,
    "bf16": torch.bfloat16,
    "fp16": torch.float16,
    "fp32": torch.float32,
}
_SLACK = 64 << 20
"""Room for the files beside the tensors."""


def convert(
    checkpoint: str | Path,
    out: str | Path,
    *,
    step: int | Literal["latest"] = "latest",
    base: str | None = None,
    dtype: Dtype = "keep",
    max_shard_size: int | str = "5GB",
    merge_lora: bool = False,
    lora_alpha: float | None = None,
    critic: bool = False,
    verify_result: bool = False,
    progress: Progress | None = None,
) -> Report:
    """Convert a verl FSDP checkpoint to a Hugging Face folder.

    Tensors are streamed, so memory stays at a few blocks of 32 MB whatever the model's size. ``out`` appears when all
    of it is on the disk, or not at all.

    Args:
        checkpoint: A run, one of its ``global_step_N`` folders, or an ``actor`` folder.
        out: A new or empty folder.
        step: Which step of a run.
        base: The model that was trained, as a folder or a hub name: fills in config, tokenizer or generation config
            where the checkpoint lacks them, and an adapter's base weights.
        dtype: Of floating-point tensors; ``keep`` writes each as it was saved.
        max_shard_size: Largest output file, in bytes or as ``"5GB"``.
        merge_lora: Work a LoRA adapter into the weights. Without it the adapter is written in PEFT's form beside the
            base model.
        lora_alpha: LoRA's alpha, where the checkpoint (verl before 0.8) doesn't say.
        critic: Convert the value model, as a token classifier.
        verify_result: Check names, shapes, dtypes and checksums of what was written, and run it where it fits.
        progress: Called with bytes done and bytes in all.

    Returns:
        What was written, and what was found on the way.

    Raises:
        CheckpointError: The checkpoint is incomplete, inconsistent or unsafe, or the result can't be written.
        ParameterError: An argument that makes no sense.
    """
    started = time.perf_counter()
    if dtype not in DTYPES:
        raise ParameterError(f"dtype is {dtype!r}; expected one of {', '.join(DTYPES)}")
    max_bytes = parse_size(max_shard_size)
    target = Path(out)
    check_free(target)
    layout = find(Path(checkpoint), step=step, role="critic" if critic else "actor")
    files = {rank: open_rank(path, rank) for rank, path in layout.shards.items()}
    tensors = _assemble_all(files, layout)
    adapter_only = all(".lora_" in name for name in tensors)
    base_folder = sidecar.resolve_base(base, weights=adapter_only and merge_lora) if base else None
    side_files = sidecar.collect(layout, base_folder)
    source_config = read_json(side_files["config.json"])
    needs_base = adapter_only and merge_lora and base_folder is not None
    base_name = base or _trained_model(layout, source_config)
    meta = layout.lora_meta()
    chosen = plan(
        tensors,
        source_config,
        dtype=DTYPES[dtype],
        critic=critic,
        base_tensors=base_model_files.open_folder(base_folder) if needs_base and base_folder else None,
        merge_lora=merge_lora,
        lora_alpha=lora.first_alpha(
            lora_alpha, meta.get("lora_alpha"), layout.setting("actor_rollout_ref", "model", "lora_alpha")
        ),
        lora_task=meta.get("task_type"),
        base_model=base_name,
    )
    for tensor in tensors.values():
        if tensor.is_replicated:
            tensor.check_replicas()
    meter = _Meter(chosen.nbytes * (2 if verify_result else 1), progress)
    with staged(target, need_bytes=chosen.nbytes + _SLACK) as folder:
        with _one_thread():
            written = _write(folder, chosen, max_bytes, meter)
        config = sidecar.model_config(
            source_config, dtype=chosen.dtype, tied=chosen.tied, value_head_rows=chosen.value_head_rows
        )
        eos_ids = sidecar.write(folder, side_files, config, generates=chosen.value_head is None)
        if not chosen.outputs:
            # An adapter alone must not look like a model: tools go by config.json.
            for name in ("config.json", "generation_config.json"):
                (folder / name).unlink(missing_ok=True)
        verification = _verify(folder, chosen, written, tensors, layout, meter) if verify_result else None
        report = Report(
            out=target.resolve(),
            checkpoint=layout.folder,
            step=layout.step,
            world_size=layout.world_size,
            mesh=_mesh(files),
            dtype=chosen.dtype,
            tensors=len(chosen.outputs) + len(chosen.adapter_outputs),
            parameters=sum(math.prod(o.source.shape) for o in (*chosen.outputs, *chosen.adapter_outputs)),
            bytes_written=chosen.nbytes,
            files=[path.name for path in written],
            eos_token_ids=eos_ids,
            tied=chosen.dropped,
            lora=chosen.lora,
            value_head=chosen.value_head,
            non_finite=meter.non_finite,
            warnings=[*_missing_replicas(layout), *chosen.warnings, *meter.warnings(dtype)],
            verification=verification,
            seconds=time.perf_counter() - started,
        )
        card.write_card(folder, layout, report, base_name)
    return report


def parse_size(size: int | str) -> int:
    """Bytes from a number or from text such as ``"5GB"`` or ``"500MB"`` (powers of ten, as transformers reads them).

    Raises:
        ParameterError: It is neither.
    """
    matched = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMG]?)B?", str(size).strip().upper())
    if matched and float(matched[1]) > 0:
        return int(float(matched[1]) * {"": 1, "K": 10**3, "M": 10**6, "G": 10**9}[matched[2]])
    raise ParameterError(f"size {size!r}; expected bytes or a text such as '5GB'")


@contextmanager
def _one_thread() -> Iterator[None]:
    """Copies are bound by memory: more threads win little on a quiet machine and spin for nothing on a busy one."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


class _Meter:
    """Counts bytes for the progress bar, and looks for NaN and infinity on the way."""

    def __init__(self, total: int, progress: Progress | None) -> None:
        self.total, self.progress = total, progress
        self.done = 0
        self.non_finite: dict[str, dict[str, int]] = {}

    def advance(self, nbytes: int) -> None:
        """Some more bytes are done."""
        self.done += nbytes
        if self.progress is not None:
            self.progress(self.done, self.total)

    def written(self, output: Output, block: torch.Tensor) -> None:
        """A block was written."""
        self.advance(block.nbytes)
        if output.dtype.is_floating_point and output.dtype.itemsize > 1 and block.numel():
            low, high = torch.aminmax(block)  # NaN passes through; four times as fast as isfinite
            if not (math.isfinite(low.item()) and math.isfinite(high.item())):
                counts = self.non_finite.setdefault(output.name, {"nan": 0, "inf": 0})
                counts["nan"] += int(torch.isnan(block).sum())
                counts["inf"] += int(torch.isinf(block).sum())

    def warnings(self, dtype: Dtype) -> list[str]:
        """One line about what was found, if anything."""
        if not self.non_finite:
            return []
        names = list(self.non_finite)
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        why = "; the range of fp16 is narrow, bf16 may hold them" if dtype == "fp16" else ""
        return [f"NaN or infinite values in {', '.join(names[:3])}{more}{why}"]


def _assemble_all(files: Mapping[int, RankFile], layout: Layout) -> dict[str, ShardedTensor]:
    first_rank = min(files)
    names = files[first_rank].pieces.keys()
    for rank, file in files.items():
        if odd := sorted(names ^ file.pieces.keys()):
            has, lacks = (first_rank, rank) if odd[0] in names else (rank, first_rank)
            raise CheckpointError(
                f"rank {has} has {odd[0]} and rank {lacks} does not ({len(odd)} such names)",
                hint="the ranks' files are of different runs or steps",
            )
    if not names:
        raise CheckpointError(f"{layout.shards[first_rank]} holds no tensors")
    return {name: assemble(name, files) for name in names}


def _write(folder: Path, chosen: Plan, max_bytes: int, meter: _Meter) -> list[Path]:
    written = []
    if chosen.outputs:
        written += write_model(folder, chosen.outputs, max_bytes, meter.written)
    if chosen.adapter_config is not None:
        written.append(write_file(folder / "adapter_model.safetensors", chosen.adapter_outputs, meter.written))
        write_text(folder / "adapter_config.json", json.dumps(chosen.adapter_config, indent=2) + "\n")
    return written


def _verify(
    folder: Path,
    chosen: Plan,
    written: list[Path],
    tensors: Mapping[str, ShardedTensor],
    layout: Layout,
    meter: _Meter,
) -> Verification:
    if meter.non_finite:
        raise CheckpointError(
            f"{len(meter.non_finite)} tensors hold NaN or infinite values: {', '.join(list(meter.non_finite)[:5])}",
            hint="convert an earlier step, or leave out --verify to convert this one as it is",
        )
    return verify(
        folder,
        written,
        [*chosen.outputs, *chosen.adapter_outputs],
        tensors.values(),
        shards=layout.shards.values(),
        has_adapter=chosen.adapter_config is not None,
        on_block=meter.advance,
    )


def _mesh(files: Mapping[int, RankFile]) -> str:
    """The mesh of most dimensions: tensor parallelism may cut some tensors only."""
    rank, file = min(files.items())
    meshes = [piece.mesh for piece in file.pieces.values() if piece.mesh is not None]
    if not meshes:
        return "none"
    mesh = max(meshes, key=lambda mesh: len(mesh.names))
    shape = mesh.ranks(rank).shape
    names = mesh.names or tuple(f"dim{i}" for i in range(len(shape)))
    return " x ".join(f"{name}={size}" for name, size in zip(names, shape, strict=True))


def _missing_replicas(layout: Layout) -> list[str]:
    if not layout.missing_ranks:
        return []
    ranks = ", ".join(str(rank) for rank in layout.missing_ranks)
    return [f"no file of rank {ranks}; other ranks hold copies of their parts"]


def _trained_model(layout: Layout, config: Mapping[str, Any]) -> str | None:
    path = layout.setting("actor_rollout_ref", "model", "path") or config.get("_name_or_path")
    return str(path) if path else None
