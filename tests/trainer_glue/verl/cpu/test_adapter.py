"""The trainer's end of the rollout: weights arrive whole, in parts of bounded size."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("verl")

from rewardkit.errors import ConfigError
from tests.trainer_glue.verl.cpu.models import tiny_model
from tests.trainer_glue.verl.tokenizers import byte_tokenizer
from trainer_glue.verl.cpu import adapter
from trainer_glue.verl.cpu.engine import Engine
from trainer_glue.verl.cpu.server import CpuServer


class Handle:
    """A server in this process, called as an actor is; notes the bytes of each part."""

    def __init__(self, server: CpuServer) -> None:
        self.parts: list[int] = []
        self.load_weights = SimpleNamespace(remote=self._load)
        self._server = server

    async def _load(self, part: Any, last: bool, global_steps: int | None = None) -> None:
        self.parts.append(sum(data.nbytes for *_, data in part))
        await self._server.load_weights(part, last, global_steps)


def push(
    monkeypatch: pytest.MonkeyPatch, model: Any, *, dtype: str = "float32", part_bytes: int = 1 << 28, **extra: Any
) -> tuple[Engine, list[int]]:
    torch_dtype = getattr(torch, dtype)
    engine = Engine(model.config, byte_tokenizer(), dtype=torch_dtype)

    async def both() -> list[int]:
        handle = Handle(CpuServer(engine, SimpleNamespace()))
        monkeypatch.setattr(adapter.ray, "get_actor", lambda name: handle)
        rollout = object.__new__(adapter.CpuRollout)
        rollout.replica_rank, rollout._dtype, rollout._part_bytes = 0, torch_dtype, part_bytes
        await rollout.update_weights(iter(model.state_dict().items()), global_steps=1, **extra)
        return handle.parts

    return engine, asyncio.run(both())


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_the_server_ends_up_with_the_trainers_weights(monkeypatch: pytest.MonkeyPatch, dtype: str) -> None:
    model = tiny_model()
    engine, _ = push(monkeypatch, model, dtype=dtype)
    for mine, theirs in zip(engine.model.parameters(), model.parameters(), strict=True):
        assert torch.equal(mine, theirs.to(mine.dtype))


def test_no_part_is_larger_than_its_bound_or_one_tensor(monkeypatch: pytest.MonkeyPatch) -> None:
    model = tiny_model()
    largest = max(tensor.nbytes for tensor in model.state_dict().values())
    engine, parts = push(monkeypatch, model, part_bytes=largest)
    assert max(parts) <= largest
    assert len(parts) > 1
    assert sum(parts) == sum(tensor.nbytes for tensor in model.state_dict().values())
    assert engine.loaded


@pytest.mark.parametrize(
    ("extra", "message"),
    [({"peft_config": object()}, "LoRA weights came as an adapter"), ({"wire_format": "delta_flush"}, "delta_flush")],
)
def test_what_is_not_whole_weights_is_refused(
    monkeypatch: pytest.MonkeyPatch, extra: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        push(monkeypatch, tiny_model(), **extra)
