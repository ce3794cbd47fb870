"""The process that holds the port, and the one that answers.

The port's socket belongs to a parent that does nothing else; the answering process inherits it. On SIGHUP the parent
starts a second one, and when that is ready tells the first to drain: it takes no connection any more, closes each that
it has with its next answer, and ends with the last of them. Connections that no process has taken wait in the socket:
a restart (a new formula file, a new release) loses none. SIGTERM and Ctrl-C drain and end all, and don't wait long for
connections without a request; a parent that is killed takes its child with it.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from types import FrameType
from typing import Final

from rewardkit.errors import ConfigError, RunError

DRAIN_S: Final = {signal.SIGTERM: 30.0, signal.SIGINT: 1.0}
"""By what the answering process is told to end with: how long it waits for the next request on a connection, which it
answers and then closes. A connection that is closed without may have a request on its way. SIGTERM is a restart's."""


class Parent:
    """Holds the port and keeps one answering process.

    Args:
        reward: what `rewardkit.source.load_reward` takes.
        host: the address to listen on.
        port: 0 for any free one.

    Raises:
        ConfigError: the port can't be had.
    """

    def __init__(self, reward: str, host: str, port: int) -> None:
        self._reward = reward
        self._signals: list[int] = []
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._socket = socket.socket(family)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self._socket.bind((host, port))
        except OSError as e:
            raise ConfigError(f"can't listen on {host}:{port}: {e.strerror}", hint="give another --port") from e
        self._socket.listen(1024)
        self.address = f"{host}:{self._socket.getsockname()[1]}"

    def run(self) -> None:
        """Serve until SIGTERM or Ctrl-C.

        Raises:
            RunError: the answering process died.
        """
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._note)
        child = self._start()
        print(f"rewardkit: serving on http://{self.address} (SIGHUP restarts)", file=sys.stderr, flush=True)
        while True:
            if child.poll() is not None:
                raise RunError(f"the answering process died (exit code {child.returncode})")
            if not self._signals:
                time.sleep(0.1)
                continue
            if self._signals.pop(0) != signal.SIGHUP:
                _end(child, signal.SIGINT)
                return
            old, child = child, self._start()
            _end(old, signal.SIGTERM)
            print("rewardkit: restarted", file=sys.stderr, flush=True)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._signals.append(number)

    def _start(self) -> subprocess.Popen[bytes]:
        """An answering process that is ready."""
        ready, told = os.pipe()
        inherited = self._socket.fileno()
        command = [sys.executable, "-m", "trainer_glue.server.serving", self._reward, str(inherited), str(told)]
        child = subprocess.Popen(command, pass_fds=(inherited, told), start_new_session=True)
        os.close(told)
        with os.fdopen(ready, "rb") as pipe:
            if pipe.read(1) != b"1":
                child.wait()
                raise RunError(f"the answering process did not start (exit code {child.returncode})")
        return child


def _end(child: subprocess.Popen[bytes], how: signal.Signals) -> None:
    child.send_signal(how)
    child.wait()


def answer(reward: str, listening: int, told: int) -> None:
    """Answer on an inherited socket until SIGTERM, then drain."""
    import uvicorn

    from rewardkit.program import compile
    from rewardkit.source import load_reward
    from trainer_glue.server.app import make_app

    app = make_app(compile(load_reward(reward).reward))

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            self.loop = asyncio.get_running_loop()
            os.write(told, b"1")
            os.close(told)

        def handle_exit(self, sig: int, frame: FrameType | None) -> None:
            app.state.draining = True
            asyncio.run_coroutine_threadsafe(self.drain(sig, frame), self.loop)

        async def drain(self, sig: int, frame: FrameType | None) -> None:
            for server in self.servers:
                server.close()  # the parent's socket stays open
            end = self.loop.time() + DRAIN_S[signal.Signals(sig)]
            quiet = 0  # looks in a row that found none: one that was just accepted shows a moment later
            while quiet < 5 and self.loop.time() < end:
                quiet = 0 if self.server_state.connections else quiet + 1
                await asyncio.sleep(0.02)
            super().handle_exit(sig, frame)

    parent = os.getppid()

    def end_with_parent() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=end_with_parent, daemon=True).start()
    config = uvicorn.Config(app, log_level="warning", access_log=False, timeout_keep_alive=60)
    Server(config).run([socket.socket(fileno=listening)])


if __name__ == "__main__":
    answer(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
