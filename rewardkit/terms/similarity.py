"""How near a response's text comes to the ground truth's, short of being equal."""

from __future__ import annotations

import string
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Final, Literal

import regex
from pydantic import AfterValidator, Field

from rewardkit.algebra.define import term
from rewardkit.answers.marks import visible_part
from rewardkit.batch import Batch, Score, Status
from rewardkit.terms.optional import optional

MAX_CHARS: Final = 10_000
"""Longest text that is aligned: the time for two texts grows with the product of their lengths."""
MAX_F1_CHARS: Final = 200_000
"""Longest text whose words are counted; ground truths of this measure are sentences."""

Kind = Literal["ratio", "token_sort_ratio", "token_set_ratio"]


def _present(kind: Kind) -> Kind:
    optional("rapidfuzz.fuzz", wanted_by="fuzzy_match", extra="fuzzy")
    return kind


@term(bounds=(0, 1), needs=("ground_truth",), batched=True, cost="cpu")
def fuzzy_match(
    batch: Batch, *, kind: Annotated[Kind, AfterValidator(_present), Field(validate_default=True)] = "ratio"
) -> Sequence[float | Score]:
    """``rapidfuzz.fuzz.<kind>(answer, ground truth) / 100``: 1 for equal texts, less the more edits are between them.

    ``ratio`` is ``2 * longest common subsequence / both lengths``; ``token_sort_ratio`` sorts the words first;
    ``token_set_ratio`` asks only for the words in common, and so is 1 for a response that holds the ground truth's
    words among any others. The answer is what stands in the last ``<answer>`` tag, or else the response after its
    reasoning. Case and runs of blanks don't count. Of a list of ground truths the best counts. Over 10,000 characters
    is LIMIT, and a ground truth of that length BAD_GOLD. Needs the extra ``fuzzy``. Source:
    github.com/rapidfuzz/RapidFuzz.

    Args:
        batch: the responses and their ground truths: text, a number, or a list of these.
        kind: ``ratio``, ``token_sort_ratio`` or ``token_set_ratio``.
    """
    compare = getattr(optional("rapidfuzz.fuzz", wanted_by="fuzzy_match", extra="fuzzy"), kind)
    return _each(batch, MAX_CHARS, _folded, lambda answer, ground_truth: float(compare(answer, ground_truth)) / 100.0)


@term(bounds=(0, 1), needs=("ground_truth",), batched=True, cost="cpu")
def token_f1(batch: Batch) -> Sequence[float | Score]:
    """``2 * common / (words of the answer + words of the ground truth)``: F1, the mean of precision and recall.

    Words are compared as a multiset, after lower-casing and taking out punctuation and the articles a, an, the. The
    answer is found as in :func:`fuzzy_match`; of a list of ground truths the best counts. Over 200,000 characters is
    LIMIT. Source: SQuAD (Rajpurkar et al. 2016, arXiv 1606.05250); open-instruct's F1 verifier has the same values.

    Args:
        batch: the responses and their ground truths: text, a number, or a list of these.
    """
    return _each(batch, MAX_F1_CHARS, _squad_words, _f1)


def _sacrebleu(wanted_by: str) -> Any:
    return optional("sacrebleu", wanted_by=wanted_by, extra="translation")


Smoothing = Literal["exp", "floor", "none"]


def _bleu_present(smoothing: Smoothing) -> Smoothing:
    _sacrebleu("bleu")
    return smoothing


@term(bounds=(0, 1), needs=("ground_truth",), batched=True, cost="cpu")
def bleu(
    batch: Batch,
    *,
    smoothing: Annotated[Smoothing, AfterValidator(_bleu_present), Field(validate_default=True)] = "exp",
) -> Sequence[float | Score]:
    """Sentence BLEU of the answer against the ground truth, by sacrebleu, from 0 to 1.

    The geometric mean of the shares of n-grams up to four that the ground truth has too, times a penalty for brevity;
    tokens are sacrebleu's ``13a``, and n-grams longer than the text are left out. The answer is found as in
    :func:`fuzzy_match`; of a list of ground truths the best counts. Over 10,000 characters is LIMIT. Needs the extra
    ``translation``. Source: Papineni et al. 2002; Post 2018, arXiv 1804.08771.

    Args:
        batch: the responses and their ground truths: text, a number, or a list of these.
        smoothing: what stands for an n-gram count of 0: ``exp`` (halves), ``floor`` (0.1) or ``none`` (the score is 0).
    """
    metric = _sacrebleu("bleu").BLEU(smooth_method=smoothing, effective_order=True)
    return _each(batch, MAX_CHARS, str.strip, lambda answer, truth: _share(metric.sentence_score(answer, [truth])))


Words = Literal[0, 1, 2]


def _chrf_present(words: Words) -> Words:
    _sacrebleu("chrf")
    return words


@term(bounds=(0, 1), needs=("ground_truth",), batched=True, cost="cpu")
def chrf(
    batch: Batch, *, words: Annotated[Words, AfterValidator(_chrf_present), Field(validate_default=True)] = 0
) -> Sequence[float | Score]:
    """Sentence chrF of the answer against the ground truth, by sacrebleu, from 0 to 1.

    The F2 score of character n-grams up to six, blanks left out: it suits languages whose words change or are not
    divided. The answer is found as in :func:`fuzzy_match`; of a list of ground truths the best counts. Over 10,000
    characters is LIMIT. Needs the extra ``translation``. Source: Popovic 2015, aclanthology.org/W15-3049.

    Args:
        batch: the responses and their ground truths: text, a number, or a list of these.
        words: n-grams of words up to so many count too; 2 is chrF++.
    """
    metric = _sacrebleu("chrf").CHRF(word_order=words)
    return _each(batch, MAX_CHARS, str.strip, lambda answer, truth: _share(metric.sentence_score(answer, [truth])))


def _share(score: Any) -> float:
    return min(max(float(score.score) / 100.0, 0.0), 1.0)


Measure = Literal["f1", "precision", "recall"]


def _lcs_present(measure: Measure) -> Measure:
    optional("rapidfuzz.distance", wanted_by="rouge_l", extra="fuzzy")
    return measure


@term(bounds=(0, 1), needs=("ground_truth",), batched=True, cost="cpu")
def rouge_l(
    batch: Batch, *, measure: Annotated[Measure, AfterValidator(_lcs_present), Field(validate_default=True)] = "f1"
) -> Sequence[float | Score]:
    """ROUGE-L of the answer against the ground truth: the longest common subsequence of words, as an F1 score.

    Words are runs of letters and digits of any script, without case and not stemmed; for ASCII text the values are
    those of Google's rouge-score. The answer is found as in :func:`fuzzy_match`; of a list of ground truths the best
    counts. Over 10,000 characters is LIMIT. Needs the extra ``fuzzy``. Source: Lin 2004, aclanthology.org/W04-1013.

    Args:
        batch: the responses and their ground truths: text, a number, or a list of these.
        measure: ``f1``, ``precision`` (the share of the answer's words) or ``recall`` (of the ground truth's).
    """
    similarity = optional("rapidfuzz.distance", wanted_by="rouge_l", extra="fuzzy").LCSseq.similarity

    def compare(answer: list[str], truth: list[str]) -> float:
        common = float(similarity(answer, truth)) if answer and truth else 0.0
        if not common:
            return 0.0
        precision, recall = common / len(answer), common / len(truth)
        return {"f1": 2 * precision * recall / (precision + recall), "precision": precision, "recall": recall}[measure]

    return _each(batch, MAX_CHARS, lambda text: _ROUGE_WORD.findall(text.lower()), compare)


_ROUGE_WORD: Final = regex.compile(r"[^\W_]++")


def _each(
    batch: Batch, limit: int, prepare: Callable[[str], Any], compare: Callable[[Any, Any], float]
) -> list[float | Score]:
    assert batch.ground_truths is not None  # declared as a need
    answers: list[float | Score] = []
    for text, ground_truth in zip(batch.responses, batch.ground_truths, strict=True):
        ground_truths = [prepare(g) for g in _texts(ground_truth) if len(g) <= limit and g.strip()]
        answer = answer_text(text)
        if not ground_truths:
            answers.append(Score(status=Status.BAD_GOLD, reason=f"no text of at most {limit} characters"))
        elif len(answer) > limit:
            answers.append(Score(status=Status.LIMIT, reason=f"more than {limit} characters"))
        else:
            prepared = prepare(answer)
            answers.append(max(compare(prepared, g) for g in ground_truths))
    return answers


def _texts(ground_truth: Any) -> list[str]:
    entries = ground_truth.tolist() if hasattr(ground_truth, "tolist") else ground_truth
    listed = entries if isinstance(entries, list | tuple) else [entries]
    return [str(e) for e in listed if isinstance(e, str | int | float) and not isinstance(e, bool)]


def answer_text(text: str) -> str:
    """What stands in the last ``<answer>`` tag, or else the response after its reasoning."""
    part = visible_part(text)
    if part is None:
        return ""
    start, stop = part
    opening = text.rfind("<answer>", start, stop)
    closing = text.find("</answer>", opening, stop) if opening >= 0 else -1
    return text[opening + len("<answer>") : closing] if closing >= 0 else text[start:stop]


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


_ARTICLES: Final = regex.compile(r"\b(?:a|an|the)\b")
_NO_PUNCTUATION: Final = str.maketrans("", "", string.punctuation)


def _squad_words(text: str) -> Counter[str]:
    return Counter(_ARTICLES.sub(" ", text.lower().translate(_NO_PUNCTUATION)).split())


def _f1(answer: Counter[str], ground_truth: Counter[str]) -> float:
    common = (answer & ground_truth).total()
    return 2.0 * common / (answer.total() + ground_truth.total()) if common else 0.0
