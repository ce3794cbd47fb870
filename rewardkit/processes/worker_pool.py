"""Worker processes that can be killed: for work whose time nobody can foresee.

A pool has one fork server: a fresh interpreter (``subprocess``, so it starts from any thread, in daemonic processes and
Ray actors, and whatever the start method of ``multiprocessing`` is) that loads what the work needs and forks the
workers. A worker reads one JSON request at a time and answers it. Before each request it arms a timer on its own CPU
time; the kernel ends it when the time is up, inside C code too, and no handler, no alarm and no signal is set in the
calling process. The end of a worker costs the verdict that it was at, and a new one is there in milliseconds.

What may not enter: what the requests mean. A request names an importable function, which code chooses and never a
model's text; its arguments are data.
"""

from __future__ import annotations

import atexit
import itertools
import logging
import os
import selectors
import signal
import threading
import time
import weakref
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from rewardkit.processes.cores import cores
from rewardkit.processes.worker import Answer, End, ForkServer, Worker

_WALL_FACTOR: Final = 10.0
_WALL_EXTRA: Final = 20.0
"""A worker that neither answers nor uses up its CPU time within ``10 * cpu_seconds + 20`` seconds of wall time is
stuck (swapped out, stopped) and is ended too; that is not the request's fault."""
_FAILED_STARTS: Final = 3
"""Fork servers that may end one after another before they have loaded; then a batch is given up."""

RECYCLE_AFTER: Final = 5_000
"""Requests after which a worker is replaced: computer algebra caches grow."""


class Outcome(Enum):
    """How a request ended."""

    DONE = "done"
    TIMEOUT = "timeout"
    """The worker's CPU time for this request was used up."""
    DIED = "died"
    """The worker ended for another reason (memory, a crash, killed from outside); ``value`` says which."""
    FAILED = "failed"
    """The function raised; ``value`` is the traceback's text."""
    EXPIRED = "expired"
    """The batch's budget ran out before a worker took the request; ``value`` says which it was."""


@dataclass(frozen=True, slots=True)
class Result:
    """What came of one request."""

    outcome: Outcome
    value: Any = None


class Pool:
    """At most ``size`` workers, started when they are needed. Safe to use from any thread.

    Args:
        size: workers at most; None: :func:`~rewardkit.processes.cores.cores`.
        memory_bytes: address space of a worker; one that wants more dies.
        preload: ``module`` or ``module:function`` that is imported and called before the first worker is forked.
    """

    def __init__(self, size: int | None = None, *, memory_bytes: int = 4 << 30, preload: str = "") -> None:
        self.size = size or cores()
        self.memory_bytes = memory_bytes
        self.preload = preload
        self._begin()
        _POOLS.add(self)

    def _begin(self) -> None:
        self._lock = threading.Condition()
        self._idle: list[Worker] = []
        self._busy: weakref.WeakSet[Worker] = weakref.WeakSet()  # one that an interrupt lets fall is not counted
        self._servers: list[ForkServer] = []
        """The last one is in use; the others wait for their last workers."""
        self._failed_starts = 0
        self._closed = False
        self._pid = os.getpid()

    def run(self, function: str, arguments: Sequence[Any], *, cpu_seconds: float) -> Result:
        """Call ``module:name`` in a worker."""
        return self.run_many(function, [arguments], cpu_seconds=cpu_seconds)[0]

    def run_many(
        self, function: str, calls: Sequence[Sequence[Any]], *, cpu_seconds: float, budget_seconds: float | None = None
    ) -> list[Result]:
        """Call a function once for each entry of ``calls``, over the workers that are free.

        Args:
            function: ``module:name``.
            calls: arguments, as JSON can carry them.
            cpu_seconds: the CPU time of a worker for one call.
            budget_seconds: wall time for all; calls that no worker has taken by then are EXPIRED. None: none is.

        Raises:
            OSError: no process can be started.
        """
        self.forget_after_fork()
        deadline = None if budget_seconds is None else time.monotonic() + budget_seconds
        with selectors.DefaultSelector() as selector:
            batch = _Batch(self, selector, function, calls, cpu_seconds)
            try:
                while batch.waiting or batch.running:
                    if deadline is not None and time.monotonic() > deadline and batch.waiting:
                        _logger.warning(
                            "%d of %d calls of %s were not begun within the batch's budget of %g s: these rows have no "
                            "score; more cores, a cheaper term, or smaller batches would reach them",
                            len(batch.waiting),
                            len(calls),
                            function,
                            budget_seconds,
                        )
                        batch.give_up(Result(Outcome.EXPIRED, f"within the batch's budget of {budget_seconds:g} s"))
                    batch.hand_out(deadline)
                    batch.collect()
            finally:
                for worker in batch.running:
                    self.end(worker)
        return [result for result in batch.results if result is not None]

    def acquire(self, *, wait: bool, deadline: float | None) -> Worker | None:
        """A worker that is free, or a new one; None where there is none and none shall be waited for."""
        with self._lock:
            while True:
                while self._idle:
                    worker = self._idle.pop()
                    if worker.is_quiet():
                        self._busy.add(worker)
                        return worker
                    self._end(worker)  # it was killed while it had nothing to do
                if len(self._busy) < self.size:
                    worker = self._new_worker()
                    self._busy.add(worker)
                    return worker
                if not wait or (deadline is not None and time.monotonic() > deadline):
                    return None
                self._lock.wait(timeout=0.5)

    def _new_worker(self) -> Worker:
        for _ in range(1 + _FAILED_STARTS):
            if self._servers:
                server = self._servers[-1]
                if not server.retired and server.is_alive() and (worker := server.worker()) is not None:
                    return worker
                self._retire(server)
            self._servers.append(ForkServer(self.memory_bytes, self.preload))
        raise ChildProcessError("fork servers end as soon as they have been started")

    def release(self, worker: Worker) -> None:
        """Take back a worker that has answered."""
        with self._lock:
            self._busy.discard(worker)
            self._failed_starts = 0
            if worker.served >= RECYCLE_AFTER or worker.server.retired or self._closed:
                self._end(worker)
            else:
                self._idle.append(worker)
            self._lock.notify()

    def end(self, worker: Worker, *, stuck: bool = False) -> None:
        """End a worker. ``stuck``: it gave no answer in its wall time, and its server may be the cause."""
        with self._lock:
            self._busy.discard(worker)
            if stuck or not worker.server.is_alive():
                self._retire(worker.server)
            self._end(worker)
            self._lock.notify()

    def _retire(self, server: ForkServer) -> None:
        if not server.retired:
            server.retired = True
            self._failed_starts = 0 if server.is_ready else self._failed_starts + 1
        self._close_unused(server)

    def _end(self, worker: Worker) -> None:
        worker.close()
        worker.server.workers.discard(worker)
        if not worker.server.is_alive():
            self._retire(worker.server)
        self._close_unused(worker.server)

    def _close_unused(self, server: ForkServer) -> None:
        if (server.retired or self._closed) and not server.workers and server in self._servers:
            self._servers.remove(server)
            server.close()

    @property
    def can_not_start(self) -> bool:
        """Whether fork servers end before they have loaded, one after another."""
        return self._failed_starts >= _FAILED_STARTS

    def try_again(self) -> None:
        """Forget that fork servers did not start."""
        self._failed_starts = 0

    def forget_after_fork(self) -> None:
        """A forked child must not talk to its parent's workers, nor keep them alive."""
        if self._pid != os.getpid():
            for server in self._servers:
                server.forget()
            self._begin()

    def close(self) -> None:
        """End all idle workers; busy ones end with their request."""
        if self._pid != os.getpid():
            return
        with self._lock:
            self._closed = True
            while self._idle:
                self._end(self._idle.pop())
            for server in list(self._servers):
                self._close_unused(server)

    def processes(self) -> list[int]:
        """Process ids of the fork servers, each the id of its workers' session, for tests and reports."""
        with self._lock:
            return [server.pid for server in self._servers]


class _Batch:
    """The requests of one call: what waits, what workers are at, what came of it."""

    def __init__(
        self,
        pool: Pool,
        selector: selectors.BaseSelector,
        function: str,
        calls: Sequence[Sequence[Any]],
        cpu_seconds: float,
    ) -> None:
        self._pool, self._selector = pool, selector
        self._function, self._calls, self._cpu_seconds = function, calls, cpu_seconds
        self.results: list[Result | None] = [None] * len(calls)
        self.waiting = deque(range(len(calls)))
        self.running: dict[Worker, tuple[int, float]] = {}
        """By worker: which request, and until when an answer is waited for."""
        pool.try_again()

    def give_up(self, result: Result) -> None:
        """Say the same of all that waits."""
        while self.waiting:
            self.results[self.waiting.popleft()] = result

    def hand_out(self, deadline: float | None) -> None:
        """Give requests to the workers that are free; wait for one where none is at work for this batch."""
        while self.waiting:
            worker = self._pool.acquire(wait=not self.running, deadline=deadline)
            if worker is None:
                return
            i = self.waiting.popleft()
            self.running[worker] = i, time.monotonic() + self._cpu_seconds * _WALL_FACTOR + _WALL_EXTRA
            worker.send(next(_NUMBERS), self._function, self._cpu_seconds, self._calls[i])
            events = selectors.EVENT_READ if worker.flush() else selectors.EVENT_READ | selectors.EVENT_WRITE
            self._selector.register(worker.channel, events, worker)

    def collect(self) -> None:
        """Wait for answers for a moment, and take those that came."""
        if not self.running:
            return
        for key, events in self._selector.select(timeout=0.5):
            worker: Worker = key.data
            if events & selectors.EVENT_WRITE and worker.flush():
                self._selector.modify(worker.channel, selectors.EVENT_READ, worker)
            if events & selectors.EVENT_READ and (said := worker.receive()) is not None:
                self._finish(worker, said)
        now = time.monotonic()
        for worker in [worker for worker, (_, limit) in self.running.items() if now > limit]:
            self._finish(worker, None)

    def _finish(self, worker: Worker, said: Answer | End | None) -> None:
        self._selector.unregister(worker.channel)
        i = self.running[worker][0]
        if isinstance(said, Answer):
            self.results[i] = Result(Outcome.DONE if said.done else Outcome.FAILED, said.value)
            del self.running[worker]
            self._pool.release(worker)
            return
        words = worker.words()
        self._pool.end(worker, stuck=said is None)
        del self.running[worker]
        if said is not None and said.how == -signal.SIGPROF and said.cpu_seconds >= self._cpu_seconds / 2:
            self.results[i] = Result(Outcome.TIMEOUT)
            return
        why = "no answer within the wall time" if said is None else str(said)
        self.results[i] = Result(Outcome.DIED, f"{why}: {words}" if words else why)
        if self._pool.can_not_start:
            self.give_up(Result(Outcome.DIED, f"workers can't be started: {words or why}"))


_logger: Final = logging.getLogger("rewardkit")
_NUMBERS: Final = itertools.count()
_POOLS: weakref.WeakSet[Pool] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for pool in list(_POOLS):
        pool.close()


def _forget_all() -> None:
    for pool in list(_POOLS):
        pool.forget_after_fork()


os.register_at_fork(after_in_child=_forget_all)
