"""Where each response ends: end-of-sequence tokens, stop tokens, stop texts, length, or an abort.

Kept row by row, as one batch holds requests with different wishes. The response includes what ended it, as vLLM's
token ids do.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Literal

import torch
from transformers import StoppingCriteria

from trainer_glue.verl.cpu.sampling import Sampling

StopReason = Literal["completed", "length", "aborted"]
"""verl's words: "completed" and "aborted" (verl/workers/rollout/replica.py:46), "length" (llm_server.py:333)."""


class StopRules(StoppingCriteria):  # type: ignore[misc]
    """Notes each row's end, and stops generation when all rows have ended.

    Args:
        sampling: one for each row.
        width: of the padded prompts.
        eos: the model's end-of-sequence tokens.
        decode: token ids to text, for stop texts.
        abort: when set, whatever has not ended is aborted.
    """

    def __init__(
        self,
        sampling: Sequence[Sampling],
        width: int,
        eos: frozenset[int],
        decode: Callable[[list[int]], str],
        abort: threading.Event,
    ) -> None:
        self._sampling = sampling
        self._width = width
        self._decode = decode
        self._abort = abort
        self._ids = [set(row.stop_token_ids) | (set() if row.ignore_eos else eos) for row in sampling]
        self.lengths: list[int | None] = [None] * len(sampling)
        self.reasons: list[StopReason] = ["aborted"] * len(sampling)

    def __call__(self, input_ids: torch.Tensor, scores: object, **kwargs: object) -> torch.Tensor:
        """Which rows have ended, shape (rows,)."""
        length = input_ids.shape[1] - self._width
        aborted = self._abort.is_set()
        for row, token in enumerate(input_ids[:, -1].tolist()):
            if self.lengths[row] is not None:
                continue
            reason = self._reason(row, token, length, input_ids)
            if reason is None and aborted:
                reason = "aborted"
            if reason is not None:
                self.lengths[row], self.reasons[row] = length, reason
        return torch.tensor([end is not None for end in self.lengths])

    def _reason(self, row: int, token: int, length: int, input_ids: torch.Tensor) -> StopReason | None:
        wish = self._sampling[row]
        if length >= wish.min_tokens:
            if token in self._ids[row]:
                return "completed"
            if wish.stop:
                text = self._decode(input_ids[row, self._width :].tolist())
                if any(stop in text for stop in wish.stop):
                    return "completed"
        return "length" if length >= wish.max_tokens else None
