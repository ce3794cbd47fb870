"""Worker processes that can be killed: for work whose time nobody can foresee.

A worker is a fresh interpreter (``subprocess``, so it starts from any thread, in daemonic processes and Ray actors, and
whatever the start method of ``multiprocessing`` is) that loads what it needs and forks a child; the child reads one
JSON request at a time and answers it. Before each request the child arms a timer on its own CPU time; the kernel ends
it when the time is up, inside C code too, and no handler, no alarm and no signal is set in the calling process. The end
of a child costs the verdict that it was at, and a new one is there in milliseconds. Workers end when their standard
input closes, which it does when the calling process ends in any way.

What may not enter: what the requests mean. A request names an importable function, which code chooses and never a
model's text; its arguments are data.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import io
import json
import os
import selectors
import signal
import subprocess
import sys
import threading
import time
import traceback
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

_READ: Final = 1 << 16
_WALL_FACTOR: Final = 10.0
_WALL_EXTRA: Final = 20.0
"""A worker that neither answers nor uses up its CPU time within ``10 * cpu_seconds + 20`` seconds of wall time is
stuck (swapped out, stopped) and is ended too; that is not the request's fault."""

RECYCLE_AFTER: Final = 5_000
"""Requests after which a worker is replaced: computer algebra caches grow."""


class Outcome(Enum):
    """How a request ended."""

    DONE = "done"
    TIMEOUT = "timeout"
    """The worker's CPU time for this request was used up."""
    DIED = "died"
    """The worker ended for another reason (memory, a crash, killed from outside)."""
    FAILED = "failed"
    """The function raised; ``value`` is the traceback's text."""
    EXPIRED = "expired"
    """The batch's budget ran out before a worker took the request."""


@dataclass(frozen=True, slots=True)
class Result:
    """What came of one request."""

    outcome: Outcome
    value: Any = None


class _Worker:
    def __init__(self, memory_bytes: int, preload: str) -> None:
        command = [sys.executable, "-c", _BOOT, str(memory_bytes), preload]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p), "OMP_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            start_new_session=True,  # Ctrl-C belongs to the calling process
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.inbox = self.process.stdin
        self.outbox = self.process.stdout.fileno()
        self.served = 0
        self.buffer = b""

    def send(self, payload: bytes) -> bool:
        self.served += 1
        try:
            self.inbox.write(payload)
            self.inbox.flush()
        except (BrokenPipeError, OSError):
            return False
        return True

    def receive(self) -> bytes | None:
        """One whole answer, b'' when it is not complete yet, None at the end of the worker."""
        chunk = os.read(self.outbox, _READ)
        if not chunk:
            return None
        self.buffer += chunk
        line, found, rest = self.buffer.partition(b"\n")
        if not found:
            return b""
        self.buffer = rest
        return line

    def close(self, *, ended: bool = False) -> int:
        """End the worker, and wait for it; its exit code. ``ended``: it has ended by itself, and its code matters."""
        with contextlib.suppress(OSError):
            self.inbox.close()
        if ended:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(timeout=1)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)  # the interpreter and the child that answers for it
        code = self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()
        return code


_sharers: Final = [1]


def share_cores(processes: int) -> None:
    """Say how many processes like this one the machine has: pools made from now on divide its cores by them."""
    _sharers[0] = max(1, processes)


def cores() -> int:
    """The CPUs that this process may use, its share of them where it is one of several; at least 1."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, usable // _sharers[0])


class Pool:
    """At most ``size`` workers, started when they are needed. Safe to use from any thread.

    Args:
        size: workers at most; None: :func:`cores`.
        memory_bytes: address space of a worker; one that wants more dies.
        preload: ``module`` or ``module:function`` that a worker imports and calls when it starts, before any request's
            time runs.
    """

    def __init__(self, size: int | None = None, *, memory_bytes: int = 4 << 30, preload: str = "") -> None:
        self.size = size or cores()
        self.memory_bytes = memory_bytes
        self.preload = preload
        self._lock = threading.Condition()
        self._idle: list[_Worker] = []
        self._busy = 0
        self._pid = os.getpid()
        self._closed = False
        _POOLS.add(self)

    def warm(self, workers: int | None = None) -> None:
        """Start workers now, without waiting for them: their imports run while the caller does something else."""
        self._forget_after_fork()
        started = [
            w for _ in range(workers or self.size) if (w := self._acquire(wait=False, deadline=None)) is not None
        ]
        for worker in started:
            self._release(worker)

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
            budget_seconds: wall time for all; calls that no worker has taken by then are EXPIRED.
        """
        if not calls:
            return []
        self._forget_after_fork()
        results: list[Result | None] = [None] * len(calls)
        waiting = list(range(len(calls)))[::-1]
        deadline = None if budget_seconds is None else time.monotonic() + budget_seconds
        running: dict[_Worker, tuple[int, float]] = {}
        wall = cpu_seconds * _WALL_FACTOR + _WALL_EXTRA
        with selectors.DefaultSelector() as selector:
            try:
                while waiting or running:
                    if deadline is not None and time.monotonic() > deadline:
                        for i in waiting:
                            results[i] = Result(Outcome.EXPIRED)
                        waiting.clear()
                    while waiting and (worker := self._acquire(wait=not running, deadline=deadline)) is not None:
                        i = waiting.pop()
                        payload = json.dumps([function, cpu_seconds, list(calls[i])]).encode() + b"\n"
                        if worker.send(payload):
                            running[worker] = (i, time.monotonic() + wall)
                            selector.register(worker.outbox, selectors.EVENT_READ, worker)
                        else:
                            self._discard(worker)
                            if worker.served > 1:
                                waiting.append(i)  # it was dead before this request came
                            else:
                                results[i] = Result(Outcome.DIED)
                    if running:
                        self._collect(selector, running, results)
            finally:
                for worker in running:
                    self._discard(worker)
        return [r if r is not None else Result(Outcome.EXPIRED) for r in results]

    def _collect(
        self, selector: selectors.BaseSelector, running: dict[_Worker, tuple[int, float]], results: list[Result | None]
    ) -> None:
        ready = [key.data for key, _ in selector.select(timeout=0.5)]
        now = time.monotonic()
        for worker in list(running):
            i, limit = running[worker]
            if worker in ready:
                line = worker.receive()
                if line == b"":
                    continue
                selector.unregister(worker.outbox)
                del running[worker]
                if line is None:
                    code = self._discard(worker, ended=True)
                    results[i] = Result(Outcome.TIMEOUT if -code in _TIME_SIGNALS else Outcome.DIED)
                else:
                    done, value = json.loads(line)
                    if done is None:  # the child that was at it is gone; the worker has a new one
                        results[i] = Result(Outcome.TIMEOUT if -value in _TIME_SIGNALS else Outcome.DIED)
                    else:
                        results[i] = Result(Outcome.DONE if done else Outcome.FAILED, value)
                    self._release(worker)
            elif now > limit:
                selector.unregister(worker.outbox)
                del running[worker]
                self._discard(worker)
                results[i] = Result(Outcome.DIED, "no answer within the wall time")

    def _acquire(self, *, wait: bool, deadline: float | None) -> _Worker | None:
        with self._lock:
            while True:
                if self._idle:
                    self._busy += 1
                    return self._idle.pop()
                if self._busy < self.size:
                    self._busy += 1
                    break
                if not wait or (deadline is not None and time.monotonic() > deadline):
                    return None
                self._lock.wait(timeout=0.5)
        try:
            return _Worker(self.memory_bytes, self.preload)
        except BaseException:
            with self._lock:
                self._busy -= 1
                self._lock.notify()
            raise

    def _release(self, worker: _Worker) -> None:
        if worker.served >= RECYCLE_AFTER or self._closed:
            self._discard(worker)
            return
        with self._lock:
            self._busy -= 1
            self._idle.append(worker)
            self._lock.notify()

    def _discard(self, worker: _Worker, *, ended: bool = False) -> int:
        code = worker.close(ended=ended)
        with self._lock:
            self._busy -= 1
            self._lock.notify()
        return code

    def _forget_after_fork(self) -> None:
        """A forked child must not talk to its parent's workers."""
        if self._pid != os.getpid():
            self._lock = threading.Condition()
            self._idle, self._busy, self._pid = [], 0, os.getpid()

    def close(self) -> None:
        """End all idle workers; busy ones end with their request."""
        if self._pid != os.getpid():
            return
        with self._lock:
            idle, self._idle = self._idle, []
            self._closed = True
        for worker in idle:
            worker.close()

    def processes(self) -> list[int]:
        """Process ids of the idle workers, for tests and reports."""
        with self._lock:
            return [w.process.pid for w in self._idle]


_TIME_SIGNALS: Final = (signal.SIGPROF, signal.SIGXCPU)
_POOLS: weakref.WeakSet[Pool] = weakref.WeakSet()
_BOOT: Final = "import sys; from rewardkit.workers import serve; serve(int(sys.argv[1]), sys.argv[2])"


@atexit.register
def _close_all() -> None:
    for pool in list(_POOLS):
        pool.close()


def _close_pipes_in_child() -> None:
    """A child that kept the pipes open would keep its parent's workers alive after the parent."""
    for pool in list(_POOLS):
        for worker in pool._idle:
            with contextlib.suppress(OSError):
                worker.inbox.close()
        pool._forget_after_fork()


os.register_at_fork(after_in_child=_close_pipes_in_child)


def serve(memory_bytes: int, preload: str = "") -> None:
    """The worker's side: load once, then let a forked child answer; a child that dies is replaced in milliseconds."""
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # a stray print must not be taken for an answer
    if preload:
        module, _, function = preload.partition(":")
        loaded = importlib.import_module(module)
        if function:
            getattr(loaded, function)()
    while True:
        child = os.fork()
        if child == 0:
            _answer_requests(answers)
            os._exit(0)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if code == 0:
            return  # standard input has closed
        answers.write(json.dumps([None, code]).encode() + b"\n")


def _answer_requests(answers: io.RawIOBase) -> None:
    functions: dict[str, Any] = {}
    for line in sys.stdin.buffer:
        name, cpu_seconds, arguments = json.loads(line)
        if name not in functions:
            module, _, attribute = name.partition(":")
            functions[name] = getattr(importlib.import_module(module), attribute)
        signal.setitimer(signal.ITIMER_PROF, cpu_seconds)
        try:
            answer = [True, functions[name](*arguments)]
        except MemoryError:
            os._exit(1)
        except Exception:
            answer = [False, traceback.format_exc(limit=8)]
        signal.setitimer(signal.ITIMER_PROF, 0)
        answers.write(json.dumps(answer).encode() + b"\n")
