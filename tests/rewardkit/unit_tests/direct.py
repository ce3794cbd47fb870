"""A stand-in for a sandbox, which runs programs in this process: for tests of how tests are read."""

from __future__ import annotations

import contextlib
import copy
import io
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rewardkit.programs.limits import Limits
from rewardkit.programs.outcome import Ending, Outcome

Seen = list[tuple[str, tuple[Any, ...], dict[str, Any]]]


class Direct:
    """Runs what it is given, and remembers what entered a program's process."""

    name = "none"
    size = 1

    def __init__(self) -> None:
        self.programs: list[str] = []
        self.calls: Seen = []
        self.checks: list[str] = []

    def run(self, program: str, stdin: str, limits: Limits) -> Outcome:
        self.programs.append(program)
        printed, before = io.StringIO(), sys.stdin
        sys.stdin = io.StringIO(stdin)
        try:
            with contextlib.redirect_stdout(printed):
                exec(compile(program, "<main>", "exec"), {"__name__": "__main__"})
        except SystemExit:
            pass
        except Exception as error:
            return Outcome(Ending.RAISED, reason=f"{type(error).__name__}: {error}")
        finally:
            sys.stdin = before
        return Outcome(Ending.VALUE, output=printed.getvalue())

    @contextlib.contextmanager
    def open(self, program: str, limits: Limits) -> Iterator[_Session]:
        self.programs.append(program)
        yield _Session(program, self)

    def check(self, program: str, test: str, entry_point: str, limits: Limits, *, setup: str = "") -> Outcome:
        self.programs.append(program)
        self.checks.append(test)
        session = _Session(program, self)

        def candidate(*args: Any, **kwargs: Any) -> Any:
            outcome = session.call(entry_point, args, kwargs, fresh=False)
            if outcome.ending is not Ending.VALUE:
                raise RuntimeError(outcome.reason)
            return outcome.value

        names: dict[str, Any] = {"__name__": "setup"}
        try:
            exec(setup, names)
            names |= {"candidate": candidate, entry_point: candidate}
            exec(test, names)
            if "check" in names:
                names["check"](candidate)
        except Exception as error:
            return Outcome(Ending.RAISED, reason=f"{type(error).__name__}: {error}")
        return Outcome(Ending.VALUE, True)


class _Session:
    def __init__(self, program: str, owner: Direct) -> None:
        self._program, self._owner = program, owner
        self._names: dict[str, Any] | None = None

    def call(
        self, function: str, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None, *, fresh: bool = True
    ) -> Outcome:
        self._owner.calls.append((function, tuple(args), dict(kwargs or {})))
        try:
            names = self._names
            if fresh or names is None:
                names = {"__name__": "solution"}
                exec(compile(self._program, "<solution>", "exec"), names)
                self._names = None if fresh else names
            value = eval(function, names)(*copy.deepcopy(list(args)), **copy.deepcopy(dict(kwargs or {})))
        except Exception as error:
            return Outcome(Ending.RAISED, reason=f"{type(error).__name__}: {error}")
        return Outcome(Ending.VALUE, copy.deepcopy(value))
