"""Words are counted as ``str.split`` counts them, however the texts lie together."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from rewardkit.terms.units import word_counts

BLANKS = "".join(chr(code) for code in range(0x3002) if chr(code).isspace())
NEARLY = "\x00\x08\x0e\x1b\x7f\u180e\u200b\u2060\u3001\ufeff"  # neighbours of blanks, and what only looks like one
OTHERS = "ab1.éÂâ’中あ。\ud800😀"
texts = st.text(BLANKS + NEARLY + OTHERS, max_size=30) | st.text(max_size=30)


@given(st.lists(texts, max_size=8))
@example(["a\u00a0b", "\u3000", "", "ends in a blank\u2028", "Â b"])
def test_words_are_those_of_split(many: list[str]) -> None:
    assert word_counts(many).tolist() == [len(text.split()) for text in many]


@given(st.lists(texts, min_size=1, max_size=4), st.integers(5_000, 20_000))
def test_so_are_those_of_long_texts(many: list[str], times: int) -> None:
    long = [text * (times // max(len(text), 1)) for text in many] * 3
    assert word_counts(long).tolist() == [len(text.split()) for text in long]
