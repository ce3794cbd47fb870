"""A user's function under a deadline, where others wait for what it is called with.

Python can't stop a thread, so one that is over its deadline is left behind: it runs on, and nobody listens. The calls
after it go on in a new thread. That keeps a reward loop alive through a call that hangs; it does not cure one that
computes for ever, which takes its share of the interpreter as long as the process lives. Functions that must be
stoppable belong in :mod:`rewardkit.processes.worker_pool`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, Final


class _TimedOut:
    """The answer of a call that gave none in time."""


TIMED_OUT: Final = _TimedOut()


def call_in_time(call: Callable[[int], Any], n: int, seconds: float) -> list[Any]:
    """``[call(0), ..., call(n - 1)]``, one after another in another thread; TIMED_OUT for calls that take longer.

    Args:
        call: what it raises, of whatever kind, is raised here, and ends the calls.
        n: how many calls.
        seconds: wall time that one call may take; a tenth of it once one timed out, since where one hangs many do.
    """
    answers: list[Any] = []
    while len(answers) < n:
        loop = _Loop(call, len(answers), n)
        loop.start()
        answers += loop.answers_within(seconds if TIMED_OUT not in answers else seconds / 10)
        if loop.raised is not None:
            raise loop.raised
        if len(answers) < n:
            answers.append(TIMED_OUT)
    return answers


class _Loop(threading.Thread):
    """The calls from one number on, until they are done or given up."""

    def __init__(self, call: Callable[[int], Any], start: int, stop: int) -> None:
        super().__init__(name="rewardkit-timed", daemon=True)
        self._call, self._numbers = call, range(start, stop)
        self._answers: list[Any] = []
        self._began = time.monotonic()
        self._done = threading.Event()
        self._given_up = False
        self._lock = threading.Lock()
        self.raised: BaseException | None = None
        """What a call raised before the calls were given up."""

    def run(self) -> None:
        try:
            for number in self._numbers:
                answer = self._call(number)
                with self._lock:
                    if self._given_up:
                        return
                    self._answers.append(answer)
                    self._began = time.monotonic()
        except BaseException as e:
            with self._lock:
                if not self._given_up:
                    self.raised = e
        finally:
            self._done.set()

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
