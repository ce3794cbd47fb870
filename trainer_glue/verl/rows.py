"""From verl's DataProto to rewardkit's columns.

verl hands over dataset columns as numpy object arrays and responses as padded token ids. The versions differ in how
they say where a response ends: 0.9 gives ``response_len`` for each row, the others pad, and mask the padding. Where a
response has several turns, a row is about the one that is scored; see :mod:`trainer_glue.verl.own`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from rewardkit.batch import Batch
from rewardkit.engine.detokenizer import Decoder
from rewardkit.turns import Turn
from trainer_glue.adapters.messages import TURNS_OF_ONE_ANSWER, prompt_text
from trainer_glue.verl.own import OWN, Trajectory, trajectory_of, turns_of


class Row(NamedTuple):
    """One response as it came from verl."""

    tokens: Sequence[int]
    """Those of the text that is scored: a list, or a view of the batch's array."""
    truncated: bool | None
    ground_truth: Any
    prompt: str | None
    data_source: str | None
    group: str | None
    extra_info: Mapping[str, Any]
    step: int | None
    trajectory: Trajectory | None = None
    """Where the policy did not write all of the response: the whole of it."""
    chat: Any = None
    """The prompt's messages."""
    whose_is_unknown: bool = False
    """Whether the response has several turns and nothing says which tokens are the policy's."""
    earlier: tuple[Row, ...] = ()
    """The outputs before it, where an agent loop makes several of one trajectory."""

    @property
    def is_empty(self) -> bool:
        """Whether there is not a single token, of whomever."""
        return self.trajectory is None and len(self.tokens) == 0


def row_of(
    item: Any,
    decoder: Decoder,
    *,
    max_response_length: int | None = None,
    end_tokens: frozenset[int] = frozenset(),
) -> Row:
    """The row of one item of a DataProto.

    Args:
        item: what ``data[i]`` gives: ``batch`` with ``responses`` (T,) and ``attention_mask`` (P + T,), and
            ``non_tensor_batch`` with the dataset's columns.
        decoder: of the policy's tokenizer, to find the turn that says something.
        max_response_length: the length at which verl cuts, to tell a cut response from a finished one.
        end_tokens: the token ids that finish a response.
    """
    responses, columns = item.batch["responses"], item.non_tensor_batch
    width = int(responses.shape[-1])
    given = columns.get("response_len")
    length = (
        max(0, int(given)) if given is not None else int(item.batch["attention_mask"][-width:].sum()) if width else 0
    )
    tokens = responses[:length].tolist()
    known, own = _own(item, length)
    trajectory = trajectory_of(tokens, own, decoder)
    row = Row(
        tokens if trajectory is None else tokens[trajectory.scored],
        _truncated(tokens, max_response_length, end_tokens),
        *(read(columns.get(column)) for column, read in _READERS.items()),
    )
    row = row._replace(
        extra_info=with_extra_fields(row.extra_info, columns.get("tool_extra_fields")), chat=columns.get("raw_prompt")
    )
    return row if known and trajectory is None else row._replace(trajectory=trajectory, whose_is_unknown=not known)


def _own(item: Any, length: int) -> tuple[bool, Any]:
    """Whether it is known which of an item's tokens are the policy's, and the mask; None where all of them are."""
    columns = item.non_tensor_batch
    extra = columns.get("tool_extra_fields")
    if isinstance(extra, Mapping) and OWN in extra:
        return True, extra[OWN]
    if "response_mask" in item.batch:
        return True, item.batch["response_mask"][:length].cpu().numpy()
    turns = columns.get("__num_turns__")
    return turns is None or int(turns) <= TURNS_OF_ONE_ANSWER, None


def rows_of(
    data: Any,
    decoder: Decoder,
    *,
    max_response_length: int | None = None,
    end_tokens: frozenset[int] = frozenset(),
) -> list[Row]:
    """All rows of a DataProto, as `row_of` reads them one by one; tokens are views of one array."""
    columns = data.non_tensor_batch
    responses = data.batch["responses"].cpu().numpy()
    n, width = responses.shape
    given = columns.get("response_len")
    lengths = data.batch["attention_mask"].cpu().numpy()[:, -width:].sum(axis=1) if width else np.zeros(n, dtype=int)
    if given is not None:
        lengths = np.asarray(given, dtype=int).clip(0)

    def read_all(column: str, read: Callable[[Any], Any]) -> list[Any]:
        values = columns.get(column)
        return [read(None)] * n if values is None else [read(value) for value in values]

    tokens = [responses[i, :length] for i, length in enumerate(lengths.tolist())]
    truncated = [_truncated(ids, max_response_length, end_tokens) for ids in tokens]
    read = [read_all(column, reader) for column, reader in _READERS.items()]
    rows = list(map(Row, tokens, truncated, *read))
    if "response_mask" in data.batch:
        own = data.batch["response_mask"].cpu().numpy().astype(np.bool_)
        inside = np.arange(width) < np.asarray(lengths)[:, None]
        for i in np.flatnonzero((inside & ~own).any(axis=1)).tolist():
            trajectory = trajectory_of(tokens[i], own[i], decoder)
            assert trajectory is not None
            rows[i] = rows[i]._replace(tokens=tokens[i][trajectory.scored], trajectory=trajectory)
    return rows


def batch_of(
    rows: Sequence[Row], decoder: Decoder, *, step: int | None = None, tokens: bool = True, turns: bool = False
) -> Batch:
    """Decode the responses and lay the rows out in columns.

    Args:
        rows: the rows.
        decoder: of the policy's tokenizer.
        step: the training step.
        tokens: whether somebody reads the token ids, too; as lists they take ten times the memory of their text.
        turns: whether somebody reads the turns; rows without any have the response as the only one.
    """
    return Batch(
        responses=decoder([r.tokens for r in rows]),
        ground_truths=[r.ground_truth for r in rows],
        prompts=[r.prompt for r in rows],
        data_sources=[r.data_source for r in rows],
        groups=[r.group for r in rows],
        extra_infos=[r.extra_info for r in rows],
        truncated=[r.truncated for r in rows],
        tokens=[_as_list(r.tokens) for r in rows] if tokens else None,
        turns=[_turns(r, decoder) if r.trajectory or r.earlier else None for r in rows] if turns else None,
        chats=[r.prompt if r.chat is None else r.chat for r in rows],
        step=step,
    )


def _turns(row: Row, decoder: Decoder) -> tuple[Turn, ...]:
    """All turns of a trajectory, over all its outputs."""
    before = [turn for output in row.earlier for turn in _turns(output, decoder)]
    own = turns_of(row.trajectory, decoder) if row.trajectory else (Turn(decoder([row.tokens])[0]),)
    return (*before, *own)


def ground_truth_of(reward_model: Any) -> Any:
    """The ground truth of verl's ``reward_model`` column; None where there is none."""
    truth = _mapping(reward_model).get("ground_truth")
    if isinstance(truth, np.ndarray):
        return truth.tolist()
    return truth.item() if isinstance(truth, np.generic) else truth


def with_extra_fields(extra_info: Mapping[str, Any], fields: Any) -> Mapping[str, Any]:
    """A row's `extra_info`, and over it what the agent loop left in the output's `extra_fields`."""
    if not isinstance(fields, Mapping) or not fields:
        return extra_info
    return {**extra_info, **{name: value for name, value in fields.items() if name not in _OURS}}


def prompt_of(messages: Any) -> str | None:
    """The prompt's text; None where the row has no prompt."""
    return None if messages is None else prompt_text(messages)


def _text(value: Any) -> str | None:
    return None if value is None or value != value else str(value)  # pandas writes NaN for what is missing


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _number(value: Any) -> int | None:
    return None if value is None else int(value)


_OURS: Final = frozenset({OWN, "reward_extra_info"})
"""Extra fields that are the reward's own, not the environment's."""
_READERS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "reward_model": ground_truth_of,
    "raw_prompt": prompt_of,
    "data_source": _text,
    "uid": _text,
    "extra_info": _mapping,
    "global_steps": _number,
}
"""verl's columns in the order of a row's fields after ``truncated``, and how each is read; they read None, too."""


def _as_list(tokens: Sequence[int]) -> list[int]:
    return tokens if isinstance(tokens, list) else np.asarray(tokens).tolist()


def _truncated(tokens: Sequence[int], most: int | None, end_tokens: frozenset[int]) -> bool | None:
    if most is None or not end_tokens:
        return None
    return len(tokens) >= most and tokens[-1] not in end_tokens if len(tokens) else False
