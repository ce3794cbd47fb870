"""The trainer's end of the rollout: it lives in every rank and pushes the weights to that rank's server.

verl hands over the full tensors one by one (gathering each is a collective, so every rank must take all of them);
they leave in parts of bounded size, and no second copy of the model is ever held here.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from typing import Any

import numpy as np
import ray
import torch
from verl.utils.torch_dtypes import PrecisionType
from verl.workers.rollout.base import BaseRollout

from rewardkit.errors import ConfigError
from trainer_glue.verl.cpu.replica import server_name


class CpuRollout(BaseRollout):  # type: ignore[misc]
    """Pushes weights; the requests go to the server by themselves."""

    def __init__(self, config: Any, model_config: Any, device_mesh: Any, replica_rank: int = -1) -> None:
        super().__init__(config, model_config, device_mesh)
        # One server for each rank (CpuReplica refuses anything else), so the ranks number the replicas.
        self.replica_rank = replica_rank if replica_rank >= 0 else int(os.environ["RANK"])
        self._dtype = PrecisionType.to_dtype(self.config.dtype)
        self._part_bytes = self.config.checkpoint_engine.update_weights_bucket_megabytes << 20

    async def resume(self, tags: list[str]) -> None:
        """Take the rollout's memory back: it never gave any."""

    async def release(self) -> None:
        """Give the rollout's memory back: there is no device memory to give."""

    async def update_weights(
        self,
        weights: Generator[tuple[str, torch.Tensor], None, None],
        global_steps: int | None = None,
        wire_format: str = "named_tensors",
        peft_config: Any = None,
        **kwargs: Any,
    ) -> None:
        """Push the weights to the server.

        Args:
            weights: names and full tensors.
            global_steps: the step that they belong to.
            wire_format: "named_tensors"; the other, deltas, comes with engines that this rollout is not for.
            peft_config: not None when only a LoRA adapter's weights are sent.
            kwargs: verl's further hints, for adapters.

        Raises:
            ConfigError: deltas, or an adapter without its base.
        """
        if wire_format != "named_tensors":
            raise ConfigError(f"weights came as {wire_format!r}; the CPU rollout takes named tensors only")
        if peft_config is not None:
            raise ConfigError(
                "LoRA weights came as an adapter; the CPU rollout takes merged weights",
                hint="set actor_rollout_ref.model.lora.merge=True",
            )
        server = ray.get_actor(server_name(self.replica_rank))
        part: list[tuple[str, str, tuple[int, ...], np.ndarray[Any, Any]]] = []
        size = 0
        for name, tensor in weights:
            tensor = tensor.detach().to(self._dtype)
            if part and size + tensor.nbytes > self._part_bytes:
                await server.load_weights.remote(part, False)
                part, size = [], 0
            part.append((name, str(tensor.dtype).removeprefix("torch."), tuple(tensor.shape), _bytes(tensor)))
            size += tensor.nbytes
        await server.load_weights.remote(part, True, global_steps)


def _bytes(tensor: torch.Tensor) -> np.ndarray[Any, Any]:
    # NumPy has no bfloat16; Ray ships arrays of bytes without pickling them element by element.
    data: np.ndarray[Any, Any] = tensor.contiguous().reshape(-1).view(torch.uint8).numpy()
    return data
