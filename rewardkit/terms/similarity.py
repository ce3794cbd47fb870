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


def _each(
    batch: Batch, limit: int, prepare: Callable[[str], Any], compare: Callable[[Any, Any], float]
) -> list[float | Score]:
    assert batch.ground_truths is not None  # declared as a need
    answers: list[float | Score] = []
    for text, ground_truth in zip(batch.responses, batch.ground_truths, strict=True):
        ground_truths = [prepare(g) for g in _texts(ground_truth) if len(g) <= limit and g.strip()]
        answer = _answer(text)
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


def _answer(text: str) -> str:
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
