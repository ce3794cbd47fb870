"""The protocols of code-running services: what a request looks like, and what an answer says.

SandboxFusion (https://github.com/bytedance/SandboxFusion) has ``/run_code``, Piston
(https://github.com/engineer-man/piston) ``/api/v2/execute``. Which of them an address speaks is told by its path.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from rewardkit.programs.outcome import Ending

OVERHEAD_MB: Final = 256
"""MiB that a service is asked for on top of the program's: those of the driver."""
OVERHEAD_S: Final = 5
"""Seconds likewise: the driver ends the program at its own limit, the service ends what then still runs."""


class Unusable(Exception):
    """An answer that says nothing about the program: an internal error of the service, or not such an answer at all."""


@dataclass(frozen=True, slots=True)
class Ran:
    """What a service says of a run.

    Attributes:
        stdout: what was printed.
        killed: the limit or the signal that ended the run as a whole; None where it ended by itself.
        cut: whether the service's own bound on output ended it.
    """

    stdout: str
    killed: Ending | None = None
    cut: bool = False


class Service(Protocol):
    """One protocol."""

    name: str

    def request(self, code: str, seconds: float, memory_mb: int) -> dict[str, Any]:
        """What is posted to run a Python program."""

    def read(self, answer: Any) -> Ran:
        """What an answer says.

        Raises:
            Unusable: it says nothing about the program.
        """


class SandboxFusion:
    """Bytedance's SandboxFusion."""

    name = "SandboxFusion"

    def request(self, code: str, seconds: float, memory_mb: int) -> dict[str, Any]:
        """The body of ``POST /run_code``."""
        return {
            "code": code,
            "language": "python",
            "stdin": "",
            "compile_timeout": 10,
            "run_timeout": seconds,
            "memory_limit_MB": memory_mb,
        }

    def read(self, answer: Any) -> Ran:
        """What ``/run_code`` says of a run."""
        status = _field(answer, "status", str)
        if status == "SandboxError":
            raise Unusable(f"the sandbox failed: {str(answer.get('message'))[:200]}")
        if status not in ("Success", "Failed"):
            raise Unusable(f"an answer with the status {status[:40]!r}")
        run = _field(answer, "run_result", Mapping)
        ended, stdout = _field(run, "status", str), run.get("stdout")
        if stdout is not None and not isinstance(stdout, str):
            raise Unusable("an answer whose output is no text")
        if ended == "TimeLimitExceeded":
            return Ran(stdout or "", Ending.WALL)
        if ended != "Finished":
            raise Unusable(f"the sandbox failed: {str(run.get('stderr'))[:200]}")
        code = _field(run, "return_code", int)
        return Ran(stdout or "", None if code == 0 else Ending.CRASHED)


class Piston:
    """The Piston of engineer-man."""

    name = "Piston"

    def request(self, code: str, seconds: float, memory_mb: int) -> dict[str, Any]:
        """The body of ``POST /api/v2/execute``."""
        milliseconds = round(seconds * 1000)
        return {
            "language": "python",
            "version": "*",
            "files": [{"name": "driver.py", "content": code}],
            "stdin": "",
            "run_timeout": milliseconds,
            "run_cpu_time": milliseconds,
            "run_memory_limit": memory_mb << 20,
        }

    def read(self, answer: Any) -> Ran:
        """What ``/api/v2/execute`` says of a run."""
        run = _field(answer, "run", Mapping)
        stdout = _field(run, "stdout", str)
        code, killed_by, status = run.get("code"), run.get("signal"), run.get("status")
        if status == "XX" or (code is None and killed_by is None):
            raise Unusable(f"the sandbox failed: {str(run.get('message'))[:200]}")
        if not isinstance(code, int | None) or isinstance(code, bool) or not isinstance(killed_by, str | None):
            raise Unusable("an answer whose exit code is no number")
        if status in ("OL", "EL"):
            return Ran(stdout, Ending.OUTPUT, cut=True)
        if status == "TO":
            return Ran(stdout, Ending.WALL if "wall" in str(run.get("message")) else Ending.CPU)
        return Ran(stdout, None if code == 0 and killed_by is None else Ending.CRASHED)


def service_of(path: str) -> Service:
    """The protocol that a path speaks.

    Raises:
        ValueError: neither.
    """
    if path.rstrip("/").endswith("/run_code"):
        return SandboxFusion()
    if path.rstrip("/").endswith("/execute"):
        return Piston()
    raise ValueError(
        "expected the whole address of a sandbox: http://HOST:PORT/run_code of SandboxFusion, or "
        "http://HOST:PORT/api/v2/execute of Piston"
    )


def _field(answer: Any, name: str, kind: type) -> Any:
    value = answer.get(name) if isinstance(answer, Mapping) else None
    if not isinstance(value, kind) or isinstance(value, bool):
        raise Unusable(f"an answer without a usable `{name}`: {str(answer)[:200]}")
    return value
