"""The process between the command and verl: it sees to it that nothing of a run outlives the command.

It runs verl as its child and holds one end of a pipe whose other end only the command has. When the command ends, in
whatever way, the kernel closes the pipe, and the supervisor ends verl and every process that came from it. It has a
session of its own, so that a signal to the command's process group doesn't reach it. verl in turn dies with the
supervisor, and Ray's daemons with verl.

Only the standard library, psutil and `processes` may be imported: this process lives as long as the run.
"""

from __future__ import annotations

import argparse
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from trainer_glue.verl.launch.processes import become_subreaper, descendants, die_with_parent, end_descendants, reap

GRACE: Final = 5.0
"""Seconds that verl has after SIGTERM: enough for Ray to close its session."""
KILL_TIMEOUT: Final = 10.0
_POLL: Final = 0.1


class Supervisor:
    """Runs one command and ends all that came from it.

    Args:
        command: what to run.
        pipe: file descriptor that reads as closed when the command line that started this is gone.
        grace: seconds between SIGTERM and SIGKILL.
    """

    def __init__(self, command: Sequence[str], pipe: int, grace: float = GRACE) -> None:
        self.command = list(command)
        self.pipe = pipe
        self.grace = grace
        self.told_to_stop = False
        self.code: int | None = None

    def run(self) -> int:
        """Run the command to its end, or until told to stop; its exit code."""
        become_subreaper()
        for number in (signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, self._on_sigterm)
        # Kept: a Popen that is let go reaps its process when that is over by then, and the exit code is lost.
        self.process = subprocess.Popen(
            self.command,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=die_with_parent,  # noqa: PLW1509 - this process has one thread
        )
        self.pid = self.process.pid
        while not self._has_ended() and not self._must_stop(_POLL):
            pass
        if self.code is None:
            os.kill(self.pid, signal.SIGTERM)
            deadline = time.monotonic() + self.grace
            while not self._has_ended() and time.monotonic() < deadline:
                time.sleep(_POLL)
        elif descendants(os.getpid()):
            time.sleep(_POLL)  # Ray's daemons are on their way out
        if self.code is None:
            self.code = 128 + signal.SIGKILL
        left = end_descendants(KILL_TIMEOUT)
        if left:
            print(f"rewardkit: processes that could not be ended: {left}", file=sys.stderr, flush=True)
        return self.code

    def _on_sigterm(self, *_: object) -> None:
        self.told_to_stop = True

    def _has_ended(self) -> bool:
        ended = reap()
        if self.pid in ended:
            self.code = self.process.returncode = ended[self.pid]
        return self.code is not None

    def _must_stop(self, timeout: float) -> bool:
        readable, _, _ = select.select([self.pipe], [], [], timeout)
        return self.told_to_stop or bool(readable and not os.read(self.pipe, 1))


def main(argv: Sequence[str] | None = None) -> int:
    """``python -m trainer_glue.verl.launch.supervisor [--scratch DIR] -- COMMAND...``, the pipe as standard input."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scratch", type=Path, help="a folder to remove at the end")
    parser.add_argument("--grace", type=float, default=GRACE)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args(argv)
    command = options.command[1:] if options.command[:1] == ["--"] else options.command
    try:
        return Supervisor(command, sys.stdin.fileno(), options.grace).run()
    finally:
        if options.scratch is not None:
            shutil.rmtree(options.scratch, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
