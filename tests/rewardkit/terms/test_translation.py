"""BLEU, chrF and ROUGE-L: values of the libraries that people report, and laws."""

from __future__ import annotations

import random

import pytest

from rewardkit import Batch, compile

WORDS = ["the", "cat", "sat", "on", "a", "mat", "Mat,", "dog's", "ran.", "3.5", "well-known", "Über"]


def pairs(n: int) -> list[tuple[str, str]]:
    rng = random.Random(5)
    return [
        (" ".join(rng.choices(WORDS, k=rng.randint(1, 12))), " ".join(rng.choices(WORDS, k=rng.randint(1, 12))))
        for _ in range(n)
    ]


def totals(formula: str, rows: list[tuple[str, str]]) -> list[float]:
    scores = compile(formula)(Batch([a for a, _ in rows], ground_truths=[b for _, b in rows]))
    assert not scores.unscored.any()
    return [float(v) for v in scores.total]


def test_bleu_and_chrf_are_sacrebleu_s() -> None:
    sacrebleu = pytest.importorskip("sacrebleu", reason="needs the extra translation")
    rows = pairs(100)
    expected = [sacrebleu.sentence_bleu(a, [b]).score / 100 for a, b in rows]
    assert totals("bleu()", rows) == pytest.approx(expected)
    for words in (0, 2):
        expected = [sacrebleu.sentence_chrf(a, [b], word_order=words).score / 100 for a, b in rows]
        assert totals(f"chrf(words={words})", rows) == pytest.approx(expected)
    assert totals("bleu(smoothing='none')", [("a b c d", "x y z w")]) == [0]


def test_rouge_l_is_google_s_on_ascii() -> None:
    scorer = pytest.importorskip("rouge_score.rouge_scorer", reason="needs rouge-score").RougeScorer(["rougeL"])
    rows = [(a, b) for a, b in pairs(200) if a.isascii() and b.isascii()]
    for measure, field in (("f1", "fmeasure"), ("precision", "precision"), ("recall", "recall")):
        expected = [getattr(scorer.score(b, a)["rougeL"], field) for a, b in rows]
        assert totals(f"rouge_l(measure={measure!r})", rows) == pytest.approx(expected)


@pytest.mark.parametrize("formula", ["bleu()", "chrf()", "chrf(words=2)", "rouge_l()"])
def test_the_same_text_is_worth_one_and_other_words_less(formula: str) -> None:
    same, other, none = totals(
        formula,
        [
            ("<think>no</think><answer>Das Haus ist über dem Fluss.</answer>", "Das Haus ist über dem Fluss."),
            ("Das Haus ist am Fluss.", "Das Haus ist über dem Fluss."),
            ("!", "Das Haus"),
        ],
    )
    assert same == pytest.approx(1)
    assert 0.2 < other < 0.9
    assert none < 0.05
    best = compile(formula)(Batch(["a b c d e"], ground_truths=[["x", "a b c d e"]]))
    assert best.total[0] == pytest.approx(1)
