"""Programs that try to get out of a sandbox, and what held.

What can be seen from outside is looked at from outside: a file that was written, a connection that came, a process that
was killed. For the rest the program's own word counts, as it has no reason to hide that it got through.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from rewardkit.programs.limits import Limits
from rewardkit.programs.outcome import Ending, Outcome

_LIMITS: Final = Limits(cpu_seconds=0.5, wall_seconds=1.0, memory_mb=256, file_mb=1, output_chars=10_000)
_THROUGH: Final = "got through"
_STOPPED: Final = {Ending.CPU, Ending.WALL, Ending.MEMORY, Ending.OUTPUT, Ending.PROCESSES}
"""By one limit or another: which one comes first depends on the machine."""


class _Runs(Protocol):
    name: str

    def run(self, program: str, stdin: str, limits: Limits) -> Outcome: ...


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt to break out.

    Args:
        name: what was tried.
        held: whether the sandbox refused it.
        seen: what came of it.
    """

    name: str
    held: bool
    seen: str


def break_out(sandbox: _Runs, *, quick: bool = False) -> list[Attempt]:
    """Try to break out of a sandbox of this machine, in ways that leave nothing behind where they succeed.

    Args:
        sandbox: which.
        quick: leave out what takes its whole limit of time.
    """
    with _Host() as host:
        return [*_access(sandbox, host), *([] if quick else _amounts(sandbox))]


class _Host:
    """Things of this machine that a program must not get at, which nobody misses."""

    def __enter__(self) -> _Host:
        with contextlib.ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="rewardkit-breakout-")))
            self.word = secrets.token_hex(16)
            self.secret, self.target = folder / "secret", folder / "target"
            self.secret.write_text(self.word)
            self.secret.chmod(0o640)
            self.listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            self.listener.settimeout(0.05)
            self.datagrams = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
            self.datagrams.bind(str(folder / "socket"))
            self.datagrams.settimeout(0.05)
            self.sleeper = stack.enter_context(
                subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(600)"])
            )
            stack.callback(self.sleeper.kill)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()


def _access(sandbox: _Runs, host: _Host) -> Iterator[Attempt]:
    installed = sys.modules["pydantic"].__file__ if "pydantic" in sys.modules else None
    port = host.listener.getsockname()[1]

    def said(outcome: Outcome) -> bool:
        return host.word in outcome.output or _THROUGH in outcome.output

    tries: list[tuple[str, str, Callable[[Outcome], bool]]] = [
        ("read a file of this machine", f"print(open({str(host.secret)!r}).read())", said),
        ("read /etc/passwd", f"open('/etc/passwd').read(); print({_THROUGH!r})", said),
        (
            "write a file of this machine",
            f"open({str(host.target)!r}, 'w').write('x')",
            lambda _: host.target.exists(),
        ),
        (
            "change a file's mode",
            f"import os; os.chmod({str(host.secret)!r}, 0o666)",
            lambda _: host.secret.stat().st_mode & 0o777 != 0o640,
        ),
        (
            "delete a file of this machine",
            f"import os; os.unlink({str(host.secret)!r})",
            lambda _: not host.secret.exists(),
        ),
        (
            "connect to a port",
            f"import socket; socket.create_connection(('127.0.0.1', {port}), 0.3)",
            lambda _: _came(host.listener.accept),
        ),
        (
            "open a socket",
            f"import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM); print({_THROUGH!r})",
            said,
        ),
        (
            "send to a socket of this machine",
            "import socket; socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0]"
            f".sendto(b'x', {host.datagrams.getsockname()!r})",
            lambda _: _came(lambda: host.datagrams.recv(1)),
        ),
        (
            "kill a process",
            f"import os; os.kill({host.sleeper.pid}, 9)",
            lambda _: host.sleeper.poll() is not None,
        ),
        ("start a process", f"import os\nif os.fork() == 0: os._exit(0)\nprint({_THROUGH!r})", said),
        ("run another program", f"import os; os.execv('/bin/echo', ['echo', {_THROUGH!r}])", said),
        (
            "read the calling process",
            f"open('/proc/{os.getpid()}/environ', 'rb').read(); open('/proc/{os.getpid()}/mem', 'rb'); "
            f"print({_THROUGH!r})",
            said,
        ),
        (
            "trace its parent",
            "import ctypes, os\nif ctypes.CDLL(None).ptrace(16, os.getppid(), 0, 0) == 0: print('" + _THROUGH + "')",
            said,
        ),
        (
            "see this process's environment",
            f"import os; print({_THROUGH!r} if {sorted(os.environ)!r} == sorted(os.environ) else '')",
            said,
        ),
        (
            "use descriptors that it was not given",
            f"import os\nfor n in range(4, 64):\n  try: os.fstat(n); print({_THROUGH!r})\n  except OSError: pass",
            said,
        ),
    ]
    if installed:
        tries.append(("read installed packages", f"open({installed!r}).read(); print({_THROUGH!r})", said))
    for name, program, got_through in tries:
        outcome = sandbox.run(program, "", _LIMITS)
        held = outcome.ending is not Ending.BROKEN and not got_through(outcome)
        yield Attempt(name, held, _seen(outcome) if held or outcome.ending is Ending.BROKEN else _THROUGH)
    sandbox.run("open('left', 'w').write('x')", "", _LIMITS)
    outcome = sandbox.run("import os; print(os.listdir('.'))", "", _LIMITS)
    yield Attempt("find what another program left", outcome.output.strip() == "[]", _seen(outcome))


def _amounts(sandbox: _Runs) -> Iterator[Attempt]:
    for name, program in (
        ("compute for ever", "while True: pass"),
        ("sleep for ever", "import time; time.sleep(600)"),
        ("fill memory", "held = []\nwhile True: held.append(bytearray(1 << 20))"),
        ("print for ever", "while True: print('x' * 1000)"),
        (
            "fill the disk",
            "import time\nfor n in range(8): open(str(n), 'wb').write(bytes(1 << 20))\ntime.sleep(600)",
        ),
        (
            "start threads for ever",
            "import threading, time\nthreading.stack_size(1 << 15)\n"
            "while True: threading.Thread(target=time.sleep, args=(600,), daemon=True).start()",
        ),
    ):
        outcome = sandbox.run(program, "", _LIMITS)
        yield Attempt(name, outcome.ending in _STOPPED, _seen(outcome))


def _came(wait: Callable[[], object]) -> bool:
    try:
        wait()
    except OSError:
        return False
    return True


def _seen(outcome: Outcome) -> str:
    return f"{outcome.ending}: {outcome.reason}" if outcome.reason else str(outcome.ending)
