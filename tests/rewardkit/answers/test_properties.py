"""What must hold for any text: no exception, symmetry, reflexivity, exactness."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from hypothesis import example, given
from hypothesis import strategies as st

from rewardkit.answers import (
    MODES,
    compare,
    compare_math,
    extract,
    extract_math,
    grade_choice,
    grade_exact,
    grade_gsm8k,
    grade_math,
    grade_numeric,
)
from rewardkit.answers.extract import Answer
from rewardkit.answers.latex.exact import exact
from rewardkit.answers.latex.parser import parse
from rewardkit.answers.latex.tree import OverLimit, Unreadable, decoded, encoded
from rewardkit.answers.number import fold
from rewardkit.batch import Status
from tests.profiles import examples

_PIECES = st.sampled_from(
    [
        "####", "#### ", "\\boxed{", "}", "{", "<answer>", "</answer>", "</think>", "<think>", "The answer is ",
        "answer", "nswer",
        "not ", " or ", " and ", ", ", "=", "$", "\\$", "\\(", "\\)", "\\[", "\\]", "18", "7,2", "1,000", "3 1/2",
        "-", "−", "½", "²",
        "\\frac", "\\frac{1}{2}", "\\sqrt", "^", "_", "(", ")", "[", "]", "\\{", "\\}", "|", "!", "%", "\\%", "x",
        "e", "i", "\\pi",
        "\\pm", "\\cup", "\\infty", "\\begin{pmatrix}", "\\end{pmatrix}", "&", "\\\\", "\\text{and}", "\\le", "<",
        "\n", " ", ".", "?",
        "1e9", "1e", "\u200b", "\u202f", "١٨", "１８", "。", "<|im_end|>", "sin", "\\log_2", "dollars", "A", "(B)",
        "is", "9^9", "\x00",
    ]
)  # fmt: skip
PURE = [mode for mode in MODES if mode != "trl"]
TEXTS = st.one_of(st.text(max_size=60), st.lists(_PIECES, max_size=14).map("".join))
NUMBERS = st.one_of(st.integers(), st.fractions(), st.decimals(allow_nan=False, allow_infinity=False, places=4))


@given(TEXTS, TEXTS)
@examples(4)
@example("\\boxed{", "}")
@example("#### 1 000", "1")
@example("1.", ".1")
@example("\\frac{1}{0}", "0")
@example("\\begin{pmatrix}\\end{pmatrix}", "&")
def test_no_text_raises(response: str, truth: str) -> None:
    for mode in PURE:
        grade = grade_gsm8k(response, truth, mode=mode)
        assert grade.value in (0.0, 1.0) or grade.status is Status.BAD_GOLD
    for grade in (
        grade_numeric(response, truth, tolerance=0.5),
        grade_choice(response, truth),
        grade_exact(response, truth, normalize="words"),
        grade_math(response, truth, cpu_seconds=0.5),
        grade_math(response, truth, mode="strict", cpu_seconds=0.5),
    ):
        assert grade.value in (0.0, 1.0) or grade.status is Status.BAD_GOLD


@given(TEXTS)
@examples(4)
def test_the_span_is_where_the_answer_stands(response: str) -> None:
    for answer in (extract(response), extract(response, mode="strict"), extract_math(response)):
        if isinstance(answer, Answer) and not (answer.marker == "boxed" and ", " in answer.text):
            assert response[answer.span[0] : answer.span[1]] == answer.text
            assert answer.text


@given(TEXTS, TEXTS)
@examples(3)
def test_comparison_is_symmetric(left: str, right: str) -> None:
    assert compare(left, right).equal == compare(right, left).equal
    assert compare_math(left, right, cpu_seconds=0.5).equal == compare_math(right, left, cpu_seconds=0.5).equal


@given(TEXTS.filter(str.strip))
def test_comparison_is_reflexive(text: str) -> None:
    assert compare(text, text).equal
    assert compare_math(text, text).equal


@given(NUMBERS, NUMBERS)
def test_numbers_are_equal_exactly_when_their_values_are(left: object, right: object) -> None:
    a, b = (Fraction(v) for v in (left, right))  # type: ignore[arg-type]
    assert compare(_written(left), _written(right)).equal == (a == b)
    assert compare_math(_written(left), _written(right)).equal == (a == b)


@given(NUMBERS)
def test_spellings_of_a_number_are_that_number(value: object) -> None:
    written = _written(value)
    for spelling in (f"**{written}**", f"${written}$", f"\\boxed{{{written}}}", f"{written} dollars", f" {written}. "):
        assert compare(written, spelling).equal, spelling
    for marked in (
        f"so\n#### {written}",
        f"The answer is {written}.",
        f"thus \\boxed{{{written}}}",
        f"<answer>{written}</answer>",
    ):
        grade = grade_gsm8k(marked, written)
        assert grade.value == 1, marked


def _written(value: object) -> str:
    return format(value, "f") if isinstance(value, Decimal) else str(value)


@given(st.integers(10**15, 10**40), st.integers(1, 9))
def test_neighbours_of_large_integers_differ(value: int, step: int) -> None:
    assert not compare(str(value), str(value + step)).equal
    assert not compare_math(str(value), str(value + step)).equal
    assert compare(f"{value:,}", str(value)).equal


@given(TEXTS)
def test_folding_keeps_the_length(text: str) -> None:
    assert len(fold(text)) == len(text)


@given(TEXTS)
@examples(3)
def test_trees_survive_the_way_to_a_worker(text: str) -> None:
    try:
        tree = parse(text)
        exact(tree)
    except (Unreadable, OverLimit):
        return
    assert decoded(encoded(tree)) == tree
