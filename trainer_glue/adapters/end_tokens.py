"""The special tokens that end a response.

They are not part of its text, and a response that ends with one was not cut off.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

END_TOKENS: Final = (
    "<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|eom_id|>", "<|end_of_text|>", "<|end|>", "<|return|>", "</s>",
    "<eos>", "<pad>", "<end_of_turn>", "<｜end▁of▁sentence｜>",
)  # fmt: skip
"""What the tokenizers of Qwen, Llama, Gemma, Phi, Mistral, DeepSeek and gpt-oss write where a response ends."""


def without_end_tokens(text: str, end_tokens: Sequence[str] = END_TOKENS) -> str:
    """A response's text without the end tokens at its end, and without the blanks between those."""
    while True:
        bare = text.rstrip()
        token = next((token for token in end_tokens if bare.endswith(token)), None)
        if token is None:
            return text
        text = bare.removesuffix(token)


def end_token_ids(tokenizer: Any) -> frozenset[int]:
    """The ids of the end tokens that a tokenizer knows, its own end-of-sequence token among them."""
    ids = {getattr(tokenizer, "eos_token_id", None)}
    id_of = getattr(tokenizer, "convert_tokens_to_ids", lambda _: None)
    unknown = getattr(tokenizer, "unk_token_id", None)
    ids |= {token_id for token in END_TOKENS if (token_id := id_of(token)) != unknown}
    return frozenset(i for i in ids if isinstance(i, int))
