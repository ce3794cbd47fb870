"""TRL's ``accuracy_reward`` as a named convention, by the library it uses: math-verify, in a worker process.

As in TRL 1.16, the ground truth is parsed with math-verify's defaults and the response with LaTeX extraction only, so
model text reaches math-verify's LaTeX grammar and never ``parse_expr``. Here it has a worker's deadline as well: its
own timeouts are alarms, which work in a main thread only.
"""

from __future__ import annotations

import functools
import importlib.util
from typing import Any, Final

from rewardkit.answers.grade import FAILED, Grade, bad_gold
from rewardkit.answers.limits import MAX_CHARS
from rewardkit.batch import Status
from rewardkit.errors import MissingDependencyError
from rewardkit.processes.worker_pool import Outcome, Pool

CPU_SECONDS: Final = 15.0
"""TRL gives parsing 10 s and verifying 5 s."""


@functools.cache
def _pool() -> Pool:
    return Pool(preload="math_verify")


def grade_trl(
    response: str, ground_truth: object, *, cpu_seconds: float = CPU_SECONDS, pool: Pool | None = None
) -> Grade:
    """TRL's verdict on a response.

    Args:
        response: what the model wrote.
        ground_truth: the text of TRL's ``solution`` column.
        cpu_seconds: a worker's CPU time; using it up is TIMEOUT, where TRL would go on or give 0.
        pool: the workers; None: a pool of this module's.

    Raises:
        MissingDependencyError: math-verify isn't installed.
    """
    if importlib.util.find_spec("math_verify") is None:
        raise MissingDependencyError(
            "mode 'trl' needs math-verify, which is not installed", hint="pip install 'rewardkit-rl[math-verify]'"
        )
    if not isinstance(ground_truth, str):
        return bad_gold(ground_truth)
    if len(response) > MAX_CHARS:
        return FAILED[Status.LIMIT]
    result = (pool or _pool()).run("rewardkit.answers.trl:answer", [response, ground_truth], cpu_seconds=cpu_seconds)
    if result.outcome is Outcome.TIMEOUT:
        return Grade(0.0, Status.TIMEOUT, "math-verify", reason="math-verify used up its worker's CPU time")
    if result.outcome is not Outcome.DONE:
        return Grade(float("nan"), Status.ERROR, "math-verify", reason=f"worker: {result.outcome.value} {result.value}")
    return bad_gold(ground_truth) if result.value is None else Grade(result.value, Status.SCORED, "math-verify")


def answer(response: str, ground_truth: str) -> float | None:
    """TRL's ``accuracy_reward`` for one response; None for a ground truth that math-verify can't read. For workers."""
    from latex2sympy2_extended import NormalizationConfig
    from math_verify import LatexExtractionConfig, parse, verify

    wanted: Any = parse(ground_truth)
    if not wanted:
        return None
    config = LatexExtractionConfig(
        normalization_config=NormalizationConfig(units=True), boxed_match_priority=0, try_extract_without_anchor=False
    )
    parsed: Any = parse(response, extraction_config=[config], extraction_mode="first_match")
    return float(verify(wanted, parsed))
