"""A pool's two ends of things: the fork server that it starts, and the channel to one worker of it.

Why no answer is ever taken for another's: a channel belongs to one worker and carries one request at a time, each
request has a number of its own in this process, and an answer counts only whole and with the number that was asked.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import tempfile
import weakref
from collections.abc import Sequence
from typing import Any, BinaryIO, Final, NamedTuple

from rewardkit.processes.fork_server import OUT_OF_MEMORY
from rewardkit.processes.isolated import PYTHON, import_path

_READ: Final = 1 << 16
_MOST_WORDS: Final = 2_000
"""Characters of a worker's last words that are kept."""
_SERVE: Final = (
    "import json, sys; start = json.loads(sys.argv[1]); sys.path[:] = start.pop('path'); "
    "from rewardkit.processes.fork_server import serve; serve(**start)"
)


class Answer(NamedTuple):
    """What a worker says of the request that it was asked."""

    done: bool
    """False where the function raised; ``value`` is the traceback's text then."""
    value: Any


class End(NamedTuple):
    """How a worker ended: an exit code, a signal's number below zero, or words; None where nobody knows."""

    how: int | str | None
    cpu_seconds: float
    """CPU time since its last answer."""

    def __str__(self) -> str:
        if self.how is None:
            return "the worker ended, and so did its fork server"
        if self.how == OUT_OF_MEMORY:
            return "the request wanted more memory than a worker may have"
        if isinstance(self.how, str):
            return self.how
        if self.how >= 0:
            return f"the worker ended with exit code {self.how}"
        with contextlib.suppress(ValueError):
            return f"the worker was ended by {signal.Signals(-self.how).name}"
        return f"the worker was ended by signal {-self.how}"


class ForkServer:
    """The process that workers are forked from. It and they have a session of their own.

    Args:
        memory_bytes: address space of each of its processes.
        preload: what it loads before the first fork.
    """

    def __init__(self, memory_bytes: int, preload: str) -> None:
        start = {"path": import_path(), "memory_bytes": memory_bytes, "preload": preload}
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | {"OMP_NUM_THREADS": "1"}
        self._words = _file()
        self._control, theirs = socket.socketpair()
        self._control.setblocking(False)
        try:
            self._process = subprocess.Popen(
                [*PYTHON, "-c", _SERVE, json.dumps(start)],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=self._words,
                env=environment,
                start_new_session=True,  # Ctrl-C belongs to the calling process
            )
        finally:
            theirs.close()
        self.pid = self._process.pid
        self.is_ready = False
        """Whether it has ever finished loading."""
        self.retired = False
        """Set when it shall get no more work; it is closed with its last worker."""
        self.workers: weakref.WeakSet[Worker] = weakref.WeakSet()

    def is_alive(self) -> bool:
        """False once the process has ended."""
        try:
            said = self._control.recv(_READ)
        except BlockingIOError:
            return True
        except OSError:
            return False
        self.is_ready |= bool(said)
        return bool(said)

    def worker(self) -> Worker | None:
        """A new worker; None where the server can't be asked for one."""
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                socket.send_fds(self._control, [b"+"], [theirs.fileno()])
            except OSError:  # it has ended, or has been stopped for so long that nothing more goes in
                ours.close()
                return None
        return Worker(self, ours)

    def words_length(self) -> int:
        """How much has been written to the standard error of all its processes."""
        return os.fstat(self._words.fileno()).st_size

    def words(self, start: int) -> str:
        """The end of what they have written there since."""
        end = self.words_length()
        start = max(start if start <= end else 0, end - _MOST_WORDS)
        return os.pread(self._words.fileno(), end - start, start).decode(errors="replace").strip(" \n\0")

    def close(self) -> None:
        """Kill it and all its workers, and wait for it."""
        self.retired = True
        self._control.close()
        # It has not been waited for, so that the number is still its own and its workers'.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        self._process.wait()
        self._words.close()

    def forget(self) -> None:
        """In a forked process: let go of what is the parent's."""
        self._control.close()
        self._words.close()
        for worker in self.workers:
            worker.forget()


class Worker:
    """The channel to one worker, which does one request at a time."""

    def __init__(self, server: ForkServer, channel: socket.socket) -> None:
        channel.setblocking(False)
        self.server = server
        self.channel = channel
        self.served = 0
        self._number = -1
        self._cpu_seconds = 0.0
        self._incoming = bytearray()
        self._outgoing = b""
        self._words_before = 0
        server.workers.add(self)

    def is_quiet(self) -> bool:
        """Whether it can take a request: its server lives, and nothing came from it that nobody asked for."""
        if not self.server.is_alive():
            return False
        try:
            self.channel.recv(1)
        except BlockingIOError:
            return not self._incoming
        except OSError:
            pass
        return False

    def send(self, number: int, function: str, cpu_seconds: float, arguments: Sequence[Any]) -> None:
        """Ask it. The number must be new in this process."""
        self._outgoing = json.dumps([number, function, cpu_seconds, list(arguments)]).encode() + b"\n"
        self._number = number
        self._words_before = self.server.words_length()
        self.served += 1

    def flush(self) -> bool:
        """Write what fits; True when all is written."""
        if not self._outgoing:
            return True
        try:
            self._outgoing = self._outgoing[self.channel.send(self._outgoing) :]
        except BlockingIOError:
            return False
        except OSError:  # its end shows when it is read
            self._outgoing = b""
        return not self._outgoing

    def receive(self) -> Answer | End | None:
        """The answer to the request, or how the worker ended; None where neither has come whole."""
        try:
            chunk = self.channel.recv(_READ)
        except BlockingIOError:
            return None
        except OSError:
            chunk = b""
        self._incoming += chunk
        while b"\n" in self._incoming:
            line, _, self._incoming = self._incoming.partition(b"\n")
            said = _read(line)
            if said is not None and said[0] is None:
                return End(said[1], said[2] - self._cpu_seconds)
            if said is not None and said[0] == self._number:
                self._cpu_seconds = said[1]
                return Answer(*said[2])
        return End(None, 0.0) if not chunk else None

    def words(self) -> str:
        """What came on standard error while it was at its request."""
        return self.server.words(self._words_before)

    def close(self) -> None:
        """Let it be killed by its server."""
        with contextlib.suppress(OSError):
            self.channel.shutdown(socket.SHUT_RDWR)  # a copy of it in a forked process keeps nothing alive
        self.channel.close()

    def forget(self) -> None:
        """In a forked process: let go of what is the parent's."""
        self.channel.close()


def _read(line: bytearray) -> list[Any] | None:
    """A line's list; None for a line that a death has cut: no list is whole without its last bracket."""
    try:
        said = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return said if isinstance(said, list) and len(said) == 3 else None


def _file() -> BinaryIO:
    """A nameless file, in memory where that is possible: a full disk stops no worker."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("rewardkit-stderr"), "w+b", buffering=0)
    return tempfile.TemporaryFile(buffering=0)
