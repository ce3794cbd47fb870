"""verl as a child of this command, under its supervisor."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

from rewardkit.processes.isolated import PYTHON
from trainer_glue.verl.launch.supervisor import GRACE, KILL_TIMEOUT


class Child:
    """A supervised command whose output goes to a log file.

    Used as a context manager: leaving the block, in whatever way, ends the command and all that came from it.

    Args:
        command: what to run.
        environment: its whole environment.
        log: a file to append its output to.
        scratch: a folder that the supervisor removes at the end.
        keep_open: file descriptors that the supervisor holds as long as it lives, such as a lock.
        grace: seconds between SIGTERM and SIGKILL when it is stopped.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str],
        log: Path,
        scratch: Path | None = None,
        keep_open: Sequence[int] = (),
        grace: float = GRACE,
    ) -> None:
        self._grace = grace
        ours, theirs = None, None
        argv = [*PYTHON, "-m", "trainer_glue.verl.launch.supervisor", "--grace", str(grace)]
        if scratch is not None:
            argv += ["--scratch", str(scratch)]
        theirs, ours = os.pipe()  # neither is inherited: only `theirs` is handed over, as standard input
        try:
            with log.open("ab") as output:
                self._supervisor = subprocess.Popen(
                    [*argv, "--", *command],
                    env=dict(environment),
                    stdin=theirs,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                    pass_fds=tuple(keep_open),
                )
        except BaseException:
            os.close(ours)
            raise
        finally:
            os.close(theirs)
        self._pipe: int | None = ours

    @property
    def pid(self) -> int:
        """The supervisor's process id."""
        return self._supervisor.pid

    def wait(self) -> int:
        """The command's exit code, once it and all that came from it are gone."""
        return self._supervisor.wait()

    def poll(self, timeout: float) -> int | None:
        """The command's exit code, or None when it, or anything that came from it, still runs after the timeout."""
        try:
            return self._supervisor.wait(timeout)
        except subprocess.TimeoutExpired:
            return None

    def stop(self) -> int:
        """End it and wait until all of it is gone; the exit code."""
        if self._pipe is not None:
            os.close(self._pipe)
            self._pipe = None
        try:
            return self._supervisor.wait(self._grace + KILL_TIMEOUT + 5)
        except subprocess.TimeoutExpired:
            self._supervisor.send_signal(signal.SIGKILL)  # the kernel then kills verl, and Ray's daemons follow
            return self._supervisor.wait()

    def __enter__(self) -> Child:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
