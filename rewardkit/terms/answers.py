"""Right or wrong: verdicts on the answer that a response asserts."""

from __future__ import annotations

from typing import Literal

import numpy as np

from rewardkit.answers import grade_gsm8k
from rewardkit.batch import Batch
from rewardkit.column import Column
from rewardkit.declaration import term


@term(verdict=True, needs=("ground_truth",), batched=True, builtin=True)
def gsm8k(batch: Batch, *, mode: Literal["flexible", "strict"] = "flexible") -> Column:
    r"""1 where the response's final answer equals the ground truth as an exact number, else 0.

    The ground truth is a number, or a GSM8K solution that ends in ``#### N``. Numbers are compared exactly: ``70,000``,
    ``$18``, ``18.00`` and ``1/2`` against ``0.5`` are equal; ``7,2`` is not 72. A response that asserts no answer is
    NO_ANSWER and one that asserts several is AMBIGUOUS; neither is paid. How answers are found:
    :mod:`rewardkit.answers`. Source: Cobbe et al. 2021, arXiv 2110.14168.

    Args:
        batch: the responses and their ground truths.
        mode: ``flexible`` takes the last marked answer (``####``, ``\boxed{}``, "the answer is") and, without any
            marker, an answer that closes the text; ``strict`` takes only what follows ``####``.
    """
    golds = batch.ground_truths
    assert golds is not None  # declared as a need
    values = np.zeros(len(batch))
    statuses = np.zeros(len(batch), dtype=np.int8)
    reasons: dict[int, str] = {}
    for i, (response, gold) in enumerate(zip(batch.responses, golds, strict=True)):
        grade = grade_gsm8k(response, gold, mode=mode)
        values[i] = grade.value
        statuses[i] = grade.status
        if grade.reason:
            reasons[i] = grade.reason
    return Column(values, statuses, reasons)
