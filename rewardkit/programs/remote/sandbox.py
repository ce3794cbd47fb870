"""A sandbox on another machine. It gets programs and inputs and gives back output: what is expected stays here.

A service that can't be reached, refuses, or says what is no answer to the request says nothing about the program: that
is BROKEN, never a failed test.
"""

from __future__ import annotations

import ast
import inspect
import json
import secrets
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import Any, Final
from urllib.parse import urlsplit

from rewardkit.programs.limits import Limits
from rewardkit.programs.outcome import Ending, Outcome
from rewardkit.programs.remote import driver
from rewardkit.programs.remote.client import QUEUE_S, Client, Unanswered
from rewardkit.programs.remote.services import service_of

MOST_ROUNDS: Final = 100
"""Rounds between a data set's test code and the program that it tests."""
_DRIVER: Final = inspect.getsource(driver)


class RemoteSandbox:
    """Runs programs at a SandboxFusion or a Piston.

    Args:
        url: the whole address: ``http://HOST:PORT/run_code`` or ``http://HOST:PORT/api/v2/execute``.
        headers: sent with every request, such as a key.
        size: how many programs run at a time.
        rate: requests that may begin in a second; None: as many as there are.
        queue_seconds: how long a run may wait at the service for its turn.

    Raises:
        ValueError: an address of neither.
    """

    def __init__(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        size: int = 16,
        rate: float | None = None,
        queue_seconds: float = QUEUE_S,
    ) -> None:
        service = service_of(urlsplit(url).path)
        self.name = f"{service.name} at {url}"
        self.size = size
        self._client = Client(url, service, headers=headers or {}, size=size, rate=rate, queue_seconds=queue_seconds)
        self._holds: dict[int, bool] = {}
        self._probing = threading.Lock()

    def run(self, program: str, stdin: str, limits: Limits) -> Outcome:
        """Run a whole program as ``__main__`` in a process of its own; what it printed is ``output``."""
        return self._ask({"program": program, "stdin": stdin}, limits)[0]

    @contextmanager
    def open(self, program: str, limits: Limits) -> Iterator[RemoteSession]:
        """A program for calls."""
        yield RemoteSession(self, program, limits)

    def check(self, program: str, test: str, entry_point: str, limits: Limits, *, setup: str = "") -> Outcome:
        """Run a data set's test code against one function of a program.

        The two never share a process. The program is first called with the arguments that stand in the test, then the
        test runs with what those calls returned; where it calls for more, that is asked of the program, and the test
        runs anew.
        """
        code = _CHECK.format(setup=setup, test=test, entry_point=entry_point)
        known: list[tuple[list[Any], dict[str, Any]]] = [(a, {}) for a in _literal_calls(test, entry_point)]
        for _ in range(MOST_ROUNDS):
            outcomes = self.calls(program, [(entry_point, args, kwargs) for args, kwargs in known], limits)
            ended = next((o for o in outcomes if o.ending not in (Ending.VALUE, Ending.RAISED)), None)
            if ended is not None and ended.ending is Ending.BROKEN:
                return ended
            table = [
                (args, kwargs, o.ending is Ending.VALUE, o.value if o.ending is Ending.VALUE else o.reason)
                for (args, kwargs), o in zip(known, outcomes, strict=False)
            ]
            (said,) = self.calls(code, [("rewardkit_check", [table], {})], limits)
            if said.ending is not Ending.VALUE:
                return said
            verdict, *rest = said.value
            if verdict == "passed":
                return replace(said, value=True)
            if ended is not None:
                return ended
            if verdict == "failed":
                return Outcome(Ending.RAISED, output=said.output, reason=rest[0])
            known.append((rest[0], rest[1]))
        return Outcome(Ending.WALL, reason=f"the test calls the program more than {MOST_ROUNDS} times")

    def calls(
        self, program: str, calls: Sequence[tuple[str, Sequence[Any], Mapping[str, Any]]], limits: Limits
    ) -> list[Outcome]:
        """Make calls one after another in one process.

        Returns:
            An outcome for each call up to the one that ended the process.

        Raises:
            TypeError: an argument is not plain data.
        """
        if not calls:
            return []
        made = [
            {"function": name, "args": driver.encode(list(args)), "kwargs": driver.encode(dict(kwargs))}
            for name, args, kwargs in calls
        ]
        return self._ask({"program": program, "calls": made}, limits)

    def _ask(self, request: Mapping[str, Any], limits: Limits) -> list[Outcome]:
        number = secrets.token_hex(16)
        most = limits.output_chars * max(1, len(request.get("calls", ())))
        whole = {**request, "limits": asdict(limits), "number": number}
        code = f"{_DRIVER}\n\nmain(json.loads({json.dumps(json.dumps(whole))}))\n"
        try:
            ran = self._client.run(code, limits.wall_seconds, limits.memory_mb, most)
        except Unanswered as e:
            return [Outcome(Ending.BROKEN, reason=str(e))]
        first, _, rest = ran.stdout.partition("\n")
        if first.strip() != number:
            return [Outcome(Ending.BROKEN, reason=f"{self.name} answered what is not the answer to this request")]
        if ran.killed is not None:
            if ran.cut and not self._holds_output(limits):
                reason = (
                    f"{self.name} lets through less output than the {limits.output_chars:,} characters that a program "
                    "may have: raise its PISTON_OUTPUT_MAX_SIZE"
                )
                return [Outcome(Ending.BROKEN, reason=reason)]
            return [Outcome(ran.killed, reason=f"the service ended it: {ran.killed.value}")]
        report = rest.rstrip("\n").rpartition("\n")[2]
        try:
            return _outcomes(json.loads(report), number, len(request.get("calls", "1")))
        except (ValueError, TypeError, KeyError, RecursionError):
            return [
                Outcome(Ending.BROKEN, reason=f"{self.name} cut its answer short, or changed it: {report[-100:]!r}")
            ]

    def _holds_output(self, limits: Limits) -> bool:
        """Whether the service lets through as much output as a program may have: asked once."""
        with self._probing:
            if limits.output_chars not in self._holds:
                most = limits.output_chars
                code = f"print('o' * {most})"
                try:
                    ran = self._client.run(code, limits.wall_seconds, limits.memory_mb, most)
                except Unanswered:
                    return False
                self._holds[limits.output_chars] = not ran.cut
            return self._holds[limits.output_chars]


class RemoteSession:
    """A program whose functions are called at a service, one request a call.

    Args:
        sandbox: where.
        program: its text.
        limits: of each call.
    """

    def __init__(self, sandbox: RemoteSandbox, program: str, limits: Limits) -> None:
        self._sandbox, self._program, self._limits = sandbox, program, limits
        self._made: list[tuple[str, Sequence[Any], Mapping[str, Any]]] = []

    def call(
        self, function: str, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None, *, fresh: bool = True
    ) -> Outcome:
        """Call a function with copies of plain data.

        A service keeps no process. With ``fresh=False`` the calls before this one are made again, in one process with
        it.
        """
        call = (function, args, kwargs or {})
        if fresh:
            return self._sandbox.calls(self._program, [call], self._limits)[-1]
        self._made.append(call)
        return self._sandbox.calls(self._program, self._made, self._limits)[-1]


def _outcomes(report: Any, number: str, most: int) -> list[Outcome]:
    if report["number"] != number or not 1 <= len(report["outcomes"]) <= most:
        raise ValueError("another request's")
    outcomes = []
    for made in report["outcomes"]:
        output, reason = made["output"], made["reason"]
        if not isinstance(output, str) or not isinstance(reason, str):
            raise TypeError("no text")
        try:
            value = driver.decode(made["value"])
        except (ValueError, TypeError, RecursionError, OverflowError):  # the program wrote it
            outcomes.append(Outcome(Ending.CRASHED, reason="it wrote on the channel of results what is no result"))
            continue
        outcomes.append(Outcome(Ending(made["ending"]), value, output, reason))
    return outcomes


def _literal_calls(test: str, entry_point: str) -> list[list[Any]]:
    """The arguments of calls in a test that can be read without running it, each once."""
    try:
        tree = ast.parse(test)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    found: dict[str, list[Any]] = {}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.keywords:
            continue
        if node.func.id in ("candidate", entry_point):
            try:
                args = [ast.literal_eval(a) for a in node.args]
            except (ValueError, TypeError, MemoryError, RecursionError):
                continue
            found.setdefault(repr(args), args)
    return list(found.values())


_CHECK: Final = """
def rewardkit_check(table):
    class Needs(BaseException):
        pass

    needed = []

    def same(one, other):
        if type(one) is not type(other):
            return False
        if type(one) in (list, tuple):
            return len(one) == len(other) and all(map(same, one, other))
        if type(one) is dict:
            return one.keys() == other.keys() and all(same(one[k], other[k]) for k in one)
        return one == other or repr(one) == repr(other)

    def candidate(*args, **kwargs):
        args = list(args)
        if needed:
            raise Needs
        matching = [row for row in table if same(row[0], args) and same(row[1], kwargs)]
        if not matching:
            needed.append((args, kwargs))
            raise Needs
        _, _, returned, value = matching[0]
        if not returned:
            raise RuntimeError(value)
        import copy
        return copy.deepcopy(value)

    space = {{"__name__": "rewardkit_test", "candidate": candidate, {entry_point!r}: candidate}}
    try:
        exec(compile({setup!r}, "setup.py", "exec"), space)
        space.update({{"candidate": candidate, {entry_point!r}: candidate}})
        exec(compile({test!r}, "test.py", "exec"), space)
        if callable(space.get("check")):
            space["check"](candidate)
    except Needs:
        pass
    except AssertionError as error:
        if not needed:
            return ("failed", "AssertionError: " + str(error)[:200])
    except Exception as error:
        if not needed:
            return ("failed", type(error).__name__ + ": " + str(error)[:200])
    if needed:
        return ("needs", needed[0][0], needed[0][1])
    return ("passed",)
"""
