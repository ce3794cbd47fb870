"""The interface of everything that runs programs, here or on another machine; and the choice of one for here."""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final, Protocol, get_args

from rewardkit.errors import ConfigError
from rewardkit.programs.breakout import break_out
from rewardkit.programs.isolation import Isolation, why_not
from rewardkit.programs.limits import Limits
from rewardkit.programs.local import LocalSandbox
from rewardkit.programs.outcome import Ending, Outcome


class Session(Protocol):
    """A program whose functions are called."""

    def call(
        self, function: str, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None, *, fresh: bool = True
    ) -> Outcome:
        """Call a function with copies of plain data.

        Args:
            function: a name, a dotted name, or a method of a new object such as ``Solution().solve``.
            args: None, bool, int, float, complex, str, bytes, and lists, tuples, dicts and sets of them.
            kwargs: likewise.
            fresh: load the program anew for this call, so that nothing lives on from the calls before it. False: the
                session's own process, whose limits all such calls share; once it has ended, each call says how.

        Raises:
            TypeError: an argument is not plain data.
        """


class Sandbox(Protocol):
    """Where programs run. Safe to use from several threads; a call waits until one of ``size`` places is free."""

    name: str
    """The isolation, for people to read."""
    size: int
    """How many programs run at a time."""

    def run(self, program: str, stdin: str, limits: Limits) -> Outcome:
        """Run a whole program as ``__main__`` in a process of its own; what it printed is ``output``."""

    def open(self, program: str, limits: Limits) -> AbstractContextManager[Session]:
        """A program for calls. Its module is not ``__main__``, so that what stands under that test does not run."""

    def check(self, program: str, test: str, entry_point: str, limits: Limits, *, setup: str = "") -> Outcome:
        """Run a data set's test code against one function of a program.

        Two processes: one loads ``program``; the other, which the program can't reach, runs ``setup`` and ``test`` and
        calls ``check(candidate)`` if the test defines it. There ``candidate``, also named ``entry_point``, stands for
        the program's function: arguments and results go through as plain data.

        Returns:
            VALUE with ``value=True`` only where the test ran to its end.
        """


def choose(isolation: str = "auto", packages: Sequence[str] = ()) -> LocalSandbox:
    """The sandbox of this machine. The choice is made once in a process, and printed to standard error.

    Args:
        isolation: ``auto``, ``landlock`` (the package sandlock; kernel 6.7 or newer), ``bubblewrap``, or ``rlimits``:
            limits and a filter of system calls, but all files that this user can read are readable, and those that it
            can write are writable.
        packages: distributions that programs may import, beside the standard library.

    Raises:
        ConfigError: this machine can't do it. Each kind is tried by programs that try to break out of it.
        MissingDependencyError: a package is not installed.
    """
    key = isolation, tuple(packages)
    with _LOCK:
        if key not in _CHOSEN:
            _CHOSEN[key] = _chosen(*key)
        return _CHOSEN[key]


def _chosen(isolation: str, packages: tuple[str, ...]) -> LocalSandbox:
    kinds = get_args(Isolation)
    if isolation not in ("auto", *kinds):
        raise ConfigError(f"unknown isolation {isolation!r}; expected one of {', '.join(('auto', *kinds))}")
    reasons = []
    for kind in kinds[:-1] if isolation == "auto" else (isolation,):
        sandbox = LocalSandbox(kind, packages)
        reason = why_not(kind) or _tried(sandbox)
        if reason is None:
            open_files = "; this user's files are open to them" if kind == "rlimits" else ""
            print(f"rewardkit: programs run in {kind}, {sandbox.size} at a time{open_files}", file=sys.stderr)
            return sandbox
        sandbox.close()
        reasons.append(f"{kind}: {reason}")
    raise ConfigError(
        f"programs can't be shut in on this machine. {'; '.join(reasons)}",
        hint="use a remote sandbox, or a machine or container that has one of these; isolation='rlimits' keeps to "
        "limits alone, and lets programs read and write this user's files",
    )


def _tried(sandbox: LocalSandbox) -> str | None:
    """Why a sandbox is not good; None where it held."""
    outcome = sandbox.run("print(6 * 7)", "", Limits())
    if outcome.ending is not Ending.VALUE or outcome.output != "42\n":
        return outcome.reason or f"a program that prints 42 printed {outcome.output!r}"
    if sandbox.name == "rlimits":
        return None
    through = [attempt.name for attempt in break_out(sandbox, quick=True) if not attempt.held]
    return f"it did not stop programs that {', '.join(through)}" if through else None


_CHOSEN: Final[dict[tuple[str, tuple[str, ...]], LocalSandbox]] = {}
_LOCK: Final = threading.Lock()
