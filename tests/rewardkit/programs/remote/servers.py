"""Local HTTP servers that speak the protocols of SandboxFusion and Piston, run what they get, and fail on demand."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

Answer = tuple[int, dict[str, str], bytes]


@dataclass
class Seen:
    """What a server has seen.

    Attributes:
        bodies: the requests, as text.
        times: when each came.
        most: the most that were under way at once.
    """

    bodies: list[str] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    now: int = 0
    most: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)


Fault = Callable[["Handler", Answer, Seen], Answer | None]
"""What becomes of an answer; None: the fault has dealt with the connection itself."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    execute: Callable[[dict[str, Any]], Answer]
    path_served: str
    fault: Fault
    seen: Seen

    def do_POST(self) -> None:
        text = self.rfile.read(int(self.headers["Content-Length"])).decode()
        with self.seen.lock:
            self.seen.bodies.append(text)
            self.seen.times.append(time.monotonic())
            self.seen.now += 1
            self.seen.most = max(self.seen.most, self.seen.now)
        try:
            if self.path != self.path_served or self.headers["Content-Type"] != "application/json":
                answer: Answer | None = (404, {}, b'{"message": "Not Found"}')
            else:
                answer = type(self).execute(json.loads(text))
            assert answer is not None
            answer = type(self).fault(self, answer, self.seen)
        finally:
            with self.seen.lock:
                self.seen.now -= 1
        if answer is None:
            return
        status, headers, content = answer
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), "Content-Type": "application/json", **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        with contextlib.suppress(OSError):
            self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        pass


def _ran(code: str, seconds: float) -> tuple[int | None, str, str]:
    """Exit code (None where the time was up), standard output and standard error."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "main.py"
        file.write_text(code, encoding="utf-8")
        child = subprocess.Popen(
            [sys.executable, str(file)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, encoding="utf-8", errors="replace", cwd=folder,
        )  # fmt: skip
        try:
            out, err = child.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            child.kill()
            out, err = child.communicate()
            return None, out, err
        return child.returncode, out, err


def sandbox_fusion(body: dict[str, Any]) -> Answer:
    """`POST /run_code`, as the service answers it."""
    assert body["language"] == "python" and isinstance(body["code"], str) and body["memory_limit_MB"] > 0
    code, out, err = _ran(body["code"], body["run_timeout"])
    status = "TimeLimitExceeded" if code is None else "Finished"
    answer = {
        "status": "Success" if code == 0 else "Failed",
        "message": "",
        "compile_result": None,
        "run_result": {"status": status, "execution_time": 0.1, "return_code": code, "stdout": out, "stderr": err},
        "executor_pod_name": None,
        "files": {},
    }
    return 200, {}, json.dumps(answer).encode()


def piston(body: dict[str, Any], output_max_size: int = 1 << 26) -> Answer:
    """`POST /api/v2/execute`, as the service answers it."""
    assert body["language"] == "python" and body["version"] == "*"
    (file,) = body["files"]
    code, out, err = _ran(file["content"], body["run_timeout"] / 1000)
    run: dict[str, Any] = {
        "stdout": out, "stderr": err, "output": out + err, "code": code, "signal": None, "memory": 9_000_000,
        "message": None, "status": None, "cpu_time": 20, "wall_time": 80,
    }  # fmt: skip
    if len(out) > output_max_size:
        run |= {"stdout": out[:output_max_size], "code": None, "signal": "SIGKILL", "status": "OL"}
        run["message"] = "stdout length exceeded"
    elif code is None:
        run |= {"signal": "SIGKILL", "status": "TO", "message": "Time limit exceeded (wall clock)"}
    elif code < 0:
        run |= {"code": None, "signal": "SIGSEGV", "status": "SG"}
    elif code:
        run |= {"status": "RE", "message": f"Exited with error status {code}"}
    return 200, {}, json.dumps({"run": run, "language": "python", "version": "3.12.0"}).encode()


def small_piston(body: dict[str, Any]) -> Answer:
    """A Piston with its default bound on output."""
    return piston(body, 1024)


SERVICES = {
    "SandboxFusion": ("/run_code", sandbox_fusion),
    "Piston": ("/api/v2/execute", piston),
    "small Piston": ("/api/v2/execute", small_piston),
}


def well(handler: Handler, answer: Answer, seen: Seen) -> Answer | None:
    """No fault."""
    return answer


@contextlib.contextmanager
def serving(service: str, fault: Fault = well) -> Iterator[tuple[str, Seen]]:
    """A server on a free port: its address, and what it has seen."""
    path, execute = SERVICES[service]
    seen = Seen()
    own = {"execute": staticmethod(execute), "path_served": path, "fault": staticmethod(fault), "seen": seen}
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Own", (Handler,), own))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}{path}", seen
    finally:
        server.shutdown()
        server.server_close()
