"""The process that holds the port, and the one that answers.

The port's socket belongs to a parent that does nothing else; the answering process inherits it. On SIGHUP the parent
starts a second one, and when that is ready tells the first to drain: it takes no connection any more, closes each that
it has with its next answer, and ends with the last of them. Connections that no process has taken wait in the socket:
a restart (a new formula file, a new release) loses none, and a reward that doesn't load leaves the old one serving.
SIGTERM and Ctrl-C drain and end all, and don't wait long for connections without a request; a second one waits for
nothing. A parent that is killed takes its child with it; a child that is killed is replaced.
"""

from __future__ import annotations

import asyncio
import errno
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from types import FrameType
from typing import Any, Final

from rewardkit.errors import ConfigError, RewardKitError, RunError
from rewardkit.processes.isolated import PYTHON, isolated_environment

DRAIN_S: Final = {signal.SIGTERM: 30.0, signal.SIGINT: 1.0}
"""By what the answering process is told to end with: how long it waits for the next request on a connection, which it
answers and then closes. A connection that is closed without may have a request on its way. SIGTERM is a restart's."""
START_S: Final = 120.0
"""Longest start of an answering process, the reward's own imports included."""
END_S: Final = 300.0
"""How long a request that is being scored, or a client that doesn't read its answer, can hold up the end."""
LAST_S: Final = 10.0
"""How long what is left of a process that answers no more may take."""
DEATHS: Final = 3
"""Answering processes that may die within `DEATHS_S` seconds; one more, and the next would do the same."""
DEATHS_S: Final = 60.0


class Parent:
    """Holds the port and keeps one answering process.

    Args:
        reward: what `rewardkit.engine.loading.load_reward` takes.
        host: the address to listen on.
        port: 0 for any free one.

    Raises:
        ConfigError: the port can't be had.
    """

    def __init__(self, reward: str, host: str, port: int) -> None:
        self._reward = reward
        self._signals: list[int] = []
        self._draining: list[subprocess.Popen[bytes]] = []
        self._socket = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self._socket.bind((host, port))
        except OSError as e:
            of_port = e.errno in (errno.EADDRINUSE, errno.EACCES)
            raise ConfigError(
                f"can't listen on {host}:{port}: {e.strerror}",
                hint="give another --port" if of_port else "--host takes an address of this machine, or 0.0.0.0",
            ) from e
        self._socket.listen(1024)
        self.address = f"[{host}]" if ":" in host else host
        self.address += f":{self._socket.getsockname()[1]}"

    def run(self) -> None:
        """Serve until SIGTERM or Ctrl-C.

        Raises:
            RunError: the answering process doesn't start, or dies again and again.
        """
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._note)
        child, served = self._start({"reward": self._reward})
        _say(f"serving on http://{self.address} (SIGHUP restarts)")
        deaths: list[float] = []
        while not self._must_end():
            if child.poll() is not None:
                died = f"the answering process died (exit code {child.returncode})"
                deaths = [*(t for t in deaths if time.monotonic() - t < DEATHS_S), time.monotonic()]
                if len(deaths) > DEATHS:
                    raise RunError(f"{died}, as did {DEATHS} before it within {DEATHS_S:g} s")
                _say(f"{died}; another takes its place")
                child, _ = self._start({"config": served})
            if signal.SIGHUP in self._signals:
                while signal.SIGHUP in self._signals:  # not clear(): SIGTERM may have come since
                    self._signals.remove(signal.SIGHUP)
                try:
                    new, served = self._start({"reward": self._reward})
                except RunError as e:
                    _say(f"not restarted, the old formula goes on: {' '.join(e.message.split())}")
                    continue
                self._drain(child, signal.SIGTERM)
                child = new
                _say("restarted")
            self._draining = [old for old in self._draining if old.poll() is None]
            time.sleep(0.1)
        self._end(child)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._signals.append(number)

    def _must_end(self, times: int = 1) -> bool:
        return sum(number != signal.SIGHUP for number in self._signals) >= times

    def _start(self, what: dict[str, Any]) -> tuple[subprocess.Popen[bytes], dict[str, Any]]:
        """An answering process that is ready, and its reward as `reward_from_config` reads it."""
        ready, answer_pipe = os.pipe()
        inherited = self._socket.fileno()
        command = [*PYTHON, "-m", "trainer_glue.server.serving", str(inherited), str(answer_pipe)]
        child = subprocess.Popen(
            command,
            pass_fds=(inherited, answer_pipe),
            stdin=subprocess.PIPE,
            start_new_session=True,
            env=isolated_environment(),
        )
        os.close(answer_pipe)
        assert child.stdin is not None
        try:
            with child.stdin as stdin, os.fdopen(ready, "rb") as pipe:
                stdin.write(json.dumps(what).encode())
                stdin.close()
                said = self._read(pipe.fileno())
            answer: dict[str, Any] = json.loads(said)
        except RunError as e:
            answer = {"error": e.message}
        except (BrokenPipeError, ValueError):
            answer = {"error": "the answering process ended without a word as it loaded the reward"}
        if "error" in answer:
            child.kill()
            child.wait()
            raise RunError(answer["error"])
        return child, answer["config"]

    def _read(self, pipe: int) -> bytes:
        """All that an answering process says of its start."""
        end, said = time.monotonic() + START_S, b""
        while True:
            if self._must_end():
                raise RunError("told to end before the answering process was ready")
            if time.monotonic() > end:
                raise RunError(f"the reward did not load within {START_S:g} s")
            if select.select([pipe], [], [], 0.1)[0]:
                part = os.read(pipe, 1 << 16)
                if not part:
                    return said
                said += part

    def _drain(self, child: subprocess.Popen[bytes], how: signal.Signals) -> None:
        child.send_signal(how)
        self._draining.append(child)

    def _end(self, child: subprocess.Popen[bytes]) -> None:
        """Let what has come be answered; a second signal ends at once."""
        for old in self._draining:
            old.send_signal(signal.SIGINT)
        self._drain(child, signal.SIGINT)
        while any(old.poll() is None for old in self._draining):
            if self._must_end(times=2):
                for old in self._draining:
                    old.kill()
            time.sleep(0.05)


def _say(text: str) -> None:
    print(f"rewardkit: {text}", file=sys.stderr, flush=True)


def answer(what: dict[str, Any], listening: int, answer_pipe: int) -> None:
    """Answer on an inherited socket until SIGTERM, then drain.

    Args:
        what: the `reward` as a user names it, or the `config` that an earlier process told.
        listening: the socket.
        answer_pipe: a pipe for one JSON object, `config` when all is ready or `error`.
    """

    def answer_with(said: dict[str, Any]) -> None:
        with os.fdopen(answer_pipe, "w") as pipe:
            json.dump(said, pipe)

    try:
        app, config = _load(what)
    except Exception as e:
        said = e.message if isinstance(e, RewardKitError) else f"{type(e).__name__}: {e}"
        answer_with({"error": said})
        return
    except SystemExit as e:
        answer_with({"error": f"the reward's file ended the process (exit code {e.code})"})
        return
    _serve(app, socket.socket(fileno=listening), lambda: answer_with({"config": config}))


def _load(what: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    from rewardkit.engine.loading import load_reward, reward_from_config
    from rewardkit.engine.program import compile
    from trainer_glue.server.app import make_app

    if "config" in what:
        return make_app(compile(reward_from_config(what["config"]))), what["config"]
    source = load_reward(what["reward"])
    return make_app(compile(source.reward)), source.to_config()


def _serve(app: Any, listening: socket.socket, on_ready: Any) -> None:
    import uvicorn

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            self.loop = asyncio.get_running_loop()
            on_ready()

        def handle_exit(self, sig: int, frame: FrameType | None) -> None:
            # uvicorn would raise the signal again after its end, which shows as a traceback.
            app.state.draining = True
            asyncio.run_coroutine_threadsafe(self.drain(sig), self.loop)

        async def drain(self, sig: int) -> None:
            for server in self.servers:
                server.close()  # the parent's socket stays open
            end = self.loop.time() + DRAIN_S[signal.Signals(sig)]
            quiet = 0  # looks in a row that found none: one that was just accepted shows a moment later
            while quiet < 5 and self.loop.time() < end:
                quiet = 0 if self.server_state.connections else quiet + 1
                await asyncio.sleep(0.02)
            self.should_exit = True

    parent = os.getppid()

    def end_with_parent() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(2 * DRAIN_S[signal.SIGTERM])
        os._exit(1)

    threading.Thread(target=end_with_parent, daemon=True).start()
    config = uvicorn.Config(
        app, log_level="error", access_log=False, timeout_keep_alive=60, timeout_graceful_shutdown=int(END_S)
    )
    Server(config).run([listening])
    last = threading.Timer(LAST_S, os._exit, (0,))  # a term that never ends would hold up the interpreter's own end
    last.daemon = True
    last.start()


if __name__ == "__main__":
    answer(json.load(sys.stdin), int(sys.argv[1]), int(sys.argv[2]))
