"""A place for one program at a time: a server that is shut in, its scratch folder, and the process it has forked.

Who says what: the program's process says on its channel what a program answers, and may say anything there. How it
ended, what CPU time it took and whether somebody stopped it, the server says on a socket that no program has; how much
it uses meanwhile, the kernel says. So a program can state a value, and can't state how it ended.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import struct
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, Final

from rewardkit.programs.inside.channel import HEADER, HELLO, framed
from rewardkit.programs.inside.plain import NotPlain, loads
from rewardkit.programs.isolation import Isolation, link_packages, start
from rewardkit.programs.limits import Limits
from rewardkit.programs.outcome import Ending

_START_SECONDS: Final = 60.0
_ANSWER_SECONDS: Final = 10.0
"""Wall time for a server to fork a process, or to end one; it takes milliseconds."""
_FIRST_LOOK, _LOOK = 0.02, 0.05
"""Seconds until what a process uses is looked at, and between looks."""
_MOST_FILES: Final = 1_000
_MOST_WAITED: Final = 3
"""Of the wall time, for which a busy machine may keep a process waiting."""
_PAGE: Final = 1 << 16
_WORDS: Final = 1 << 16
"""Bytes of standard error that are kept."""
_FORMAT_BYTES: Final = 1_000
"""Of an answer, beside what it holds."""
_CREDENTIALS: Final = struct.Struct("iII")


class PlaceLost(Exception):
    """The server, or what it stands on, is at fault; the place must be given up."""


@dataclass(frozen=True, slots=True)
class End:
    """How a program's process ended.

    Args:
        ending: VALUE where it ended by itself with exit code 0, else what the reason is.
        reason: in words.
    """

    ending: Ending
    reason: str = ""


class Place:
    """A server and its scratch folder.

    Raises:
        PlaceLost: the server did not start; the words say why.
    """

    def __init__(self, isolation: Isolation, packages: Sequence[str]) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="rewardkit-program-", ignore_cleanup_errors=True)
        self.scratch, links = os.path.join(self._folder.name, "scratch"), os.path.join(self._folder.name, "packages")
        os.mkdir(self.scratch, 0o700)
        os.mkdir(links)
        link_packages(packages, links)
        self._number = 0
        self._said = _memory_file("rewardkit-server")
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.control.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        with theirs:
            how = start(isolation, packages, self.scratch, links, theirs.fileno())
            self._process = subprocess.Popen(
                how.command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._said,
                env=how.environment,
                cwd="/",
                pass_fds=[theirs.fileno()],
                start_new_session=True,  # Ctrl-C belongs to the calling process
            )
        self.pid = self._process.pid
        """Of the server; :meth:`close` kills it, which kills what it has forked."""
        try:
            self._wait_until_ready()
        except BaseException:
            self.close()
            raise

    def _wait_until_ready(self) -> None:
        message, pid = _receive(self.control, _START_SECONDS)
        self.pid = pid or self.pid
        said = json.loads(message) if message else {}
        if not said.get("ready"):
            words = os.pread(self._said.fileno(), 2_000, 0).decode(errors="replace").strip().splitlines()
            raise PlaceLost(said.get("failed") or (words[-1] if words else "it ended before it was ready"))

    def begin(self, limits: Limits, stdin: str = "") -> Process:
        """Fork a process for a program.

        Raises:
            PlaceLost: the server forked none.
        """
        self._number += 1
        return Process(self, self._number, limits, stdin)

    def order(self, order: dict[str, Any], fds: Sequence[int] = ()) -> None:
        """Tell the server something."""
        try:
            socket.send_fds(self.control, [json.dumps(order).encode()], list(fds))
        except OSError as e:
            raise PlaceLost(f"the server is gone: {e.strerror}") from None

    def clean(self) -> None:
        """Empty the scratch folder of what a program has left there, however deep and whatever its modes.

        Raises:
            OSError: something is left.
        """
        if not os.listdir(self.scratch):
            return
        for command in (["chmod", "-R", "u+rwX", self.scratch], ["find", self.scratch, "-mindepth", "1", "-delete"]):
            subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False, cwd="/")
        if os.listdir(self.scratch):
            raise OSError("the scratch folder can't be emptied")

    def close(self) -> None:
        """Kill the server and what it has forked; remove the folder. May be called again."""
        self.control.close()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if self._process.poll() is None:
                os.kill(self.pid, signal.SIGKILL)
        self._process.kill()
        self._process.wait()
        self._said.close()
        with contextlib.suppress(OSError):
            self.clean()
        self._folder.cleanup()

    def forget(self) -> None:
        """In a forked process: let go of what is the parent's."""
        self.control.close()
        self._said.close()
        self._folder._finalizer.detach()  # type: ignore[attr-defined]


class Process:
    """A program's process, from its first message to its end."""

    def __init__(self, place: Place, number: int, limits: Limits, stdin: str) -> None:
        self._place, self._number, self._limits = place, number, limits
        self._output_bytes = 4 * limits.output_chars + 2 * _PAGE
        self._output, self._errors = _memory_file("stdout", self._output_bytes), _memory_file("stderr", _WORDS)
        self._read = 0
        self._incoming = bytearray()
        self.end: End | None = None
        """Set once it has ended, for whatever reason."""
        self.channel, theirs = socket.socketpair()
        self.channel.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        given = _memory_file("stdin")
        try:
            given.write(stdin.encode(errors="replace"))
            given.seek(0)
            order = {
                "number": number,
                "cpu_seconds": limits.cpu_seconds,
                "memory_mb": limits.memory_mb,
                "file_bytes": max(limits.file_mb << 20, self._output_bytes),
            }
            files = [given.fileno(), self._output.fileno(), self._errors.fileno(), theirs.fileno()]
            place.order({"start": order}, files)
            theirs.close()
            hello, self.pid = _receive(self.channel, _ANSWER_SECONDS, len(HELLO))
            if hello != HELLO:
                raise PlaceLost("no process came of a fork")
        except BaseException:
            self.channel.close()
            self._output.close()
            self._errors.close()
            raise
        finally:
            theirs.close()
            given.close()
        self.channel.setblocking(False)
        self._ran = 0.0
        self._next_look = time.monotonic() + min(_FIRST_LOOK, limits.wall_seconds)

    def tell(self, message: Any) -> None:
        """Send a message; whether it arrives, :meth:`hear` shows."""
        self._outgoing = memoryview(framed(message))

    def hear(self) -> Any | None:
        """The next message, whatever it may be; None once the process has ended.

        The time on the clock runs in here alone: what the caller does between messages is not the program's time.

        Raises:
            PlaceLost: it ended by no doing of its own.
        """
        began = time.monotonic()
        try:
            return self._hear(began - self._ran)
        finally:
            self._ran += time.monotonic() - began

    def _hear(self, began: float) -> Any | None:
        poll = select.poll()
        poll.register(self._place.control, select.POLLIN)
        poll.register(self.channel, select.POLLIN | (select.POLLOUT if self._outgoing else 0))
        while (message := self._framed()) is None and self.end is None:
            now = time.monotonic()
            if now >= self._next_look:
                self._next_look = now + _LOOK
                self._look(now - began)
                continue
            events = dict(poll.poll(1_000 * (self._next_look - now) + 1))
            if (event := events.get(self.channel.fileno(), 0)) & select.POLLOUT and not self._flush():
                poll.modify(self.channel, select.POLLIN)
            if event & ~select.POLLOUT and not self._receive():
                poll.unregister(self.channel)
            elif self._place.control.fileno() in events:
                self._drain()
                self._ended(None)
        return message if message is not None else self._framed(last=True)

    def _flush(self) -> bool:
        """Write what fits; False when nothing is left to write."""
        try:
            self._outgoing = self._outgoing[self.channel.send(self._outgoing) :]
        except BlockingIOError:
            pass
        except OSError:  # it has closed its end
            self._outgoing = memoryview(b"")
        return len(self._outgoing) > 0

    def _receive(self) -> bool:
        """Read some; False when its end is closed."""
        try:
            part = self.channel.recv(_PAGE)
        except BlockingIOError:
            return True
        except OSError:
            return False
        self._incoming += part
        return bool(part)

    def _drain(self) -> None:
        """Read what it wrote before it ended, as far as an answer may go."""
        while len(self._incoming) <= self._most() and self._receive():
            if not select.select([self.channel], [], [], 0)[0]:
                break

    def _most(self) -> int:
        return self._limits.output_chars + _FORMAT_BYTES

    def _framed(self, last: bool = False) -> Any | None:
        """A message, if a whole one has come. One that is none ends the process."""
        if len(self._incoming) < HEADER.size:
            return None
        (length,) = HEADER.unpack_from(self._incoming)
        if length > self._most():
            if not last:
                self.kill(Ending.OUTPUT, f"an answer of more than {self._limits.output_chars:,} characters")
            return None
        if len(self._incoming) < HEADER.size + length:
            return None
        text = bytes(self._incoming[HEADER.size : HEADER.size + length])
        del self._incoming[: HEADER.size + length]
        try:
            message = loads(text)
        except NotPlain as e:
            message, reason = None, str(e)
        else:
            reason = "no list"
        if isinstance(message, list) and message and all(isinstance(part, str) for part in message[:2]):
            return message
        if not last:
            self.kill(Ending.CRASHED, f"what came on the channel is no answer: {reason}")
        return None

    def _look(self, seconds: float) -> None:
        """Hold what it uses against its limits. Time in which it was ready to run and no core was free is not its."""
        limits = self._limits
        cpu_seconds, threads = _usage(self.pid)
        if seconds - min(_waited(self.pid), _MOST_WAITED * limits.wall_seconds) > limits.wall_seconds:
            self.kill(Ending.WALL, f"it ran for more than {limits.wall_seconds:g} s on the clock")
        elif cpu_seconds > limits.cpu_seconds:
            self.kill(Ending.CPU, f"it took more than {limits.cpu_seconds:g} s of CPU time")
        elif threads > limits.processes:
            self.kill(Ending.PROCESSES, f"it had {threads} threads, more than {limits.processes}")
        elif (held := _held(self._place.scratch)) > limits.file_mb << 20:
            self.kill(Ending.OUTPUT, f"its files held {held >> 20} MiB or were too many; {limits.file_mb} MiB may be")

    def kill(self, ending: Ending, reason: str) -> None:
        """End the process, if it has not ended, for this reason."""
        if self.end is None:
            with contextlib.suppress(PlaceLost):  # it ends, or its silence shows
                self._place.order({"end": self._number})
            self._ended(End(ending, reason))

    def _ended(self, ours: End | None) -> None:
        """Take the server's word on how it ended.

        Args:
            ours: why it was killed; None where it ended without that.
        """
        self.end = ours or End(Ending.BROKEN, "nobody knows how it ended")
        message, _ = _receive(self._place.control, _ANSWER_SECONDS)
        if not message:
            raise PlaceLost("the server has ended, or does not answer")
        said = json.loads(message)
        if said.get("ended") != self._number or "how" not in said:
            raise PlaceLost(said.get("failed", "the server speaks of another process"))
        if said["stopped"]:
            raise PlaceLost("the process was stopped by a signal from outside")
        how, cpu_seconds = said["how"], said["cpu_seconds"]
        if ours is None or how not in (0, -signal.SIGKILL):
            self.end = self._explained(how, cpu_seconds)

    def _explained(self, how: int, cpu_seconds: float) -> End:
        limits = self._limits
        if how < 0 and (how == -signal.SIGXCPU or cpu_seconds >= limits.cpu_seconds):
            return End(Ending.CPU, f"it took more than {limits.cpu_seconds:g} s of CPU time")
        if how == -signal.SIGKILL:  # the filter lets it do nothing that ends so
            raise PlaceLost("the process was killed from outside")
        if how < 0:
            with contextlib.suppress(ValueError):
                return End(Ending.CRASHED, f"{signal.Signals(-how).name} ended it")
            return End(Ending.CRASHED, f"signal {-how} ended it")
        return End(Ending.VALUE) if how == 0 else End(Ending.EXITED, f"it ended with exit code {how}")

    @property
    def most_printed(self) -> int:
        """Characters that it may print."""
        return self._limits.output_chars

    def printed(self) -> tuple[str, bool]:
        """What it has printed since it was asked last, and whether it was more than it may be."""
        written = os.lseek(self._output.fileno(), 0, os.SEEK_CUR)
        text = os.pread(self._output.fileno(), max(0, written - self._read), self._read)
        self._read = max(written, self._read)
        shown = text.decode(errors="replace")
        return shown[: self._limits.output_chars], len(shown) > self._limits.output_chars

    def last_words(self) -> str:
        """The last line that it wrote to standard error."""
        written = os.lseek(self._errors.fileno(), 0, os.SEEK_CUR)
        text = os.pread(self._errors.fileno(), 500, max(0, written - 500)).decode(errors="replace")
        return (text.strip().splitlines() or [""])[-1]

    def close(self) -> None:
        """End it, if it lives."""
        try:
            self.kill(Ending.VALUE, "")
        finally:
            self.channel.close()
            self._output.close()
            self._errors.close()

    _outgoing: memoryview = memoryview(b"")


def _memory_file(name: str, length: int | None = None) -> BinaryIO:
    """A nameless file in memory; of a given length, it can't grow beyond that."""
    if not hasattr(os, "memfd_create"):
        raise PlaceLost("this system has no files in memory (memfd_create)")
    import fcntl

    file = os.fdopen(os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING), "w+b", buffering=0)
    if length is not None:
        file.truncate(length)
        fcntl.fcntl(file, fcntl.F_ADD_SEALS, fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL)
    return file


def _receive(connection: socket.socket, seconds: float, most: int = 1 << 16) -> tuple[bytes, int]:
    """A message, and the process that sent it, which the kernel names; nothing where none comes in time."""
    connection.settimeout(seconds)
    try:
        message, ancillary, *_ = connection.recvmsg(most, socket.CMSG_SPACE(_CREDENTIALS.size))
    except OSError:
        return b"", 0
    sender = [data for level, kind, data in ancillary if kind == socket.SCM_CREDENTIALS]
    return message, _CREDENTIALS.unpack(sender[0])[0] if sender else 0


_TICKS: Final = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100


def _usage(pid: int) -> tuple[float, int]:
    """CPU seconds and threads of a process; nothing where it has ended."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return 0.0, 0
    return (int(fields[11]) + int(fields[12])) / _TICKS, int(fields[17])


def _waited(pid: int) -> float:
    """Seconds that a process's first thread has been ready to run and did not."""
    try:
        with open(f"/proc/{pid}/schedstat", "rb") as file:
            return int(file.read().split()[1]) / 1e9
    except (OSError, IndexError, ValueError):  # a kernel that doesn't keep it
        return 0.0


def _held(folder: str) -> int:
    """Bytes on disk below a folder; more than any limit once there are too many files to count."""
    held, seen, todo = 0, 0, [folder]
    while todo:
        try:
            entries = os.scandir(todo.pop())
        except OSError:  # gone, or shut by its modes; what is in it counts when it is opened again
            continue
        with entries:
            for entry in entries:
                seen += 1
                if seen > _MOST_FILES:
                    return 1 << 62
                with contextlib.suppress(OSError):
                    if entry.is_dir(follow_symlinks=False):
                        todo.append(entry.path)
                    held += entry.stat(follow_symlinks=False).st_blocks * 512
    return held
