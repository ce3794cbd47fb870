"""The process that shuts itself in and then forks a clean process for each program.

It holds no secret: what a program shall do goes past it, on a channel between the caller and the forked process. It
alone says how a process ended, on a socket that no program's process has. When that socket closes, which it does when
the caller ends in any way, it ends itself and what it has forked.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import json
import math
import os
import random
import resource
import select
import signal
import site
import socket
import sys
from typing import Any, Final, NoReturn

from rewardkit.programs.inside import harness
from rewardkit.programs.inside.channel import HELLO, Channel
from rewardkit.programs.inside.syscall_filter import PR_SET_NO_NEW_PRIVS, Filter

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE = 1, 4
_CAPABILITY_VERSION: Final = 0x20080522
_OPEN_FILES: Final = 64
_STACK: Final = 128 << 20
"""Bytes of the first thread's stack: recursion through C functions, such as cached ones, is deep in some programs."""
_MOST_MESSAGE: Final = 1 << 16

PRELOADED: Final = (
    "abc array ast bisect calendar cmath collections collections.abc contextlib copy copyreg csv dataclasses datetime",
    "decimal difflib enum fractions functools hashlib heapq io itertools json math numbers operator pprint queue",
    "random re statistics string struct textwrap threading time timeit traceback types typing unicodedata warnings",
)
"""What programs import most."""


def serve(control_fd: int, options: dict[str, Any]) -> None:
    """Serve until the caller is gone.

    Args:
        control_fd: the socket of the caller, of kind SOCK_SEQPACKET.
        options: ``packages``, to import first; ``path``, where they are; ``scratch``, the working folder of programs;
            ``landlock``, None or the paths that may be read and written, and where sandlock is.
    """
    control = socket.socket(fileno=control_fd)
    try:
        server = _prepared(control, options)
    except BaseException as e:
        control.send(json.dumps({"failed": f"{type(e).__name__}: {e}"[:1000]}).encode())
        raise
    control.send(json.dumps({"ready": True}).encode())
    server.run()


def _prepared(control: socket.socket, options: dict[str, Any]) -> _Server:
    for name in " ".join(PRELOADED).split():
        importlib.import_module(name)
    sys.path += options["path"]
    for name in options["packages"]:
        importlib.import_module(name)
    os.chdir(options["scratch"])
    if options["landlock"] is not None:
        _confine(**options["landlock"])
    syscall_filter = Filter()
    _drop_capabilities(syscall_filter)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _refuse(syscall_filter)
    site.setquit()  # exit() and quit()
    sys.argv[:], sys.orig_argv[:] = [""], []
    for name in [name for name in sys.modules if name.partition(".")[0] in ("rewardkit", "sandlock")]:
        del sys.modules[name]
    gc.collect()
    gc.freeze()  # the children share these pages as long as nobody writes to them
    return _Server(control, syscall_filter, options["scratch"])


def _confine(readable: list[str], writable: list[str], found_in: str) -> None:
    """Landlock: no file but these, no signal and no abstract socket beyond this process and its children."""
    sys.path.append(found_in)
    import sandlock  # type: ignore[import-untyped]

    sys.path.remove(found_in)
    sandlock.confine(
        sandlock.Sandbox(
            fs_readable=readable,
            fs_writable=writable,
            # Kernels before 6.12 don't scope them; the filter of system calls refuses both anyway.
            allow_degraded=[sandlock.Protection.SIGNAL_SCOPE, sandlock.Protection.ABSTRACT_UNIX_SOCKET_SCOPE],
        )
    )


def _drop_capabilities(syscall_filter: Filter) -> None:
    """Root without its capabilities may still read its own files, and no limit may be raised again."""
    prctl = syscall_filter.prctl
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0)
    if ctypes.CDLL(None, use_errno=True).capset(header, (ctypes.c_uint32 * 6)()):
        raise OSError(ctypes.get_errno(), "capset: " + os.strerror(ctypes.get_errno()))
    if prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl: " + os.strerror(ctypes.get_errno()))


def _refuse(syscall_filter: Filter) -> None:
    """Find out, in a child, whether the kernel takes the filter and it does what it says."""
    pid = os.fork()
    if pid == 0:
        try:
            syscall_filter.put_on()
            try:
                socket.socket()
            except PermissionError:
                os._exit(0)
        finally:
            os._exit(1)
    if os.waitpid(pid, 0)[1] != 0:
        raise OSError("the kernel takes no filter of system calls (seccomp) here")


class _Server:
    def __init__(self, control: socket.socket, syscall_filter: Filter, scratch: str) -> None:
        self._control, self._filter, self._scratch = control, syscall_filter, scratch
        self._child = 0
        self._ended, wakes = os.pipe()
        os.set_blocking(wakes, False)
        os.set_blocking(self._ended, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
        self._poll = select.poll()
        self._poll.register(control, select.POLLIN)
        self._poll.register(self._ended, select.POLLIN)

    def run(self) -> None:
        while True:
            for fd, _ in self._poll.poll():
                if fd == self._ended:
                    with contextlib.suppress(BlockingIOError):
                        os.read(fd, 1 << 10)
                    self._reap(os.WNOHANG)
                    continue
                message, fds, *_ = socket.recv_fds(self._control, _MOST_MESSAGE, 4)
                if not message:
                    if self._child:
                        os.kill(self._child, signal.SIGKILL)
                    return
                order = json.loads(message)
                if "start" in order:
                    self._start(order["start"], fds)
                elif self._child and order["end"] == self._number:
                    self._end()

    def _start(self, order: dict[str, Any], fds: list[int]) -> None:
        self._number = order["number"]
        try:
            pid = os.fork()
        except OSError as e:
            self._say({"ended": self._number, "failed": f"no process could be started: {e.strerror}"})
            pid = -1
        if pid == 0:
            try:
                self._become(order, fds)
            finally:
                os._exit(1)
        for fd in fds:
            os.close(fd)
        self._child = max(pid, 0)

    def _become(self, order: dict[str, Any], fds: list[int]) -> NoReturn:
        """In the child: be a program's process."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setsid()
        for place, fd in enumerate(fds):
            os.dup2(fd, place)  # those that came have higher numbers: the control socket has one of its own
        os.closerange(len(fds), 1 << 16)
        self._filter.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        os.chdir(self._scratch)
        connection = socket.socket(fileno=3)
        connection.sendall(HELLO)
        megabyte = 1 << 20
        seconds = math.ceil(order["cpu_seconds"])
        _limit(resource.RLIMIT_AS, order["memory_mb"] * megabyte)
        _limit(resource.RLIMIT_CPU, seconds, seconds + 1)
        _limit(resource.RLIMIT_FSIZE, order["file_bytes"])
        _limit(resource.RLIMIT_NOFILE, _OPEN_FILES)
        _limit(resource.RLIMIT_STACK, _STACK, resource.getrlimit(resource.RLIMIT_STACK)[1])
        for name, fd, mode in (("stdin", 0, "r"), ("stdout", 1, "w"), ("stderr", 2, "w")):
            stream = open(fd, mode, encoding="utf-8", errors="surrogateescape", closefd=False)  # noqa: SIM115
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)
        random.seed(0)
        self._filter.put_on()
        harness.work(Channel(connection))

    def _end(self) -> None:
        """Kill the child; it may have ended by itself in this moment."""
        child = self._child
        stopped = False
        with contextlib.suppress(ChildProcessError):  # so one that has ended counts in a question about stopped ones
            stopped = os.waitid(os.P_PID, child, os.WSTOPPED | os.WNOHANG | os.WNOWAIT) is not None
        os.kill(child, signal.SIGKILL)
        self._reap(0, stopped)

    def _reap(self, flags: int, stopped: bool = False) -> None:
        if not self._child:
            return
        pid, status, usage = os.wait4(self._child, flags)
        if pid:
            self._child = 0
            self._say(
                {
                    "ended": self._number,
                    "how": os.waitstatus_to_exitcode(status),
                    "cpu_seconds": usage.ru_utime + usage.ru_stime,
                    "stopped": stopped,
                }
            )

    def _say(self, what: dict[str, Any]) -> None:
        self._control.send(json.dumps(what).encode())


def _limit(which: int, soft: int, hard: int | None = None) -> None:
    highest = resource.getrlimit(which)[1]
    wanted = [soft, soft if hard is None else hard]
    if highest != resource.RLIM_INFINITY:
        wanted = [highest if limit == resource.RLIM_INFINITY else min(limit, highest) for limit in wanted]
    resource.setrlimit(which, (wanted[0], wanted[1]))
