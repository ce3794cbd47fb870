"""Right or wrong: verdicts on the answer that a response asserts. How answers are found is in :mod:`rewardkit.answers`.

In all of them a response that asserts no answer is NO_ANSWER, one that asserts several is AMBIGUOUS, and neither is
paid; a ground truth that can't be used is BAD_GOLD, which no response is blamed for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from rewardkit.algebra.define import term
from rewardkit.algebra.values import TermColumn
from rewardkit.answers import (
    Grade,
    GSM8KMode,
    MathRules,
    Mode,
    grade_choice,
    grade_exact,
    grade_gsm8k,
    grade_math_many,
    grade_numeric,
)
from rewardkit.answers.grade import blamed
from rewardkit.batch import Batch
from rewardkit.errors import RewardKitError
from rewardkit.processes.budget import current_budget


def _column(grades: Sequence[Grade]) -> TermColumn:
    return TermColumn(
        np.array([grade.value for grade in grades], dtype=np.float64),
        np.array([grade.status for grade in grades], dtype=np.int8),
        {i: grade.reason for i, grade in enumerate(grades) if grade.reason},
    )


def _graded(batch: Batch, grade: Callable[[str, Any, str | None], Grade]) -> TermColumn:
    """Grade row by row. A text that can't be read costs its own row, not the batch."""
    assert batch.ground_truths is not None  # declared as a need
    grades: list[Grade] = []
    for response, ground_truth, prompt in zip(
        batch.responses, batch.ground_truths, batch.prompts or [None] * len(batch), strict=True
    ):
        try:
            grades.append(grade(response, ground_truth, prompt))
        except RewardKitError:
            raise
        except Exception as error:
            grades.append(blamed(error, partial(grade, "", ground_truth, None), ground_truth))
    return _column(grades)


@term(verdict=True, needs=("ground_truth",), reads=("prompt",), batched=True, version="2")
def gsm8k(batch: Batch, *, mode: GSM8KMode = "flexible") -> TermColumn:
    r"""1 where the response's final answer equals the ground truth as an exact number, else 0.

    The ground truth is a number, or a GSM8K solution that ends in ``#### N``. Numbers are compared exactly: ``70,000``,
    ``$18``, ``18.00`` and ``1/2`` against ``0.5`` are equal, ``5 million`` is 5,000,000; ``7,2`` is not 72. A response
    that asserts no answer is NO_ANSWER and one that asserts several is AMBIGUOUS; neither is paid. What the response
    takes back ("Wait, no, it's 18") or denies ("I don't think the answer is 72") is no answer. How answers are found:
    :mod:`rewardkit.answers`. Source: Cobbe et al. 2021, arXiv 2110.14168.

    Args:
        batch: the responses and their ground truths.
        mode: ``flexible`` takes the last marked answer (``####``, ``\boxed{}``, ``<answer>``, "the answer is"), else
            the last number that the response asserts; ``strict`` takes only what follows the last ``####``. The
            others reproduce published numbers, faults included: ``verl-strict``, ``verl-flexible``,
            ``lm-eval-strict``, ``lm-eval-flexible``.
    """
    return _graded(batch, lambda r, g, p: grade_gsm8k(r, g, mode=mode, prompt=p))


@term(verdict=True, needs=("ground_truth",), reads=("prompt",), batched=True, version="2")
def numeric(
    batch: Batch,
    *,
    tolerance: Annotated[float, Field(ge=0)] = 0.0,
    relative: Annotated[float, Field(ge=0)] = 0.0,
    mode: Mode = "flexible",
) -> TermColumn:
    """1 where ``|answer - truth| <= tolerance + relative * |truth|``, worked out exactly; else 0.

    Answers and ground truths are those of :func:`gsm8k`. A tolerance of 0.1 is a tenth, not the nearest float to it,
    so that 18.1 is within 0.1 of 18. Peers compare floats, with tolerances that they don't name.

    Args:
        batch: the responses and their ground truths.
        tolerance: the distance that is still right.
        relative: the same as a share of the ground truth.
        mode: ``flexible`` or ``strict``, as in :func:`gsm8k`.
    """
    return _graded(
        batch, lambda r, g, p: grade_numeric(r, g, tolerance=tolerance, relative=relative, mode=mode, prompt=p)
    )


@term(verdict=True, needs=("ground_truth",), batched=True, version="2")
def choice(batch: Batch) -> TermColumn:
    r"""1 where the option letter that the response asserts is the ground truth's, else 0.

    The letter after the last cue counts ("the answer is (C)", "故选C", ``\boxed{C}``), else the only letter that stands
    alone. Letters of a formula (``\boxed{F = ma}``) are no options, and denied letters ("it can't be A or B") don't
    count. Peers take the first or last capital letter, and so read an answer in "A good question".

    Args:
        batch: the responses and their ground truths: a letter, or a text that starts with one, ``(C) Paris``.
    """
    return _graded(batch, lambda r, g, _: grade_choice(r, g))


@term(verdict=True, needs=("ground_truth",), batched=True)
def exact(batch: Batch, *, normalize: Literal["whitespace", "words", "letters"] = "whitespace") -> TermColumn:
    """1 where the response's text is the ground truth's, else 0.

    The text is what stands in the last ``<answer>`` tag, or else the response after its reasoning. Of a list of ground
    truth texts any is right. ``words`` is SQuAD's rule (Rajpurkar et al. 2016, arXiv 1606.05250); ``letters`` is the
    rule of NeMo-RL's alphanumeric reward.

    Args:
        batch: the responses and their ground truths, text or lists of text.
        normalize: ``whitespace`` folds runs of blanks; ``words`` also takes out case, punctuation and articles;
            ``letters`` leaves letters and digits only, without case.
    """
    return _graded(batch, lambda r, g, _: grade_exact(r, g, normalize=normalize))


@term(verdict=True, needs=("ground_truth",), batched=True, cost="worker", version="2")
def math_equal(
    batch: Batch,
    *,
    mode: Mode = "flexible",
    percent: Literal["either", "unit", "value"] = "either",
    digits: Annotated[int, Field(ge=1)] | None = 6,
    order_matters: bool = False,
    assume_positive: bool = True,
    cpu_seconds: Annotated[float, Field(gt=0, le=60)] = 1.0,
) -> TermColumn:
    r"""1 where the response's formula, number or words mean the same as the ground truth's; else 0.

    A cascade decides, cheap stages first: equal text, exact number, equal form, lists and sets, identity at points, and
    sympy, in a worker process that is killed when an answer has used up its CPU time (TIMEOUT, not paid). No text of a
    model is ever evaluated. The parameters are the rules on which graders differ: :class:`rewardkit.answers.MathRules`.

    Conditions are the sets they describe: ``x < 1 \lor x > 4`` is a union, ``x > 0 \text{ and } x < 5`` is ``(0, 5)``,
    and a comma says "and" unless no number is both. Odd roots of negative numbers are real. Names order the values
    that they give: ``AB = 4, CD = 5`` is ``4, 5`` and not ``5, 4``; the roots ``x_1, x_2`` have no order.

    Source of the task: MATH (Hendrycks et al. 2021, arXiv 2103.03874).

    Args:
        batch: the responses and their ground truths: LaTeX or plain, a solution that marks its answer, or a list.
        mode: ``flexible`` takes the last marker of any kind, else the last formula or number of the last sentence that
            has one; ``strict`` takes the last ``\boxed{}``.
        percent: what ``10\%`` is against a number without a percent sign: 10 (``unit``), 0.1 (``value``), or both.
        digits: significant digits from which a decimal stands for a value that no decimal equals; None: never.
        order_matters: whether the lists ``1, 2`` and ``2, 1`` differ.
        assume_positive: whether variables are positive where that decides.
        cpu_seconds: a worker's CPU time for one question.
    """
    rules = MathRules(percent=percent, digits=digits, order_matters=order_matters, assume_positive=assume_positive)
    assert batch.ground_truths is not None  # declared as a need
    grades = grade_math_many(
        batch.responses,
        batch.ground_truths,
        mode=mode,
        rules=rules,
        cpu_seconds=cpu_seconds,
        budget_seconds=current_budget(),
    )
    return _column(grades)
