"""verl's reward model on a machine without an accelerator: vLLM's `/classify`, answered by transformers.

The class itself knows no Ray: :mod:`~trainer_glue.verl.cpu.replica` makes it an actor beside the trainer's ranks.
"""

from __future__ import annotations

import asyncio
import math
import socket
from typing import Any

import torch

from trainer_glue.reward_models import LocalRewardModel
from trainer_glue.verl.cpu.cores import share_of_cores


class RewardServer:
    """Serves one reward model over HTTP.

    Args:
        path: the model's folder.
        replicas: how many servers share the machine.
    """

    def __init__(self, path: str, replicas: int) -> None:
        torch.set_num_threads(share_of_cores(replicas))
        self._model = LocalRewardModel(path)
        self._serving: asyncio.Task[None] | None = None

    async def start(self, host: str) -> str:
        """Serve, and say where: host and port."""
        import uvicorn

        listening = socket.create_server((host, 0))
        server = uvicorn.Server(uvicorn.Config(self.app(), log_level="warning"))
        self._serving = asyncio.create_task(server.serve(sockets=[listening]))
        while not server.started:
            await asyncio.sleep(0.01)
        return f"{host}:{listening.getsockname()[1]}"

    def app(self) -> Any:
        """The ASGI application."""
        from starlette.applications import Starlette
        from starlette.responses import JSONResponse
        from starlette.routing import Route

        async def classify(request: Any) -> Any:
            body = await request.json()
            texts = [body["messages"]] if "messages" in body else body["input"]
            single = isinstance(texts, str) or (texts and isinstance(texts[0], int))
            ids = [self._tokens(text) for text in ([texts] if single else texts)]
            scores = await asyncio.to_thread(self._model.scores_of_tokens, ids)
            if body.get("use_activation", True):
                scores = [1 / (1 + math.exp(-score)) for score in scores]
            data = [{"index": i, "label": "LABEL_0", "probs": [s], "num_classes": 1} for i, s in enumerate(scores)]
            read = sum(map(len, ids))
            usage = {"prompt_tokens": read, "total_tokens": read, "completion_tokens": 0}
            return JSONResponse({"object": "list", "model": body.get("model"), "data": data, "usage": usage})

        async def health(request: Any) -> Any:
            return JSONResponse({})

        return Starlette(
            routes=[Route("/classify", classify, methods=["POST"]), Route("/health", health, methods=["GET"])]
        )

    def _tokens(self, text: Any) -> list[int]:
        """What is read: token ids, a conversation, or a text with the tokenizer's own special tokens around it."""
        if isinstance(text, str):
            return list(self._model.tokenizer(text)["input_ids"])
        return list(text) if isinstance(text[0], int) else self._model.tokens(text)

    async def wake_up(self, tags: list[str] | None = None) -> None:
        """Take memory back after :meth:`sleep`: nothing was given."""

    async def sleep(self) -> None:
        """Give memory to the trainer: there is no device to clear."""
