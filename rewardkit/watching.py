"""A user's function under a deadline, where others wait for what it is called with.

Python can't stop a thread, so one that is over its deadline is left behind: it runs on, and nobody listens. The calls
after it go on in a new thread. That keeps a reward loop alive through a call that hangs; it is no cure for one that
computes for ever, which takes its share of the interpreter as long as the process lives. Functions that must be
stoppable belong in :mod:`rewardkit.workers`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, Final


class _Overdue:
    """The answer of a call that gave none in time."""


OVERDUE: Final = _Overdue()


def watched(call: Callable[[int], Any], n: int, seconds: float) -> list[Any]:
    """``[call(0), ..., call(n - 1)]``, one after another in another thread; OVERDUE for calls that take longer.

    Args:
        call: must not raise; a call that does gives OVERDUE at once.
        n: how many calls.
        seconds: wall time that one call may take; a tenth of it once one was overdue, since where one hangs many do.
    """
    answers: list[Any] = []
    while len(answers) < n:
        loop = _Loop(call, len(answers), n)
        loop.start()
        answers += loop.answers_within(seconds if OVERDUE not in answers else seconds / 10)
        if len(answers) < n:
            answers.append(OVERDUE)
    return answers


class _Loop(threading.Thread):
    """The calls from one number on, until they are done or given up."""

    def __init__(self, call: Callable[[int], Any], start: int, stop: int) -> None:
        super().__init__(name="rewardkit-watched", daemon=True)
        self._call, self._numbers = call, range(start, stop)
        self._answers: list[Any] = []
        self._began = time.monotonic()
        self._done = threading.Event()
        self._given_up = False
        self._lock = threading.Lock()

    def run(self) -> None:
        try:
            for number in self._numbers:
                answer = self._call(number)
                with self._lock:
                    if self._given_up:
                        return
                    self._answers.append(answer)
                    self._began = time.monotonic()
        finally:
            self._done.set()  # a thread that dies is not waited for

    def answers_within(self, seconds: float) -> list[Any]:
        """What has been answered when all is done, or when one call has taken so long."""
        left = seconds
        while not self._done.wait(left):
            with self._lock:
                left = self._began + seconds - time.monotonic()
                if left <= 0 and len(self._answers) < len(self._numbers):
                    self._given_up = True
                    break
                left = max(left, 0.001)
        return self._answers
