"""The process's own streams and signals: output that can't be written is said, and no file stays half-written."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, TextIO

CLOSED: Final = 128 + signal.SIGPIPE
"""The exit code where whoever reads standard output went away: a shell's own for it."""
_STOPS: Final = ("SIGTERM", "SIGHUP", "SIGQUIT")


class Stopped(KeyboardInterrupt):
    """A signal that asks the process to end: it unwinds as Ctrl-C does."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextlib.contextmanager
def signals_unwind() -> Iterator[list[int]]:
    """A signal that would end the process at once raises :class:`Stopped` instead, so that partial files are removed.

    One that is ignored (nohup) stays so, and the second one of a kind ends the process at once. Yields the signals that
    came.
    """
    came: list[int] = []

    def stop(number: int, _: object) -> None:
        signal.signal(number, signal.SIG_DFL)
        came.append(number)
        raise Stopped(number)

    installed = []
    for name in _STOPS:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, stop)
            installed.append(number)
    try:
        yield came
    finally:
        for number in installed:
            if signal.getsignal(number) is stop:
                signal.signal(number, signal.SIG_DFL)


def open_streams() -> None:
    """See that the three standard streams are there, so that no file is opened in their place, and print any text."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDONLY)  # the lowest free number; to write to it fails
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]


def flushed(code: int) -> int:
    """The exit code, once standard output has taken all that was printed."""
    try:
        sys.stdout.flush()
    except OSError as e:
        return unwritten(e)
    except ValueError:  # closed already
        pass
    return code


def unwritten(why: OSError) -> int:
    """Say that standard output didn't take what was printed; the exit code."""
    give_up(sys.stdout)
    closed = why.errno == errno.EPIPE
    reason = "it was closed" if closed else why.strerror or str(why)
    with contextlib.suppress(OSError):
        print(f"rewardkit: can't write all to standard output: {reason}", file=sys.stderr, flush=True)
    return CLOSED if closed else 2


def give_up(stream: TextIO) -> None:
    """Let nothing that is still held be written, and no error of that at the end of the process."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def names_stdout(path: Path | None) -> bool:
    """Whether a path is a name for standard output, which is elsewhere while a user's code runs."""
    return str(path) in ("-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")


@contextlib.contextmanager
def prints_to_stderr() -> Iterator[TextIO]:
    """Standard output for the command's own data; meanwhile what a user's code prints goes to standard error.

    That of programs which it starts, too.
    """
    own = sys.stdout
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError, ValueError, AttributeError):
            if own.fileno() == 1 and sys.stderr.fileno() == 2:
                own = stack.enter_context(_moved(own))
        stack.enter_context(contextlib.redirect_stdout(sys.stderr))
        yield own


@contextlib.contextmanager
def _moved(stream: Any) -> Iterator[TextIO]:
    """A stream on a file of its own; its number is standard error's meanwhile."""
    stream.flush()
    kept = os.dup(1)
    try:
        with open(kept, "w", encoding=stream.encoding, errors=stream.errors, closefd=False) as own:
            os.dup2(2, 1)
            try:
                yield own
                own.flush()
            except OSError:
                give_up(own)
                raise
            finally:
                os.dup2(kept, 1)
    finally:
        os.close(kept)
