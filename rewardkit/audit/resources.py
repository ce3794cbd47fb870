"""Texts that cost time, each under a deadline: a reward that hangs on one sample stops the training of all.

A formula of built-in terms comes back from any text, so it is timed where it is. A user's code may not, so it is run
in a child process that is killed.
"""

from __future__ import annotations

import math
import multiprocessing
import time
from collections.abc import Sequence
from typing import Any, Final

from rewardkit.audit.attacks import BOMBS
from rewardkit.audit.attempt import Attempt
from rewardkit.audit.finding import AuditFinding, Evidence, Severity
from rewardkit.audit.forms import Forms
from rewardkit.audit.problems import Problem
from rewardkit.audit.subject import Subject

SLOW_S: Final = 1.0
"""Seconds for one text. Rewards take microseconds, and a batch has thousands of texts."""
DEADLINE_S: Final = 3.0
"""Seconds after which user code is stopped."""


def resources(subject: Subject, problem: Problem, forms: Forms, honest: str) -> tuple[list[AuditFinding], int]:
    """The slowest text as a finding, and how many were tried."""
    attempts = list(BOMBS(problem, forms.best))
    measured = _here(subject, problem, attempts) if subject.trusted else _apart(subject, problem, attempts)
    seconds, reason, attempt = max(measured, key=lambda m: m[0])
    if seconds < SLOW_S:
        return [], len(attempts)
    took = f"over {DEADLINE_S:g} s, and was stopped" if math.isinf(seconds) else f"{seconds:.1f} s"
    many = sum(s >= SLOW_S for s, _, _ in measured)
    others = f"; so do {many - 1} more" if many > 1 else ""
    shown = Evidence(attempt.text, math.nan, {}, attempt.claim.says, problem.gold.text, honest, math.nan, {})
    message = f"{attempt.name} of {len(attempt.text):,} characters took {took}{others}" + (
        f" ({reason})" if reason else ""
    )
    fix = "set limits before parsing, and grade in a process that can be killed: math_equal() and matches() do"
    return [AuditFinding("slow", Severity.MEDIUM, "bomb", message, shown, 1, fix)], len(attempts)


Measured = tuple[float, str | None, Attempt]


def _here(subject: Subject, problem: Problem, attempts: Sequence[Attempt]) -> list[Measured]:
    found: list[Measured] = []
    for attempt in attempts:
        began = time.perf_counter()
        subject.pay([problem.sample(attempt.text)])
        found.append((time.perf_counter() - began, None, attempt))
    return found


def _apart(subject: Subject, problem: Problem, attempts: Sequence[Attempt]) -> list[Measured]:
    """Each text in turn in one child; a child that hangs is killed, and the next text gets a new one."""
    found: list[Measured] = []
    left = list(attempts)
    while left:
        context = multiprocessing.get_context("fork")  # the user's module is loaded already, maybe from text
        ours, theirs = context.Pipe()
        child = context.Process(target=_work, args=(theirs, subject, problem, left), daemon=True)
        child.start()
        theirs.close()
        done = 0
        try:
            while done < len(left):
                if not ours.poll(DEADLINE_S):
                    found.append((math.inf, None, left[done]))
                    done += 1
                    break
                found.append((ours.recv(), None, left[done]))
                done += 1
        except EOFError:  # the child died of it: out of memory, or a crash in native code
            found.append((math.inf, "its process died", left[done]))
            done += 1
        finally:
            child.kill()
            child.join()
            ours.close()
        left = left[done:]
        if sum(math.isinf(s) for s, _, _ in found) >= 2:
            break
    return found


def _work(pipe: Any, subject: Subject, problem: Problem, attempts: Sequence[Attempt]) -> None:
    for attempt in attempts:
        began = time.perf_counter()
        subject.pay([problem.sample(attempt.text)])
        pipe.send(time.perf_counter() - began)
