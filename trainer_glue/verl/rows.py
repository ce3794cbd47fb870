"""From verl's DataProto to rewardkit's columns.

verl hands over dataset columns as numpy object arrays and responses as padded token ids. The versions differ in how
they say where a response ends: 0.9 gives ``response_len`` for each row, the others pad, and mask the padding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rewardkit.batch import Batch
from rewardkit.decoding import Decoder


@dataclass(frozen=True, slots=True)
class Row:
    """One response as it came from verl."""

    tokens: list[int]
    ground_truth: Any = None
    prompt: str | None = None
    data_source: str | None = None
    group: str | None = None
    extra_info: Mapping[str, Any] | None = None
    truncated: bool | None = None
    step: int | None = None


def row_of(item: Any, *, max_response_length: int | None = None, eos: frozenset[int] = frozenset()) -> Row:
    """The row of one item of a DataProto.

    Args:
        item: what ``data[i]`` gives: ``batch`` with ``responses`` (T,) and ``attention_mask`` (P + T,), and
            ``non_tensor_batch`` with the dataset's columns.
        max_response_length: the length at which verl cuts, to tell a cut response from a finished one.
        eos: the token ids that finish a response.
    """
    responses, columns = item.batch["responses"], item.non_tensor_batch
    width = int(responses.shape[-1])
    given = columns.get("response_len")
    length = int(given) if given is not None else int(item.batch["attention_mask"][-width:].sum()) if width else 0
    tokens = responses[:length].tolist()
    step = columns.get("global_steps")
    return Row(
        tokens=tokens,
        ground_truth=ground_truth_of(columns.get("reward_model")),
        prompt=prompt_of(columns.get("raw_prompt")),
        data_source=_text(columns.get("data_source")),
        group=_text(columns.get("uid")),
        extra_info=_mapping(columns.get("extra_info")),
        truncated=_truncated(tokens, max_response_length, eos),
        step=None if step is None else int(step),
    )


def batch_of(rows: Sequence[Row], decoder: Decoder, *, step: int | None = None) -> Batch:
    """Decode the responses and lay the rows out in columns."""
    return Batch(
        responses=decoder([r.tokens for r in rows]),
        ground_truths=[r.ground_truth for r in rows],
        prompts=[r.prompt for r in rows],
        data_sources=[r.data_source for r in rows],
        groups=[r.group for r in rows],
        extra_infos=[r.extra_info or {} for r in rows],
        truncated=[r.truncated for r in rows],
        tokens=[r.tokens for r in rows],
        step=step,
    )


def ground_truth_of(reward_model: Any) -> Any:
    """The gold of verl's ``reward_model`` column; None where there is none."""
    gold = _mapping(reward_model).get("ground_truth")
    if isinstance(gold, np.ndarray):
        return gold.tolist()
    return gold.item() if isinstance(gold, np.generic) else gold


def prompt_of(messages: Any) -> str | None:
    """The prompt's text: the contents of its chat messages, a blank line between them."""
    if messages is None:
        return None
    if isinstance(messages, str):
        return messages
    contents = [_mapping(m).get("content") for m in messages]
    return "\n\n".join(c for c in contents if isinstance(c, str))


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _truncated(tokens: list[int], most: int | None, eos: frozenset[int]) -> bool | None:
    if most is None or not eos:
        return None
    return len(tokens) >= most and tokens[-1] not in eos if tokens else False
