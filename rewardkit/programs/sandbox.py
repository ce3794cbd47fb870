"""The interface of everything that runs programs, here or on another machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from rewardkit.programs.limits import Limits
from rewardkit.programs.outcome import Outcome


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
