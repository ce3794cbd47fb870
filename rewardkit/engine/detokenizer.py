"""From token ids to text: the real cost of cheap rewards.

Byte-level BPE tokenizers (Llama-3, GPT-2, Qwen) decode by joining byte strings, so a table of them decodes several
times faster than the tokenizer. The table is checked against the tokenizer itself when it is built; a tokenizer that
is of another kind, or disagrees anywhere, decodes by its own method. A tokenizer is anything with the methods used
here; this module imports none.

Special tokens, such as a turn's end, are not text. The marks of reasoning, answers and tool calls are text, even where
a tokenizer calls them special: it does so in one model family and not in the next, and a reward for
``<think>...</think>`` pays the same in both.
"""

from __future__ import annotations

import codecs
import random
from collections.abc import Sequence
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

_PROBES: Final = 64
_PROBE_TOKENS: Final = 48
_MARGIN: Final = 4096
"""Ids that decode to nothing behind the table's end: a model's padded vocabulary and, counted from the end, -100."""


_TAGS: Final = (
    "think", "thinking", "thought", "reasoning", "answer", "solution", "tool_call", "tool_calls", "tool_response",
)  # fmt: skip
MARKS: Final = frozenset(
    [
        *(f"<{slash}{tag}>" for tag in _TAGS for slash in ("", "/")),
        *("[THINK]", "[/THINK]", "[TOOL_CALLS]", "[ARGS]"),
        *(f"<|{end}_of_{part}|>" for part in ("thought", "solution") for end in ("begin", "end")),
    ]
)
"""What is text in a response, even where it is a special token."""


class Tokenizer(Protocol):
    """What is asked of a tokenizer; Hugging Face's fast tokenizers have it."""

    all_special_ids: Sequence[int]

    def __len__(self) -> int: ...

    def decode(self, token_ids: Any, *, skip_special_tokens: bool = ..., **options: Any) -> Any:
        """The text of token ids."""

    def convert_ids_to_tokens(self, ids: Any) -> Any:
        """The vocabulary's own spelling of token ids."""


class Decoder:
    """Decodes responses with special tokens left out, as verl's reward managers do, but for `MARKS`.

    Attributes:
        is_table: whether decoding goes by the byte table; otherwise by the tokenizer's own method.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._size = len(tokenizer)  # slow on some tokenizers: counted once
        special = _special_tokens(tokenizer)
        self._dropped = frozenset(i for i, text in special.items() if text not in MARKS)
        self._keeps_marks = len(self._dropped) < len(special)
        self._table = _byte_table(tokenizer, self._dropped)
        self.is_table = self._table is not None and self._agrees(self._table)
        if not self.is_table:
            self._table = None
        self._padded = [*(self._table or []), *[b""] * _MARGIN]
        self._array = np.array([*self._padded, None], dtype=object)[:-1]  # None: else numpy makes an array of bytes

    def __call__(self, sequences: Sequence[Sequence[int] | npt.NDArray[np.integer[Any]]]) -> list[str]:
        """The text of each sequence of token ids, lists or arrays of shape (tokens,).

        Ids outside the vocabulary decode to nothing. Bytes that are not UTF-8 decode to U+FFFD.
        """
        if self._table is None:
            return [self._own(ids) for ids in sequences]
        try:
            return [b"".join(self._pieces(ids)).decode("utf-8", "replace") for ids in sequences]
        except IndexError:  # an id far outside the vocabulary
            return [self._join(ids).decode("utf-8", "replace") for ids in sequences]

    def token_ends(self, ids: Sequence[int]) -> npt.NDArray[np.int64]:
        """For each token the offset in the decoded text, in characters, at which it ends; shape (tokens,).

        A character whose bytes are split over tokens ends with the last of them.
        """
        offsets = np.zeros(len(ids), dtype=np.int64)
        count = 0
        if self._table is not None:
            decoder = codecs.getincrementaldecoder("utf-8")("replace")
            for i, token in enumerate(ids):
                piece = self._table[token] if 0 <= token < len(self._table) else b""
                count += len(decoder.decode(piece, final=i == len(ids) - 1))
                offsets[i] = count
            return offsets
        # Any other kind: the length of the text so far, less what may still change (an unfinished character).
        for i in range(len(ids)):
            text = self._own(ids[: i + 1])
            count = max(count, len(text.rstrip("\ufffd")) if i < len(ids) - 1 else len(text))
            offsets[i] = count
        return offsets

    def _pieces(self, ids: Sequence[int] | npt.NDArray[np.integer[Any]]) -> list[bytes]:
        """The bytes of each token; an array is looked up as a whole, a fifth faster."""
        if isinstance(ids, np.ndarray):
            pieces: list[bytes] = self._array.take(ids).tolist()
            return pieces
        table = self._padded
        return [table[i] for i in ids]

    def _join(self, ids: Sequence[int] | npt.NDArray[np.integer[Any]]) -> bytes:
        assert self._table is not None
        size = len(self._table)
        return b"".join([self._table[i] if 0 <= i < size else b"" for i in ids])

    def _own(self, ids: Sequence[int] | npt.NDArray[np.integer[Any]]) -> str:
        known = [int(i) for i in ids if 0 <= i < self._size]
        if self._keeps_marks:
            known = [i for i in known if i not in self._dropped]
        skip = not self._keeps_marks
        return str(self._tokenizer.decode(known, skip_special_tokens=skip, clean_up_tokenization_spaces=False))

    def _agrees(self, table: list[bytes]) -> bool:
        """Compare with the tokenizer on random sequences and on every kind of token that could differ."""
        rng = random.Random(0)
        size = len(table)
        probes = [[rng.randrange(size) for _ in range(_PROBE_TOKENS)] for _ in range(_PROBES)]
        special = list(self._tokenizer.all_special_ids)[:_PROBE_TOKENS]
        probes += [special, [*range(min(size, 512))], [*range(max(0, size - 512), size)]]
        return all(b"".join([table[i] for i in p]).decode("utf-8", "replace") == self._own(p) for p in probes)


def _special_tokens(tokenizer: Tokenizer) -> dict[int, str]:
    """The text of each special token, those that were added later included."""
    declared = dict(getattr(tokenizer, "added_tokens_decoder", {}))
    special = {int(i): str(t.content) for i, t in declared.items() if t.special}
    others = [int(i) for i in tokenizer.all_special_ids if int(i) not in special]
    return special | dict(zip(others, map(str, tokenizer.convert_ids_to_tokens(others)), strict=True))


def _byte_table(tokenizer: Tokenizer, dropped: frozenset[int]) -> list[bytes] | None:
    """The bytes of every token; None when the tokenizer is not byte-level BPE."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None or "ByteLevel" not in repr(getattr(backend, "decoder", None)):
        return None
    byte_of = {char: byte for byte, char in _byte_alphabet().items()}
    declared = dict(getattr(tokenizer, "added_tokens_decoder", {}))
    added = {int(i): str(t.content) for i, t in declared.items()}
    table: list[bytes] = []
    for i, token in enumerate(tokenizer.convert_ids_to_tokens(list(range(len(tokenizer))))):
        if i in dropped or token is None:
            table.append(b"")
        elif i in added:
            table.append(added[i].encode())
        else:
            try:
                table.append(bytes([byte_of[c] for c in token]))
            except KeyError:
                return None
    return table


def _byte_alphabet() -> dict[int, str]:
    """Which character stands for which byte in a byte-level vocabulary (GPT-2's encoder.py, ``bytes_to_unicode``).

    Printable Latin-1 characters stand for themselves, the other bytes for the characters from U+0100 on, in order.
    """
    own = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [b for b in range(256) if b not in set(own)]
    return {**{b: chr(b) for b in own}, **{b: chr(0x100 + i) for i, b in enumerate(others)}}
