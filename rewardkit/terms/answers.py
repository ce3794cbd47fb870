"""Right or wrong: verdicts on the answer that a response asserts."""

from __future__ import annotations

import numpy as np

from rewardkit.answers import GSM8KMode, grade_gsm8k
from rewardkit.batch import Batch
from rewardkit.column import Column
from rewardkit.declaration import term


@term(verdict=True, needs=("ground_truth",), reads=("prompt",), batched=True, builtin=True)
def gsm8k(batch: Batch, *, mode: GSM8KMode = "flexible") -> Column:
    r"""1 where the response's final answer equals the ground truth as an exact number, else 0.

    The ground truth is a number, or a GSM8K solution that ends in ``#### N``. Numbers are compared exactly: ``70,000``,
    ``$18``, ``18.00`` and ``1/2`` against ``0.5`` are equal; ``7,2`` is not 72. A response that asserts no answer is
    NO_ANSWER and one that asserts several is AMBIGUOUS; neither is paid. How answers are found:
    :mod:`rewardkit.answers`. Source: Cobbe et al. 2021, arXiv 2110.14168.

    Args:
        batch: the responses and their ground truths.
        mode: ``flexible`` takes the last marked answer (``####``, ``\boxed{}``, ``<answer>``, "the answer is"), else
            the last number that the response asserts; ``strict`` takes only what follows the last ``####``. The
            others reproduce published numbers, faults included: ``verl-strict``, ``verl-flexible``,
            ``lm-eval-strict``, ``lm-eval-flexible``.
    """
    golds = batch.ground_truths
    assert golds is not None  # declared as a need
    values = np.zeros(len(batch))
    statuses = np.zeros(len(batch), dtype=np.int8)
    reasons: dict[int, str] = {}
    prompts = batch.prompts or [None] * len(batch)
    for i, (response, gold, prompt) in enumerate(zip(batch.responses, golds, prompts, strict=True)):
        grade = grade_gsm8k(response, gold, mode=mode, prompt=prompt)
        values[i] = grade.value
        statuses[i] = grade.status
        if grade.reason:
            reasons[i] = grade.reason
    return Column(values, statuses, reasons)
