"""Whether a response follows the instructions of its row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, Field

from rewardkit.algebra.define import term
from rewardkit.answers.marks import visible_part
from rewardkit.batch import Batch, Score, Status
from rewardkit.terms.instructions.ifeval import Check
from rewardkit.terms.instructions.language import package
from rewardkit.terms.instructions.truths import checks_of
from rewardkit.terms.strict_json import OverLimit

MAX_CHARS: Final = 50_000
"""Longest text that is checked; longer ones are no answer to a person."""


def _present(strict: bool) -> bool:
    package()
    return strict


@term(bounds=(0, 1), needs=("ground_truth",), batched=True, cost="cpu")
def follows(
    batch: Batch,
    *,
    strict: Annotated[bool, AfterValidator(_present), Field(validate_default=True)] = True,
    pay: Literal["all", "share"] = "all",
) -> Sequence[float | Score]:
    """1 where the response follows every instruction of its ground truth; else 0, or the share that it follows.

    The ground truth names instructions and their arguments, as data or as text, in any of three shapes:
    ``{"instruction_id_list": ["punctuation:no_comma"], "kwargs": [{}]}`` (IF-Eval's 25 instructions), the same with
    ``instruction_id`` and inside a list (IF_multi_constraints), or ``{"func_name": "validate_end", "end_phrase": ...}``
    (RLVR-IFeval's 25 functions, by open-instruct's rules). An instruction that is unknown, or lacks an argument, is
    BAD_GOLD; Google's code would draw the argument at random.

    What is checked is the text behind the reasoning; an empty one is NO_ANSWER, and one of over 50,000 characters is
    LIMIT. Nothing is downloaded, and the same text gets the same verdict: languages are told by py3langid, a text
    without letters is in none, and sentences are divided by Punkt's rules without its tables. One instruction alone is
    often a term: ``length(unit='words') >= 100``, ``~contains(',')``, ``json_valid(fenced=True)``. Needs the extra
    ``instructions``. Source: Zhou et al. 2023, arXiv 2311.07911; Lambert et al. 2024, arXiv 2411.15124.

    Args:
        batch: the responses and their ground truths.
        strict: whether the text itself must follow. False: IF-Eval's loose rule, under which the first line, the last
            line and asterisks may be taken out.
        pay: ``all``: all or nothing; ``share``: the share of the instructions that are followed.
    """
    assert batch.ground_truths is not None  # declared as a need
    return [
        _followed(text, truth, strict, pay == "all")
        for text, truth in zip(batch.responses, batch.ground_truths, strict=True)
    ]


def _followed(response: str, ground_truth: Any, strict: bool, everything: bool) -> float | Score:
    try:
        checks = checks_of(ground_truth)
    except ValueError as e:
        return Score(status=Status.BAD_GOLD, reason=str(e)[:300])
    part = visible_part(response)
    text = "" if part is None else response[slice(*part)].strip()
    if not text:
        return Score(status=Status.NO_ANSWER, reason="the response says nothing")
    if len(text) > MAX_CHARS:
        return Score(status=Status.LIMIT, reason=f"more than {MAX_CHARS} characters")
    texts = [text] if strict else _loosened(text)
    try:
        followed = sum(_any(check, texts) for check in checks)
    except OverLimit as limit:
        return Score(status=Status.LIMIT, reason=str(limit))
    return float(followed == len(checks)) if everything else followed / len(checks)


def _any(check: Check, texts: Sequence[str]) -> bool:
    return any(check(text) for text in texts)


def _loosened(text: str) -> list[str]:
    """The text, and what is left of it without its first line, its last line, both, and asterisks."""
    lines = text.split("\n")
    cut = [text, *("\n".join(part).strip() for part in (lines[1:], lines[:-1], lines[1:-1]))]
    return list(dict.fromkeys(t for t in [*cut, *(t.replace("*", "") for t in cut)] if t.strip()))
