"""Reward models of Hugging Face: one in this process, and how a conversation is laid out for any.

For `score`, `report` and tests on what training asks a server: the same formula, the same values.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from rewardkit.errors import ConfigError

Messages = Sequence[Mapping[str, str]]
TOKENS_AT_ONCE: Final = 16_384
"""Of one forward pass, padding included."""


def chat_renderer(tokenizer: Any) -> Callable[[Messages], str | list[int]]:
    """From a conversation to what a server is sent, so that it reads the chat template's tokens and no other.

    Servers put their tokenizer's own special tokens around a text. So the one at the beginning is taken off the text
    where the tokenizer puts it there itself; where that does not give the same tokens, they are sent as ids.

    Args:
        tokenizer: the reward model's, or the folder or hub id of one.

    Raises:
        ConfigError: it can't be loaded, or has no chat template.
    """
    tokenizer = _tokenizer(tokenizer) if isinstance(tokenizer, str | Path) else tokenizer
    if not getattr(tokenizer, "chat_template", None):
        raise ConfigError(
            f"the reward model's tokenizer {getattr(tokenizer, 'name_or_path', '')!r} has no chat template",
            hint="a reward model reads whole conversations: set tokenizer.chat_template and save it",
        )

    def render(chat: Messages) -> str | list[int]:
        text = tokenizer.apply_chat_template(list(chat), add_generation_prompt=False, tokenize=False)
        ids = tokenizer(text, add_special_tokens=False)["input_ids"]
        start = tokenizer.bos_token
        for sent in dict.fromkeys((text, text.removeprefix(start or ""))):
            if tokenizer(sent)["input_ids"] == ids:
                return str(sent)
        return list(ids)

    return render


class LocalRewardModel:
    """A sequence-classification model with one output.

    Args:
        path: its folder, or a hub id.

    Raises:
        ConfigError: it can't be loaded, has more than one output, or its tokenizer has no chat template.
    """

    def __init__(self, path: str) -> None:
        import torch
        from transformers import AutoModelForSequenceClassification

        try:
            self._model = AutoModelForSequenceClassification.from_pretrained(path, dtype="auto")
        except (OSError, ValueError) as e:
            raise ConfigError(f"can't load the reward model {path}: {e}") from e
        if self._model.config.num_labels != 1:
            raise ConfigError(
                f"{path} has {self._model.config.num_labels} outputs; a reward model has one",
                hint="a classifier's probabilities are no reward: use a model that was trained with num_labels=1",
            )
        self.tokenizer = _tokenizer(path)
        chat_renderer(self.tokenizer)
        self._device = "cuda" if torch.cuda.is_available() else "cpu"
        self._model.eval().to(self._device)
        self._lock = threading.Lock()

    def scores(self, chats: Sequence[Messages]) -> list[float]:
        """The logit of each conversation, of its last token."""
        return self.scores_of_tokens([self.tokens(chat) for chat in chats])

    def tokens(self, chat: Messages) -> list[int]:
        """A conversation as the model reads it."""
        ids: list[int] = self.tokenizer.apply_chat_template(
            list(chat), add_generation_prompt=False, tokenize=True, return_dict=False
        )
        return ids

    def scores_of_tokens(self, ids: Sequence[Sequence[int]]) -> list[float]:
        """The logit of each text, of its last token."""
        order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
        scores = [0.0] * len(ids)
        batch: list[int] = []
        for i in reversed(order):  # the longest first: what does not fit shows at once
            if batch and len(ids[batch[0]]) * (len(batch) + 1) > TOKENS_AT_ONCE:
                self._forward(batch, ids, scores)
                batch = []
            batch.append(i)
        if batch:
            self._forward(batch, ids, scores)
        return scores

    def _forward(self, rows: Sequence[int], ids: Sequence[Sequence[int]], scores: list[float]) -> None:
        """One pass. The model finds a row's last token as the last that is no padding, so none may end like that."""
        import torch

        width, last = max(len(ids[i]) for i in rows), {ids[i][-1] for i in rows}
        pad = next(i for i in range(len(last) + 1) if i not in last)
        tokens = torch.tensor([[*ids[i], *[pad] * (width - len(ids[i]))] for i in rows])
        mask = torch.tensor([[1] * len(ids[i]) + [0] * (width - len(ids[i])) for i in rows])
        with self._lock, torch.inference_mode():
            self._model.config.pad_token_id = pad
            logits = self._model(input_ids=tokens.to(self._device), attention_mask=mask.to(self._device)).logits
        for i, score in zip(rows, logits[:, 0].float().tolist(), strict=True):
            scores[i] = score


def _tokenizer(path: str | Path) -> Any:
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(path)
    except (OSError, ValueError) as e:
        raise ConfigError(f"can't load the reward model's tokenizer {path}: {e}") from e
