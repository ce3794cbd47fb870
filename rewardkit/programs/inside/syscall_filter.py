"""A seccomp filter for the calling process, which nothing can take off again.

It keeps a program to itself and makes what it can do to itself tell: it can neither stop nor kill itself with a signal
that can't be caught, so a process that was stopped or killed so was stopped or killed by somebody else.
"""

from __future__ import annotations

import ctypes
import os
import platform
import signal
import struct
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from rewardkit.programs.inside.syscalls import ARCHITECTURES, CONDITIONAL, FREE

# Berkeley packet filter: load a word, compare, mask, return.
_LOAD, _EQUAL, _MORE, _AT_LEAST, _ANY_BIT, _AND, _RETURN = 0x20, 0x15, 0x25, 0x35, 0x45, 0x54, 0x06
_NUMBER, _ARCHITECTURE = 0, 4
_ALLOW: Final = 0x7FFF0000
_KILL: Final = 0x80000000
_EPERM: Final = 0x00050000 | 1
_ENOSYS: Final = 0x00050000 | 38
_OWN_PID: Final = 0x5E1F5E1F
"""Stands for the number of the process that puts the filter on."""

_THREAD: Final = 0x00010000
_NAMESPACES: Final = 0x7E020000
_UNIX, _STREAM = 1, 1
_RLIMIT_STACK: Final = 3
_UNCATCHABLE: Final = (signal.SIGKILL, signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU)
_FCNTL: Final = (0, 1, 2, 3, 4, 5, 6, 7, 36, 37, 38, 1030, 1032, 1034)
"""Duplicates, flags, locks, sizes; none that names a process to be signalled."""
_IOCTL: Final = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)
"""Is it a terminal, its size, bytes to read, blocking, closing on exec."""
_PRCTL: Final = (15, 16, 0x53564D41)
"""Names of threads and of memory."""

PR_SET_NO_NEW_PRIVS: Final = 38
_PR_SET_SECCOMP, _FILTER_MODE = 22, 2

Line = tuple[int, int, int, int]


def _return(what: int) -> Line:
    return (_RETURN, 0, 0, what)


def _word(argument: int, high: bool = False) -> Line:
    return (_LOAD, 0, 0, 16 + 8 * argument + 4 * high)


def _one_of(argument: int, values: Iterable[int]) -> list[Line]:
    """Allowed where the argument, which the kernel reads as 32 bits, is one of these."""
    tests = [line for value in values for line in ((_EQUAL, 0, 1, value), _return(_ALLOW))]
    return [_word(argument), *tests, _return(_EPERM)]


def _signal_to_itself(number_at: int) -> list[Line]:
    tests = [line for number in _UNCATCHABLE for line in ((_EQUAL, 0, 1, number), _return(_EPERM))]
    return [_word(0), (_EQUAL, 1, 0, _OWN_PID), _return(_EPERM), _word(number_at), *tests, _return(_ALLOW)]


def _conditions() -> dict[str, list[Line]]:
    return {
        "clone": [
            _word(0),
            (_ANY_BIT, 0, 1, _NAMESPACES),
            _return(_EPERM),
            (_ANY_BIT, 0, 1, _THREAD),
            _return(_ALLOW),
            _return(_EPERM),
        ],
        "clone3": [_return(_ENOSYS)],  # its flags are in memory; the C library falls back to clone
        "openat2": [_return(_ENOSYS)],
        "kill": _signal_to_itself(1),
        "tgkill": _signal_to_itself(2),
        # asyncio wants one. A datagram socket could be sent to any path.
        "socketpair": [
            _word(0),
            (_EQUAL, 1, 0, _UNIX),
            _return(_EPERM),
            _word(1),
            (_AND, 0, 0, 0xF),
            (_EQUAL, 0, 1, _STREAM),
            _return(_ALLOW),
            _return(_EPERM),
        ],
        "fcntl": _one_of(1, _FCNTL),
        "ioctl": _one_of(1, _IOCTL),
        "prctl": _one_of(0, _PRCTL),
        # Its own limits may be read, and the stack's may be set, as programs with deep recursion do.
        "prlimit64": [
            _word(0),
            (_EQUAL, 1, 0, 0),
            _return(_EPERM),
            _word(1),
            (_EQUAL, 0, 1, _RLIMIT_STACK),
            _return(_ALLOW),
            _word(2),
            (_EQUAL, 1, 0, 0),
            _return(_EPERM),
            _word(2, high=True),
            (_EQUAL, 1, 0, 0),
            _return(_EPERM),
            _return(_ALLOW),
        ],
    }


def _lines(architecture: int) -> Iterator[Line]:
    yield (_LOAD, 0, 0, _ARCHITECTURE)
    yield (_EQUAL, 1, 0, architecture)
    yield _return(_KILL)
    yield (_LOAD, 0, 0, _NUMBER)
    conditions = _conditions()
    for name, number in CONDITIONAL[architecture].items():
        yield (_EQUAL, 0, len(conditions[name]), number)
        yield from conditions[name]
    # Few comparisons: when a filter is put on, the kernel runs it once for each call there is.
    for first, last in _ranges(FREE[architecture]):
        yield (_AT_LEAST, 1, 0, first)
        yield _return(_EPERM)
        yield (_MORE, 1, 0, last)
        yield _return(_ALLOW)
    yield _return(_EPERM)


def _ranges(numbers: Iterable[int]) -> list[list[int]]:
    """First and last of each run of numbers, in order."""
    ranges: list[list[int]] = []
    for number in sorted(numbers):
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ranges


class Filter:
    """The filter, made ready before a process is forked that shall put it on.

    Raises:
        OSError: the calls of this machine's architecture are not known.
    """

    def __init__(self) -> None:
        machine = platform.machine()
        if machine not in ARCHITECTURES:
            raise OSError(f"no table of system calls for the architecture {machine}")
        self._code = b"".join(struct.pack("<HBBI", *line) for line in _lines(ARCHITECTURES[machine]))
        self.prctl = ctypes.CDLL(None, use_errno=True).prctl
        self.prctl.argtypes = [ctypes.c_int, *[ctypes.c_ulong] * 4]

    def put_on(self) -> None:
        """Shut this process in, for good.

        Raises:
            OSError: the kernel doesn't let it.
        """
        code = self._code.replace(struct.pack("<I", _OWN_PID), struct.pack("<I", os.getpid()))
        buffer = ctypes.create_string_buffer(code, len(code))
        program = _Program(len(code) // 8, ctypes.cast(buffer, ctypes.c_void_p))
        for arguments in (
            (PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
            (_PR_SET_SECCOMP, _FILTER_MODE, ctypes.addressof(program), 0, 0),
        ):
            if self.prctl(*arguments):
                raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


class _Program(ctypes.Structure):
    _fields_: Sequence[tuple[str, type]] = (("length", ctypes.c_ushort), ("lines", ctypes.c_void_p))  # type: ignore[misc]
