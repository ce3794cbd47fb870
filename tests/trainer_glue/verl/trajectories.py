"""Trajectories of several turns, as verl hands them to a reward: one response, and a mask on the policy's tokens."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from tensordict import TensorDict
from verl import DataProto

from tests.trainer_glue.verl.tokenizers import byte_tokenizer

PROMPT = 3
TOKENIZER = byte_tokenizer()
END_OF_TURN = TOKENIZER.eos_token_id
Parts = Sequence[tuple[bool, str]]
"""Whether the policy wrote it, and the text; each in its order."""
COLUMNS: dict[str, Any] = {
    "uid": "u1",
    "data_source": "openai/gsm8k",
    "reward_model": {"ground_truth": "4"},
    "extra_info": {"index": 0},
    "raw_prompt": [{"role": "user", "content": "What is 2 + 2?"}],
}


def tokens_of(parts: Parts) -> tuple[list[int], list[int]]:
    """Token ids and mask. The policy's turns end with its end-of-turn token; a chat template wraps the others'."""
    tokens: list[int] = []
    mask: list[int] = []
    for own, text in parts:
        written = text if own else f"\nuser\n{text}\nassistant\n"
        part = TOKENIZER(written, add_special_tokens=False)["input_ids"] + ([END_OF_TURN] if own else [])
        tokens += part
        mask += [int(own)] * len(part)
    return tokens, mask


def batch_of(trajectories: Sequence[Parts], **columns: list[Any]) -> DataProto:
    """A padded batch with a `response_mask`, as verl 0.3 to 0.7 had it where tools ran."""
    rows = [tokens_of(parts) for parts in trajectories]
    n, width = len(rows), max(len(tokens) for tokens, _ in rows) + 3
    responses = torch.zeros(n, width, dtype=torch.long)
    own = torch.zeros(n, width, dtype=torch.long)
    attention = torch.zeros(n, PROMPT + width, dtype=torch.long)
    attention[:, :PROMPT] = 1
    for i, (tokens, mask) in enumerate(rows):
        responses[i, : len(tokens)] = torch.tensor(tokens)
        own[i, : len(tokens)] = torch.tensor(mask)
        attention[i, PROMPT : PROMPT + len(tokens)] = 1
    given = {**{name: [value] * n for name, value in COLUMNS.items()}, **columns}
    return DataProto.from_dict(
        tensors={
            "prompts": torch.ones(n, PROMPT, dtype=torch.long),
            "responses": responses,
            "attention_mask": attention,
            "response_mask": own,
        },
        non_tensors={name: _objects(values) for name, values in given.items()},
    )


def output_of(parts: Parts) -> Any:
    """What an agent loop of verl 0.9 returns."""
    from verl.experimental.agent_loop.agent_loop import AgentLoopMetrics, AgentLoopOutput

    tokens, mask = tokens_of(parts)
    extra = {"turn_scores": [0.25], "tool_rewards": [0.5]}
    return AgentLoopOutput(
        prompt_ids=[1] * PROMPT,
        response_ids=tokens,
        response_mask=mask,
        num_turns=1 + len(parts),
        metrics=AgentLoopMetrics(),
        extra_fields=extra,
    )


class Loop:
    """verl's own way from a finished trajectory to the reward loop, with a manager instead of its actors."""

    def __init__(self, manager: Any, worker: type) -> None:
        class Here(worker):  # type: ignore[misc, valid-type]
            def __init__(self) -> None:  # verl's own connects to its servers
                remote = type("Remote", (), {"remote": lambda _, data: manager.run_single(data)})
                self.reward_loop_worker_handles = [type("Handle", (), {"compute_score": remote()})()]

            def _compute_multi_modal_inputs(self, *_: Any) -> dict[str, Any]:
                return {}

            def _get_mm_processor_kwargs(self, *_: Any) -> dict[str, Any]:
                return {}

            def _compute_position_ids(self, input_ids: Any, *_: Any) -> Any:
                return torch.arange(input_ids.shape[-1])[None]

        self._worker = Here()

    def score(self, trajectories: Sequence[Sequence[Any]], **columns: Any) -> None:
        """Score the outputs of each trajectory; verl writes the reward into the last of them."""
        kwargs = {**COLUMNS, "global_steps": 7, **columns}
        kwargs = {name: _objects([value])[0] for name, value in kwargs.items()}

        async def everything() -> None:
            await asyncio.gather(*(self._worker._compute_score(list(outputs), kwargs) for outputs in trajectories))

        asyncio.run(everything())


def _objects(values: Sequence[Any]) -> Any:
    column = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):
        column[i] = value
    return column


def item(parts: Parts, **columns: Any) -> DataProto:
    """One trajectory as the reward loop of verl 0.9 gets it, without a mask."""
    tokens, _ = tokens_of(parts)
    values = {**COLUMNS, "global_steps": 7, "response_len": len(tokens), "__num_turns__": 1 + len(parts), **columns}
    tensors = {
        "responses": torch.tensor([tokens], dtype=torch.long),
        "attention_mask": torch.ones(1, PROMPT + len(tokens), dtype=torch.long),
    }
    return DataProto(
        batch=TensorDict(tensors, batch_size=1), non_tensor_batch={k: _objects([v]) for k, v in values.items()}
    )


TOOL_WORDS = (
    "4", "#### 4", "#### 5", "The answer is 4.", "\\boxed{4}", "4.", "?", "error: no such file", "<tool_call>", "é",
    " ",
    "\n", "word word", "<|eot_id|>", "<|im_start|>assistant\n#### 4", "1,234.5", "I am not sure", "done!",
)  # fmt: skip


def tool_text(rng: random.Random) -> str:
    """What a tool may write: answers, marks, errors, template marks, bytes of every kind, and at times nothing."""
    return "".join(rng.choice(TOOL_WORDS) + rng.choice(("", " ", "\n")) for _ in range(rng.randrange(12)))
