"""What a conversion says about itself."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from .verify import Verification


@dataclass(frozen=True, slots=True)
class Report:
    """The outcome of :func:`trainer_glue.checkpoint.convert`."""

    out: Path
    checkpoint: Path
    step: int | None
    world_size: int
    mesh: str
    """Such as ``fsdp=8`` or ``ddp=2 x fsdp=4``; ``none`` where every tensor is plain."""
    dtype: str
    tensors: int
    parameters: int
    bytes_written: int
    files: list[str]
    """Safetensors files, relative to ``out``."""
    eos_token_ids: list[int]
    tied: list[str] = field(default_factory=list)
    """Names that are not stored because they share another one's weight."""
    lora: dict[str, Any] | None = None
    """``r``, ``lora_alpha`` and whether it was merged."""
    value_head: str | None = None
    non_finite: dict[str, dict[str, int]] = field(default_factory=dict)
    """Tensors with NaN or infinite entries, and how many."""
    warnings: list[str] = field(default_factory=list)
    verification: Verification | None = None
    seconds: float = 0.0

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {**asdict(self), "out": str(self.out), "checkpoint": str(self.checkpoint)}
