"""A server on this machine that answers as told, and a clock that no test has to wait for."""

from __future__ import annotations

import asyncio
import json
import selectors
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = tuple[int, dict[str, str], str]


def said(content: object) -> Answer:
    """A chat completion."""
    return 200, {}, json.dumps({"choices": [{"message": {"content": content}}]})


class Server:
    """Answers every request by ``reply``, and remembers what came."""

    def __init__(self, reply: Callable[[dict[str, Any]], Answer] | None = None) -> None:
        self.reply: Callable[[dict[str, Any]], Answer] = reply or (lambda _: said("Score: 5"))
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.busy = self.most = 0
        self.lock = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                with outer.lock:
                    outer.requests.append(body)
                    outer.headers.append({k.lower(): v for k, v in self.headers.items()})
                    outer.paths.append(self.path)
                    outer.busy += 1
                    outer.most = max(outer.most, outer.busy)
                try:
                    status, headers, text = outer.reply(body)
                finally:
                    with outer.lock:
                        outer.busy -= 1
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(text.encode())))
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *_: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.root = f"http://127.0.0.1:{self.http.server_port}"
        self.url = f"{self.root}/v1"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.http.shutdown()
        self.http.server_close()

    def prompt(self, i: int = -1) -> str:
        return str(self.requests[i]["messages"][0]["content"])


class _Unhurried(selectors.DefaultSelector):  # type: ignore[misc,valid-type]
    """Never waits for a time: where nothing is ready, the time comes at once."""

    now = 0.0

    def select(self, timeout: float | None = None) -> Any:
        if timeout is None:
            return super().select(None)
        ready = super().select(0)
        if not ready and timeout > 0:
            self.now += timeout
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock jumps to the next thing that is due. For what talks to no network."""

    def __init__(self) -> None:
        self._unhurried = _Unhurried()
        super().__init__(self._unhurried)

    def time(self) -> float:
        return self._unhurried.now
