"""Programs against their tests: many rows, several sandboxes at once, one verdict a row."""

from __future__ import annotations

import logging
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

from rewardkit.batch import Score, Status
from rewardkit.programs.limits import Limits
from rewardkit.programs.sandbox import Sandbox
from rewardkit.unit_tests.cases import BadTests, Result, Rules, Tests
from rewardkit.unit_tests.ground_truth import read_tests
from rewardkit.unit_tests.response import NoProgram, program_of

Pay = Literal["all", "share"]

MOST_TIMEOUTS: Final = 3
"""Tests of one program that may run into the time limit; what comes after them counts as failed and isn't run."""


_KEPT_CHARS: Final = 65_536


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of one program's tests."""

    score: Score
    run: int = 0
    """How many tests were run."""


def grade_programs(
    responses: Sequence[str],
    ground_truths: Sequence[object],
    *,
    sandbox: Callable[[], Sandbox],
    limits: Limits,
    pay: Pay = "all",
    rules: Rules | None = None,
    fenced: bool = True,
    budget_seconds: float | None = None,
) -> list[Verdict]:
    """Run each response's program on its row's tests.

    Args:
        responses: what the model wrote.
        ground_truths: the tests of each, in one of the shapes of :mod:`rewardkit.unit_tests.ground_truth`.
        sandbox: gives the place where programs run, as many at once as it has room for; called once there is one.
        limits: of one test.
        pay: ``all``: 1 where every test is passed, else 0, and the first failure ends the row; ``share``: the share of
            tests that are passed.
        rules: how results are compared.
        fenced: as for :func:`~rewardkit.unit_tests.response.program_of`.
        budget_seconds: wall time for the batch; rows that are not decided by then are ERROR. None: none is.
    """
    deadline = None if budget_seconds is None else time.monotonic() + budget_seconds
    known: dict[object, Tests | Score] = {}
    jobs: dict[tuple[int, str], list[int]] = {}
    verdicts: list[Verdict | None] = [None] * len(responses)
    tests_of: dict[int, Tests] = {}
    for i, (response, ground_truth) in enumerate(zip(responses, ground_truths, strict=True)):
        key = ground_truth if isinstance(ground_truth, str) else id(ground_truth)
        if key not in known:
            known[key] = _read(ground_truth)
        tests = known[key]
        if isinstance(tests, Score):
            verdicts[i] = Verdict(tests)
            continue
        try:
            program = program_of(response, defining=tests.calls, fenced=fenced)
        except NoProgram as why:
            verdicts[i] = Verdict(Score(status=why.status, reason=why.reason))
            continue
        tests_of[id(tests)] = tests
        jobs.setdefault((id(tests), program), []).append(i)
    if jobs:
        verdicts_of = _run_all(jobs, tests_of, sandbox(), limits, pay, rules or Rules(), deadline)
        late = Score(status=Status.ERROR, reason=f"not begun within the batch's budget of {budget_seconds or 0:g} s")
        unbegun = 0
        for rows, verdict in zip(jobs.values(), verdicts_of, strict=True):
            unbegun += len(rows) if verdict is None else 0
            for i in rows:
                verdicts[i] = verdict or Verdict(late)
        if unbegun:
            _logger.warning(
                "%d of %d programs were not run within the batch's budget of %g s: these rows have no score; more "
                "cores, fewer tests or smaller batches would reach them",
                unbegun,
                len(responses),
                budget_seconds,
            )
    return [verdict for verdict in verdicts if verdict is not None]


def _run_all(
    jobs: Iterable[tuple[int, str]],
    tests_of: Mapping[int, Tests],
    sandbox: Sandbox,
    limits: Limits,
    pay: Pay,
    rules: Rules,
    deadline: float | None,
) -> list[Verdict | None]:
    """One verdict for each program, or None where it was not begun by the deadline."""
    left = threading.Event()

    def job(key: tuple[int, str]) -> Verdict | None:
        if left.is_set() or (deadline is not None and time.monotonic() > deadline):
            return None
        try:
            return _verdict(tests_of[key[0]], key[1], sandbox, limits, pay, rules, left, deadline)
        except Exception:  # a fault of ours, which costs the policy nothing and the batch one row
            return Verdict(Score(status=Status.ERROR, reason=traceback.format_exc()))

    todo = list(jobs)
    with ThreadPoolExecutor(min(sandbox.size, len(todo)), thread_name_prefix="rewardkit-programs") as threads:
        try:
            return list(threads.map(job, todo))
        except BaseException:  # Ctrl-C: what runs is ended, what waits isn't begun
            left.set()
            raise


def _read(ground_truth: object) -> Tests | Score:
    """The tests of a ground truth; those of short texts are kept, since a reward loop scores row by row."""
    if isinstance(ground_truth, str) and len(ground_truth) <= _KEPT_CHARS:
        return _kept(ground_truth)
    return _read_anew(ground_truth)


@lru_cache(maxsize=256)
def _kept(ground_truth: str) -> Tests | Score:
    return _read_anew(ground_truth)


def _read_anew(ground_truth: object) -> Tests | Score:
    try:
        return read_tests(ground_truth)
    except BadTests as why:
        return Score(status=Status.BAD_GOLD, reason=f"unusable tests: {why}")
    except Exception as error:
        return Score(status=Status.BAD_GOLD, reason=f"unusable tests: {type(error).__name__}: {error}"[:500])


def _verdict(
    tests: Tests,
    program: str,
    sandbox: Sandbox,
    limits: Limits,
    pay: Pay,
    rules: Rules,
    left: threading.Event,
    deadline: float | None,
) -> Verdict:
    total, passed, timeouts, count = len(tests), 0, 0, 0
    first: Result | None = None
    results = tests.run(program, sandbox, limits, rules)
    try:
        for result in results:
            count += 1
            if result.status in (Status.ERROR, Status.BAD_GOLD):
                return Verdict(Score(status=result.status, reason=result.reason), count)
            passed += result.passed
            timeouts += result.status is Status.TIMEOUT
            if not result.passed and first is None:
                first = result
            if (pay == "all" and first is not None) or timeouts >= MOST_TIMEOUTS:
                break
            if count < total and (left.is_set() or (deadline is not None and time.monotonic() > deadline)):
                reason = f"only {count} of {total} tests were run within the batch's budget"
                return Verdict(Score(status=Status.ERROR, reason=reason), count)
    finally:
        results.close()  # its place is given back at once
    if first is None:
        return Verdict(Score(1.0), count)
    reason = first.reason if pay == "all" else f"{passed} of {total} tests passed; {first.reason}"
    if (passed == 0 and first.status is not Status.SCORED) or (pay == "all" and first.status is not Status.SCORED):
        return Verdict(Score(status=first.status, reason=reason), count)
    return Verdict(Score(passed / total if pay == "share" else 0.0, reason=reason), count)


_logger: Final = logging.getLogger("rewardkit")
