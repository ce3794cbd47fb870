"""The byte table against the tokenizers themselves."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("transformers")

from rewardkit.engine.detokenizer import Decoder
from tests.trainer_glue.verl.tokenizers import byte_tokenizer, with_marks

TOKENIZER = byte_tokenizer()
DECODER = Decoder(TOKENIZER)


def own(ids: list[int], tokenizer: object = TOKENIZER) -> str:
    return tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)  # type: ignore[attr-defined]


def test_a_byte_level_tokenizer_gets_the_table() -> None:
    assert DECODER.is_table


@given(st.lists(st.integers(0, len(TOKENIZER) - 1), max_size=40))
def test_any_ids_decode_as_the_tokenizer_decodes_them(ids: list[int]) -> None:
    assert DECODER([ids]) == [own(ids)]


@given(st.text(max_size=60))
def test_text_comes_back(text: str) -> None:
    text = text.encode("utf-8", "replace").decode()
    ids = TOKENIZER(text, add_special_tokens=False)["input_ids"]
    special = TOKENIZER.all_special_tokens
    if not any(s in text for s in special):
        assert DECODER([ids]) == [text]


@given(st.lists(st.integers(0, len(TOKENIZER) - 1), min_size=1, max_size=30))
def test_token_ends_go_up_to_the_whole_text(ids: list[int]) -> None:
    ends = DECODER.token_ends(ids)
    assert len(ends) == len(ids)
    assert (ends[1:] >= ends[:-1]).all()
    assert ends[-1] == len(DECODER([ids])[0])


def test_a_character_split_over_tokens_ends_with_its_last_byte() -> None:
    ids = TOKENIZER("a🙂b", add_special_tokens=False)["input_ids"]
    ends = DECODER.token_ends(ids).tolist()
    assert len(ids) > 3
    assert ends == [1] + [1] * (len(ids) - 3) + [2, 3]


def test_ids_beyond_the_vocabulary_decode_to_nothing() -> None:
    ids = TOKENIZER("four", add_special_tokens=False)["input_ids"]
    assert DECODER([[*ids, len(TOKENIZER) + 5]]) == ["four"]


def test_another_kind_of_tokenizer_decodes_by_itself() -> None:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = {"<unk>": 0, "two": 1, "plus": 2, "##s": 3}
    backend = Tokenizer(models.WordPiece(words, unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    backend.decoder = decoders.WordPiece()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="<unk>")
    decoder = Decoder(tokenizer)
    assert not decoder.is_table
    assert decoder([[1, 2, 3]]) == [own([1, 2, 3], tokenizer)] == ["two pluss"]
    assert decoder.token_ends([1, 2, 3]).tolist() == [3, 8, 9]


MARKED = "<think>two plus two</think>\n<answer>é 4</answer>"


@pytest.mark.parametrize("special", [True, False])
def test_marks_of_reasoning_are_text_and_ends_of_turns_are_not(special: bool) -> None:
    tokenizer = with_marks(special=special)
    decoder = Decoder(tokenizer)
    ids = [*tokenizer(MARKED, add_special_tokens=False)["input_ids"], tokenizer.eos_token_id]
    assert tokenizer.convert_tokens_to_ids("<think>") in ids
    assert decoder.is_table
    assert decoder([ids]) == [MARKED]
    assert decoder.token_ends(ids).tolist()[0] == len("<think>")
    assert decoder.token_ends(ids).tolist()[-2:] == [len(MARKED)] * 2


def test_marks_are_text_for_another_kind_of_tokenizer() -> None:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    backend = Tokenizer(models.WordPiece({"<unk>": 0, "two": 1, "##s": 2, "<end>": 3}, unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    backend.decoder = decoders.WordPiece()
    plain = PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="<unk>", eos_token="<end>")
    decoder = Decoder(with_marks(special=True, of=plain))
    think, end_think = len(plain), len(plain) + 1
    assert not decoder.is_table
    text = decoder([[think, 1, 2, end_think, 1, 3]])[0]
    assert text.replace(" ", "") == "<think>twos</think>two"
    assert decoder.token_ends([think, 1, 2, end_think, 1, 3])[-1] == len(text)


@given(st.lists(st.integers(0, len(TOKENIZER) + 5), max_size=40))
def test_with_marks_any_ids_decode_as_if_they_were_not_special(ids: list[int]) -> None:
    assert SPECIAL([ids]) == PLAIN([ids])


SPECIAL, PLAIN = (Decoder(with_marks(special=special)) for special in (True, False))


def test_the_real_llama_3_tokenizer(shared_data: Path) -> None:
    from transformers import PreTrainedTokenizerFast

    tokenizer = PreTrainedTokenizerFast.from_pretrained(shared_data / "llama3_tokenizer")
    decoder = Decoder(tokenizer)
    assert decoder.is_table
    with (shared_data / "gsm8k_test.jsonl").open() as lines:
        texts = [json.loads(line)["answer"] for line in lines]
    ids = tokenizer([*texts, "é漢字🙂 \u200d🏽 end"], add_special_tokens=False)["input_ids"]
    assert decoder(ids) == [own(i, tokenizer) for i in ids] == [*texts, "é漢字🙂 \u200d🏽 end"]
