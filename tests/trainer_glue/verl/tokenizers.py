"""Small tokenizers for tests, trained here."""

from __future__ import annotations

from functools import cache
from typing import Any


@cache
def byte_tokenizer() -> Any:
    """A byte-level BPE tokenizer of some 300 entries, with Llama-3's special tokens."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    special = ["<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>"]
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=320,
        special_tokens=special,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    backend.train_from_iterator(["Two plus two is four. The answer is #### 4. word word done"] * 4, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=backend, bos_token=special[0], eos_token=special[2], pad_token=special[1]
    )


def with_marks(*, special: bool, of: Any = None) -> Any:
    """A tokenizer, by default `byte_tokenizer`, with a token for each mark of reasoning and of tool calls."""
    import copy

    from tokenizers import AddedToken

    tokenizer = copy.deepcopy(of or byte_tokenizer())
    marks = ("<think>", "</think>", "<answer>", "</answer>", "<tool_call>", "</tool_call>")
    tokenizer.add_tokens([AddedToken(mark, special=special, normalized=False) for mark in marks])
    return tokenizer
