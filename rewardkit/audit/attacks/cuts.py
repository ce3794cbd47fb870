"""Responses that stopped at the length limit."""

from __future__ import annotations

from collections.abc import Iterator

from rewardkit.audit.attempt import Attempt, Claim
from rewardkit.audit.filler import filler
from rewardkit.audit.forms import WORK, Form
from rewardkit.audit.problems import Problem


def cuts(problem: Problem, form: Form) -> Iterator[Attempt]:
    """Work that ends before its answer."""
    half = WORK[: len(WORK) // 2]
    texts = {
        "half the work": half,
        "half the work, closed": f"{half}.",
        "long work": filler(120),
        "open tag": f"<think>\n{WORK}",
        "open box": f"{WORK} \\boxed{{",
    }
    for name, text in texts.items():
        yield Attempt("truncation", name, Claim.NONE, text, truncated=True)
