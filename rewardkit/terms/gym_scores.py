"""What reasoning-gym pays for an answer, asked of its own code in a worker process."""

from __future__ import annotations

import contextlib
import io
import json
import os
import threading
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final

from pydantic import AfterValidator, Field

from rewardkit.algebra.define import term
from rewardkit.batch import Batch, Sample, Score, Status
from rewardkit.errors import did_you_mean
from rewardkit.processes.budget import current_budget
from rewardkit.processes.worker_pool import Outcome, Pool, Result
from rewardkit.terms.optional import optional
from rewardkit.terms.similarity import answer_text

MAX_CHARS: Final = 20_000
"""Longest answer; the longest right ones, grids of numbers, have some thousand."""

_SCORE: Final = "rewardkit.terms.puzzles.gym:score"
_WARM: Final = "rewardkit.terms.puzzles.gym:warm"
_pools: dict[int, Pool] = {}
_lock: Final = threading.Lock()


def _known(dataset: str) -> str:
    with contextlib.redirect_stdout(io.StringIO()):  # importing it prints
        names = optional("reasoning_gym.factory", wanted_by="reasoning_gym", extra="reasoning-gym").DATASETS
    if dataset not in names or dataset == "composite":
        hint = did_you_mean(dataset, names) or f"such as {', '.join(sorted(names)[:6])}"
        raise ValueError(f"expected a data set of reasoning-gym with a score of its own: {hint}")
    return dataset


@term(bounds=(0, 1), needs=("ground_truth",), reads=("extra_info", "prompt"), batched=True, cost="worker")
def reasoning_gym(
    batch: Batch,
    dataset: Annotated[str, AfterValidator(_known)],
    *,
    cpu_seconds: Annotated[float, Field(gt=0, le=60)] = 5.0,
) -> Sequence[Score]:
    """What a data set of reasoning-gym pays for the answer by its own ``score_answer``, in a worker process.

    The answer is what stands in the last ``<answer>`` tag, or else the response after its reasoning; an empty one is
    NO_ANSWER. The ground truth is an entry of the data set, ``{"question": ..., "answer": ..., "metadata": ...}``, as
    data or as JSON text, or its answer alone where ``extra_info`` has the entry's ``metadata``, as ``rewardkit data
    --from reasoning-gym:NAME`` writes it. Many data sets pay 0.01 to 0.1 for any answer that can be read.

    Where reasoning-gym hands an answer to ``eval`` or to sympy's parser, only arithmetic, literals and formulas get
    there. An answer that uses up its CPU time is TIMEOUT, one of over 20,000 characters, or on which scoring fails,
    LIMIT; an entry whose own answer can't be scored is BAD_GOLD. Needs the extra ``reasoning-gym``. Source:
    github.com/open-thought/reasoning-gym.

    Args:
        batch: the responses and their ground truths.
        dataset: the name of the data set, such as ``countdown`` or ``leg_counting``.
        cpu_seconds: the worker's CPU time for one answer.
    """
    scores: list[Score | None] = [None] * len(batch)
    asked: dict[int, tuple[str, dict[str, Any]]] = {}
    for i, sample in enumerate(batch):
        answer = answer_text(sample.response).strip()
        try:
            entry = _entry(sample)
        except (ValueError, TypeError, RecursionError) as e:
            scores[i] = Score(status=Status.BAD_GOLD, reason=f"no entry of reasoning-gym: {e}"[:300])
            continue
        if not answer:
            scores[i] = Score(status=Status.NO_ANSWER, reason="the response asserts no answer")
        elif len(answer) > MAX_CHARS:
            scores[i] = Score(status=Status.LIMIT, reason=f"more than {MAX_CHARS} characters")
        else:
            asked[i] = answer, entry
    results = _ask(dataset, list(asked.values()), cpu_seconds)
    failed = {i: result for i, result in zip(asked, results, strict=True) if result.outcome in _BLAMED}
    own = _ask(dataset, [(str(asked[i][1]["answer"]), asked[i][1]) for i in failed], cpu_seconds)
    usable = {i: result.outcome is Outcome.DONE for i, result in zip(failed, own, strict=True)}
    for i, result in zip(asked, results, strict=True):
        scores[i] = _score(result, usable.get(i, True))
    return [score for score in scores if score is not None]


_BLAMED: Final = (Outcome.TIMEOUT, Outcome.FAILED, Outcome.DIED)


def _ask(dataset: str, asked: Sequence[tuple[str, dict[str, Any]]], cpu_seconds: float) -> list[Result]:
    if not asked:
        return []
    with _lock:
        pool = _pools.get(os.getpid())
        if pool is None:
            pool = _pools[os.getpid()] = Pool(preload=_WARM)
    calls = [(dataset, answer, entry) for answer, entry in asked]
    return pool.run_many(_SCORE, calls, cpu_seconds=cpu_seconds, budget_seconds=current_budget())


def _score(result: Result, usable: bool) -> Score:
    if result.outcome is Outcome.DONE:
        return Score(float(result.value))
    if result.outcome is Outcome.EXPIRED:
        return Score(status=Status.ERROR, reason=f"no worker was free {result.value}")
    last = str(result.value or "").strip().rpartition("\n")[2][:200]
    if not usable:
        return Score(status=Status.BAD_GOLD, reason=f"the entry's own answer can't be scored: {last}")
    if result.outcome is Outcome.TIMEOUT:
        return Score(status=Status.TIMEOUT, reason="scoring the answer used up its worker's CPU time")
    return Score(status=Status.LIMIT, reason=f"scoring the answer failed: {last}")


def _entry(sample: Sample) -> dict[str, Any]:
    """The entry that a row is about, as JSON carries it."""
    truth = sample.ground_truth
    if isinstance(truth, str) and truth.lstrip().startswith("{") and '"metadata"' in truth:
        truth = json.loads(truth)
    if not isinstance(truth, Mapping):
        metadata = sample.extra_info.get("metadata")
        truth = {"question": sample.prompt or "", "answer": truth, "metadata": metadata}
    metadata = truth.get("metadata")
    metadata = json.loads(metadata) if isinstance(metadata, str) else metadata
    if truth.get("answer") is None or not isinstance(metadata, Mapping):
        raise ValueError("expected `answer`, and `metadata` there or in extra_info")
    entry: dict[str, Any] = json.loads(json.dumps({**truth, "metadata": metadata}, default=_plain))
    return entry


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else str(value)
