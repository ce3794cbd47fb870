"""Programs on this machine, each in a process of its own behind the isolation that this machine has."""

from __future__ import annotations

import atexit
import contextlib
import errno
import os
import secrets
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from rewardkit.programs.inside.plain import NotPlain, pack, unpack
from rewardkit.programs.isolation import Isolation, places
from rewardkit.programs.limits import Limits
from rewardkit.programs.outcome import Ending, Outcome
from rewardkit.programs.place import Place, PlaceLost, Process

_ATTEMPTS: Final = 2
"""For a run that is broken by what is not the program."""


class LocalSandbox:
    """Places on this machine.

    Args:
        isolation: the kind.
        packages: distributions that programs may import, beside the standard library.
        size: how many programs run at a time; None: one a core.
    """

    def __init__(self, isolation: Isolation, packages: Sequence[str] = (), *, size: int | None = None) -> None:
        self.name: str = isolation
        self.size = size or places()
        self._isolation, self._packages = isolation, tuple(packages)
        self._begin()
        _SANDBOXES.add(self)

    def _begin(self) -> None:
        self._free = threading.Condition()
        self._idle: list[Place] = []
        self._taken: set[Place] = set()
        self._running = 0
        self._closed = False
        self._pid = os.getpid()

    def run(self, program: str, stdin: str, limits: Limits) -> Outcome:
        """A whole program as ``__main__``; what it printed is ``output``."""

        def once() -> Outcome:
            with self._places(1) as (place,), _process(place, limits, stdin) as process:
                token = secrets.token_hex(8)
                process.tell({"mode": "run", "program": program, "token": token})
                said: list[Any] = []
                while (message := process.hear()) is not None:
                    said = message
                return _ended(process, said, token, place, whole=True)

        return self.attempted(once)

    @contextlib.contextmanager
    def open(self, program: str, limits: Limits) -> Iterator[LocalSession]:
        """A program for calls."""
        session = LocalSession(self, program, limits)
        try:
            yield session
        finally:
            session.close()

    def check(self, program: str, test: str, entry_point: str, limits: Limits, *, setup: str = "") -> Outcome:
        """A data set's test code against one function of a program; VALUE with True where the test ran to its end."""

        def once() -> Outcome:
            with (
                self._places(2) as (tested, testing),
                _process(tested, limits) as ours,
                _process(testing, limits) as process,
            ):
                loaded = _Loaded(ours, tested, program, limits)
                token = secrets.token_hex(8)
                process.tell({"mode": "test", "setup": setup, "test": test, "entry_point": entry_point, "token": token})
                while (message := process.hear()) is not None and message[:2] == ["call", token] and len(message) == 4:
                    outcome = loaded.call(entry_point, *message[2:])
                    if outcome.ending is Ending.VALUE:
                        process.tell(["value", pack(outcome.value)])
                    elif outcome.ending is Ending.RAISED:
                        process.tell(["raised", *loaded.raised])
                    else:
                        return outcome
                if message == ["done", token]:
                    return Outcome(Ending.VALUE, True, ours.printed()[0])
                return _ended(process, message or [], token, testing, whole=False)

        return self.attempted(once)

    def attempted(self, once: Callable[[], Outcome]) -> Outcome:
        """What came of a run; it is tried again where the sandbox broke, as nothing of it is left."""
        outcome = Outcome(Ending.BROKEN)
        for _ in range(_ATTEMPTS):
            try:
                outcome = once()
            except (PlaceLost, OSError) as e:
                outcome = Outcome(Ending.BROKEN, reason=str(e))
                self._drop_idle()  # what befell one place may have befallen the others
            if outcome.ending is not Ending.BROKEN:
                break
        return outcome

    @contextlib.contextmanager
    def _places(self, n: int) -> Iterator[list[Place]]:
        """Places that nobody else has, with leave to run in them: all or none, so that nobody waits for a second."""
        with self.leave(n), self.held(n) as places:
            yield places

    @contextlib.contextmanager
    def leave(self, n: int = 1) -> Iterator[None]:
        """Be one of the ``size`` that run."""
        self.forget_after_fork()
        with self._free:
            self._free.wait_for(lambda: self._running == 0 or self._running + n <= self.size)
            self._running += n
        try:
            yield
        finally:
            with self._free:
                self._running -= n
                self._free.notify_all()

    @contextlib.contextmanager
    def held(self, n: int = 1) -> Iterator[list[Place]]:
        """Places that nobody else has."""
        with self._free:
            taken = [self._idle.pop() for _ in range(min(n, len(self._idle)))]
            self._taken.update(taken)
        good = False
        try:
            while len(taken) < n:
                taken.append(Place(self._isolation, self._packages))
                self._taken.add(taken[-1])
            yield taken
            good = True
        finally:
            kept = [place for place in taken if good and _is_clean(place)]
            with self._free:
                room = self.size - len(self._idle)
                kept = kept[: max(room, 0)] if not self._closed else []
                self._idle += kept
                self._taken.difference_update(taken)
            for place in taken:
                if place not in kept:
                    place.close()

    def forget_after_fork(self) -> None:
        """A forked child must not talk to its parent's servers, nor keep them alive."""
        if self._pid != os.getpid():
            for place in {*self._idle, *self._taken}:
                place.forget()
            self._begin()

    def close(self) -> None:
        """End the places that are free; the others end with what runs in them."""
        if self._pid == os.getpid():
            self._closed = True
            self._drop_idle()

    def _drop_idle(self) -> None:
        with self._free:
            idle, self._idle = self._idle, []
        for place in idle:
            place.close()

    def processes(self) -> list[int]:
        """Process ids of the free places' servers, for tests and reports."""
        with self._free:
            return [place.pid for place in self._idle]


class LocalSession:
    """A program whose functions are called; see :class:`rewardkit.programs.sandbox.Session`."""

    def __init__(self, sandbox: LocalSandbox, program: str, limits: Limits) -> None:
        self._sandbox, self._program, self._limits = sandbox, program, limits
        self._kept: tuple[contextlib.ExitStack, _Loaded] | None = None
        self._lost: Outcome | None = None

    def call(
        self, function: str, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None, *, fresh: bool = True
    ) -> Outcome:
        """Call a function with copies of plain data."""
        arguments = pack(list(args)), pack(dict(kwargs or {}))
        if not fresh:
            return self._call_kept(function, arguments)

        def once() -> Outcome:
            with (
                self._sandbox._places(1) as (place,),
                _process(place, self._limits) as process,
            ):
                return _Loaded(process, place, self._program, self._limits).call(function, *arguments)

        return self._sandbox.attempted(once)

    def _call_kept(self, function: str, arguments: tuple[Any, Any]) -> Outcome:
        """Between its calls the process has a place, and is none of those that run."""
        if self._lost is not None:
            return self._lost
        try:
            with self._sandbox.leave():
                if self._kept is None:
                    with contextlib.ExitStack() as opening:
                        (place,) = opening.enter_context(self._sandbox.held())
                        process = opening.enter_context(_process(place, self._limits))
                        loaded = _Loaded(process, place, self._program, self._limits)
                        self._kept = opening.pop_all(), loaded
                return self._kept[1].call(function, *arguments)
        except (PlaceLost, OSError) as e:
            self._lost = Outcome(Ending.BROKEN, reason=str(e))
            self.close(e)
            return self._lost

    def close(self, error: BaseException | None = None) -> None:
        """End the session's own process; after an error, its place too."""
        if self._kept is not None:
            (stack, _), self._kept = self._kept, None
            with contextlib.suppress(PlaceLost, OSError):
                stack.__exit__(type(error) if error else None, error, None)


class _Loaded:
    """A process that answers calls of one program."""

    def __init__(self, process: Process, place: Place, program: str, limits: Limits) -> None:
        self._process, self._place, self._limits = process, place, limits
        self._failed: Outcome | None = None
        self.raised = ("", "")
        """Name and words of the exception that a call raised last."""
        token = secrets.token_hex(8)
        process.tell({"mode": "call", "program": program, "token": token, "most": limits.output_chars})
        said = process.hear()
        if said != ["loaded", token]:
            self._failed = _ended(process, said or [], token, place, whole=False)

    def call(self, function: str, args: Any, kwargs: Any) -> Outcome:
        """Call with packed arguments. Once the process is at its end, each call says how it ended."""
        if self._failed is not None:
            return self._failed
        token = secrets.token_hex(8)
        self._process.tell([token, function, args, kwargs])
        said = self._process.hear()
        output, flooded = self._process.printed()
        match said:
            case _ if flooded:
                self._process.kill(Ending.OUTPUT, "")
                said = None
            case ["value", answered, tree] if answered == token:
                try:
                    return Outcome(Ending.VALUE, unpack(tree), output)
                except NotPlain as e:
                    return Outcome(Ending.RAISED, None, output, f"what {function} returns is {e}")
            case ["raised", answered, name, words] if answered == token:
                self.raised = str(name), str(words)
                broken = _disk_full(self._place, str(words))
                return Outcome(broken or Ending.RAISED, None, output, f"{name}: {words}")
        self._failed = _ended(self._process, said or [], token, self._place, whole=False, output=output)
        return self._failed


def _ended(
    process: Process, said: list[Any], token: str, place: Place, *, whole: bool, output: str | None = None
) -> Outcome:
    """What came of a process that gives no further answer; it is ended if it lives.

    Args:
        process: the process.
        said: its last message.
        token: what a message must bear to count.
        place: where it ran.
        whole: whether it was a whole program, whose printed text is what counts.
        output: what it has printed, where that has been read already.
    """
    live = process.end is None
    process.kill(Ending.EXITED, "it gave no answer")
    end = process.end
    assert end is not None
    printed, flooded = process.printed()
    printed = printed if output is None else output + printed
    kind = said[0] if len(said) > 1 and said[1] == token else None
    if flooded or end.ending is Ending.OUTPUT or kind == "long" or len(printed) > process.most_printed:
        reason = end.reason if end.ending is Ending.OUTPUT else "it printed or returned more than it may"
        return Outcome(Ending.OUTPUT, None, printed, reason)
    if end.ending not in (Ending.VALUE, Ending.EXITED):
        return Outcome(end.ending, None, printed, end.reason)
    if whole and end.ending is Ending.VALUE:
        return Outcome(Ending.VALUE, None, printed)
    match kind, said[2:]:
        case "memory", _:
            return Outcome(Ending.MEMORY, None, printed, "it wanted more memory than it may have")
        case "raised", [name, words]:
            broken = _disk_full(place, str(words))
            return Outcome(broken or Ending.RAISED, None, printed, f"{name}: {words}")
        case "exited", [code]:
            return Outcome(Ending.EXITED, None, printed, f"it ended with exit code {code}")
    if live:
        return Outcome(Ending.CRASHED, None, printed, "it answered what nobody asked")
    return Outcome(Ending.EXITED, None, printed, end.reason or process.last_words() or "it ended without an answer")


def _is_clean(place: Place) -> bool:
    """Whether a place can be used again; what came of its last program stands either way."""
    try:
        place.clean()
    except OSError:
        return False
    return True


def _disk_full(place: Place, words: str) -> Ending | None:
    """BROKEN where a program says that the disk is full, and it is: that is nobody's fault."""
    if os.strerror(errno.ENOSPC) not in words:
        return None
    free = os.statvfs(place.scratch)
    return Ending.BROKEN if free.f_bavail * free.f_frsize < 1 << 20 or free.f_favail == 0 else None


@contextlib.contextmanager
def _process(place: Place, limits: Limits, stdin: str = "") -> Iterator[Process]:
    with contextlib.closing(place.begin(limits, stdin)) as process:
        yield process


_SANDBOXES: Final[weakref.WeakSet[LocalSandbox]] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for sandbox in list(_SANDBOXES):
        sandbox.close()


def _forget_all() -> None:
    for sandbox in list(_SANDBOXES):
        sandbox.forget_after_fork()


os.register_at_fork(after_in_child=_forget_all)
