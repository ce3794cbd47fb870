"""The other interpreter of a pool: it loads once, then forks a worker for each channel that it is handed.

A channel is one end of a socket pair, and belongs to one worker: what is read from it came from that worker, or is the
word of this server on how the worker ended. The caller ends a worker by closing its own end; the server then kills it,
stopped or not. When the control socket closes, which it does when the caller ends in any way, all workers are killed.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import importlib
import json
import os
import resource
import select
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

READY: Final = b"+"
"""What the server writes when it has loaded."""
OUT_OF_MEMORY: Final = 12
"""Exit code of a worker whose request wanted more memory than it may have."""
_MOST_WORDS: Final = 1 << 20
"""Bytes of standard error that are kept; it is a file, and workers may print for days."""


@dataclass(frozen=True, slots=True)
class _Child:
    pid: int
    channel: int
    sentinel: int
    """Reads as closed once the child has ended."""


def serve(memory_bytes: int, preload: str) -> None:
    """Serve the control socket, which is standard input, until it closes.

    Args:
        memory_bytes: address space of each process.
        preload: ``module`` or ``module:function`` to import and call first.
    """
    _limit(resource.RLIMIT_AS, memory_bytes)
    _limit(resource.RLIMIT_CORE, 0)
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())  # a thread that blocks SIGPROF hands that on
    control = socket.socket(fileno=os.dup(0))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    if preload:
        _loaded(preload, call=True)
    gc.collect()
    gc.freeze()  # the children share these pages as long as nobody writes to them
    _Server(control).run()


def _limit(which: int, wanted: int) -> None:
    """Set a limit, or keep what is lower already: nobody may raise a hard limit."""
    limits = [limit for limit in (wanted, *resource.getrlimit(which)) if limit != resource.RLIM_INFINITY]
    resource.setrlimit(which, (min(limits), min(limits)))


class _Server:
    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._children: dict[int, _Child] = {}  # by channel, and by sentinel
        self._poll = select.poll()
        self._poll.register(control, select.POLLIN)

    def run(self) -> None:
        self._control.sendall(READY)
        while True:
            # One event at a time: the number of a descriptor that is closed now may be another's at once.
            fd, _ = self._poll.poll()[0]
            if fd != self._control.fileno():
                child = self._children[fd]
                if fd == child.sentinel:
                    self._reap(child)
                else:  # the caller has closed its end
                    self._poll.unregister(fd)
                    os.kill(child.pid, signal.SIGKILL)
                continue
            message, channels, *_ = socket.recv_fds(self._control, 1, 1)
            if not message:
                break
            for channel in channels:
                self._start(channel)
        for child in set(self._children.values()):
            os.kill(child.pid, signal.SIGKILL)

    def _start(self, channel: int) -> None:
        sentinel, held = os.pipe()
        try:
            pid = os.fork()
        except OSError as e:
            os.close(sentinel)
            os.close(held)
            _send(channel, f"no process could be started: {e.strerror}", 0.0)
            return
        if pid == 0:
            # Another worker's channel must not stay open in this one.
            for fd in (*self._children, sentinel, self._control.fileno()):
                os.close(fd)
            _work(channel)
        os.close(held)
        child = _Child(pid, channel, sentinel)
        self._children |= {channel: child, sentinel: child}
        self._poll.register(channel, 0)  # a hang-up alone
        self._poll.register(sentinel, select.POLLIN)

    def _reap(self, child: _Child) -> None:
        _, status, usage = os.wait4(child.pid, 0)
        self._poll.unregister(child.sentinel)
        os.close(child.sentinel)
        del self._children[child.sentinel], self._children[child.channel]
        with contextlib.suppress(KeyError):  # the caller had closed it
            self._poll.unregister(child.channel)
        _send(child.channel, os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime)
        if os.fstat(2).st_size > _MOST_WORDS:
            os.ftruncate(2, 0)
            os.lseek(2, 0, os.SEEK_SET)


def _send(channel: int, how: int | str, cpu_seconds: float) -> None:
    """Say how a worker ended, after whatever part of an answer it has written, and close its channel."""
    with socket.socket(fileno=channel) as end, contextlib.suppress(OSError):  # nobody may listen any more
        end.send(f"\n{json.dumps([None, how, cpu_seconds])}\n".encode(), socket.MSG_DONTWAIT)


def _work(channel: int) -> None:
    """A worker's life."""
    code = 1
    try:
        with socket.socket(fileno=channel) as connection:
            _answer_requests(connection)
        code = 0
    except MemoryError:
        code = OUT_OF_MEMORY
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def _answer_requests(connection: socket.socket) -> None:
    """One request a line, one answer a line, each with the request's number. The answer says the CPU time so far."""
    for line in connection.makefile("rb"):
        number, name, cpu_seconds, arguments = json.loads(line)
        try:
            function = _loaded(name)
            signal.setitimer(signal.ITIMER_PROF, cpu_seconds)
            answer = json.dumps([True, function(*arguments)])
        except MemoryError:
            raise
        except BaseException:
            answer = json.dumps([False, traceback.format_exc(limit=8)])
        signal.setitimer(signal.ITIMER_PROF, 0)
        connection.sendall(f"[{number}, {time.process_time()}, {answer}]\n".encode())


@functools.cache
def _loaded(name: str, *, call: bool = False) -> Callable[..., Any]:
    """What ``module:attribute`` names, called where that is asked for."""
    module, _, attribute = name.partition(":")
    loaded: Any = importlib.import_module(module)
    value = getattr(loaded, attribute) if attribute else loaded
    if call and attribute:
        value()
    return value  # type: ignore[no-any-return]
