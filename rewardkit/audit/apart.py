"""Calls in a child process with a deadline each: a user's code may hang on one text, or take its process down.

The child is a fork, for the user's module is loaded already, maybe from text; what the code remembers between calls
lives as long as the child.
"""

from __future__ import annotations

import contextlib
import io
import multiprocessing
import os
import random
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Sequence
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any, Final

DEADLINE_S: Final = 3.0
"""Seconds after which a call is stopped."""
_PATIENT: Final = 2
"""Calls that are waited for as long; of later ones a tenth, for what hangs once hangs often."""
SLOW_S: Final = 1.0
"""Seconds of a slow call. Rewards take microseconds, and a batch has thousands of texts."""
_SLOW_ONES: Final = 6
_STOPPED_ONES: Final = 12
OVERDUE: Final = "stopped after"
"""How the reason of a call that took too long begins."""

Answer = tuple[Any, str | None]
"""What a call returned, or why it did not."""


class Apart:
    """A function of one argument, called in a child.

    Args:
        function: what is called.
        size: of an argument; once many calls were slow among quick ones, none is made for what is as large as those.
        deadline: seconds after which a call is stopped.
        once: each call in a child of its own, and each waited for as long: it may run a program, which changes what it
            runs in.
    """

    def __init__(
        self,
        function: Callable[[Any], Any],
        size: Callable[[Any], int],
        *,
        deadline: float = DEADLINE_S,
        once: bool = False,
    ) -> None:
        self._function = function
        self._size = size
        self._deadline = deadline
        self._once = once
        self._quick = 0
        self._slow: list[int] = []
        self._child: BaseProcess | None = None
        self._pipe: Connection | None = None
        self._stopped = 0
        self._owner = os.getpid()
        """A fork of this process has a copy of this object, and must leave the child alone."""

    def map(self, arguments: Sequence[Any]) -> list[Answer]:
        """What each call returned, in order."""
        if self._once and len(arguments) > 1:
            return [answer for argument in arguments for answer in self.map([argument])]
        found: list[Answer] = []
        while len(found) < len(arguments):
            pipe = self._started()
            try:
                first = len(found)
                skipped = [self._is_hopeless(a) for a in arguments[first:]]
                pipe.send([a for a, skip in zip(arguments[first:], skipped, strict=True) if not skip])
                for argument, skip in zip(arguments[first:], skipped, strict=True):
                    if skip:
                        found.append((None, f"{OVERDUE} others of its length were slow"))
                        continue
                    began = time.monotonic()
                    patient = self._once or self._stopped < _PATIENT
                    seconds = self._deadline if patient else self._deadline / 10
                    if not pipe.poll(seconds):
                        self._stopped += 1
                        self._slow.append(self._size(argument))
                        found.append((None, f"{OVERDUE} {seconds:g} s"))
                        break
                    found.append(pipe.recv())
                    if time.monotonic() - began > SLOW_S:
                        self._slow.append(self._size(argument))
                        if self._is_hopeless(argument):
                            break
                    else:
                        self._quick += 1
                else:
                    if self._once:
                        self.close()
                    return found
            except (EOFError, OSError):
                found.append((None, "its process died"))
            self.close()
        return found

    def _is_hopeless(self, argument: Any) -> bool:
        """Whether smaller calls were stopped, or were slow where most were quick; all slow is its price."""
        if self._once:
            return False
        many = (len(self._slow) >= _SLOW_ONES and self._quick > 3 * len(self._slow)) or self._stopped >= _STOPPED_ONES
        return many and self._size(argument) >= min(self._slow)

    def close(self) -> None:
        """End the child, and what it remembers; the next call starts a fresh one."""
        if self._child is not None and self._pipe is not None and self._owner == os.getpid():
            with contextlib.suppress(ProcessLookupError):  # it leads a group, with whatever it has started
                os.killpg(self._child.ident or 0, signal.SIGKILL)
            self._child.kill()
            self._child.join()
            self._pipe.close()
        self._child = self._pipe = None

    def __del__(self) -> None:
        self.close()

    def _started(self) -> Connection:
        if self._pipe is None:
            context = multiprocessing.get_context("fork")
            self._pipe, theirs = context.Pipe()
            # a daemon could start no process, as rewards that run programs do
            self._child = context.Process(target=_serve, args=(theirs, self._pipe, self._function), daemon=False)
            self._child.start()
            theirs.close()
        return self._pipe


def _end_with(parent: int) -> None:
    """End with the parent, also in a call that never ends."""
    while os.getppid() == parent:
        time.sleep(1.0)
    os.killpg(0, signal.SIGKILL)


def _serve(pipe: Connection, parents: Connection, function: Callable[[Any], Any]) -> None:
    parents.close()  # while a copy is open here, the end of the parent is not seen
    os.setpgid(0, 0)
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends it
    random.seed()  # a fork would draw the same numbers as the fork before it
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(EOFError, OSError):
        while True:
            arguments: Iterable[Any] = pipe.recv()
            for argument in arguments:
                try:
                    answer: Answer = function(argument), None
                except SystemExit as e:
                    place = traceback.extract_tb(e.__traceback__)[-1]
                    where = f"{os.path.basename(place.filename)}:{place.lineno}"
                    answer = None, f"{where} called sys.exit({e.code!r})"
                except (Exception, KeyboardInterrupt) as e:  # the user's code may raise anything: that is a diagnostic
                    answer = None, f"{type(e).__name__}: {str(e)[:500]}"
                pipe.send(answer)
