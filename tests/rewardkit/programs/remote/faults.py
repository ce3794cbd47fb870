"""What goes wrong at a service: each fault by its name, and what the reason must say."""

from __future__ import annotations

import json
import threading
from typing import Any

from tests.rewardkit.programs.remote.servers import Answer, Fault, Handler, Seen


def _dies(handler: Handler, answer: Answer, seen: Seen) -> None:
    handler.close_connection = True
    handler.connection.close()


def _status(code: int) -> Fault:
    return lambda handler, answer, seen: (code, {}, b'{"message": "busy"}')


def _body(content: bytes) -> Fault:
    return lambda handler, answer, seen: (200, {}, content)


def _cut(handler: Handler, answer: Answer, seen: Seen) -> None:
    status, _, content = answer
    handler.send_response(status)
    handler.send_header("Content-Length", str(len(content)))
    handler.end_headers()
    handler.wfile.write(content[: len(content) // 2])
    _dies(handler, answer, seen)


def _drips(handler: Handler, answer: Answer, seen: Seen) -> None:
    """A byte now and then, for ever: each read is in time, the whole never is."""
    handler.send_response(200)
    handler.send_header("Content-Length", "1000000")
    handler.end_headers()
    try:
        while not threading.Event().wait(0.2):
            handler.wfile.write(b" ")
            handler.wfile.flush()
    except OSError:
        handler.close_connection = True


def _stalls(handler: Handler, answer: Answer, seen: Seen) -> None:
    threading.Event().wait(20)
    _dies(handler, answer, seen)


def edited(edit: Any) -> Fault:
    """The answer with its output changed."""

    def fault(handler: Handler, answer: Answer, seen: Seen) -> Answer:
        body = json.loads(answer[2])
        run = body["run_result" if "run_result" in body else "run"]
        run["stdout"] = edit(run["stdout"])
        return 200, {}, json.dumps(body).encode()

    return fault


_FIRST: dict[int, Answer] = {}


def _another(handler: Handler, answer: Answer, seen: Seen) -> Answer:
    """The first answer that this server ever gave, for every request after it."""
    return _FIRST.setdefault(id(seen), (200, {}, answer[2].replace(b"\\n", b"0\\n", 1)))


def _sandbox_error(handler: Handler, answer: Answer, seen: Seen) -> Answer:
    body = json.loads(answer[2])
    if "run_result" in body:
        return 200, {}, json.dumps({"status": "SandboxError", "message": "no space left"}).encode()
    body["run"] |= {"code": None, "signal": None, "status": "XX", "message": "no space left"}
    return 200, {}, json.dumps(body).encode()


PAID = '{"ending": "value", "value": 1, "output": "", "reason": ""}'
FAULTS: dict[str, tuple[Fault, str]] = {
    "dies": (_dies, "no answer from"),
    "stalls": (_stalls, "no answer from"),
    "drips": (_drips, "no whole answer from"),
    "503": (_status(503), "answered 503"),
    "429": (_status(429), "answered 429"),
    "400": (_status(400), "answered 400"),
    "401": (_status(401), "answered 401"),
    "redirect": (lambda h, a, s: (302, {"Location": "http://127.0.0.1:9/run_code"}, b""), "answered 302"),
    "web page": (_body(b"<html>It works!</html>"), "not JSON"),
    "nothing": (_body(b""), "not JSON"),
    "deep": (_body(b"[" * 100_000), "not JSON"),
    "no object": (_body(b"[1, 2]"), "without a usable"),
    "empty object": (_body(b"{}"), "without a usable"),
    "success without a run": (_body(b'{"status": "Success", "message": ""}'), "without a usable"),
    "success as a text": (_body(b'{"status": "Success", "run_result": "ok", "run": "ok"}'), "without a usable"),
    "only a code": (
        _body(
            b'{"status": "Success", "run_result": {"status": "Finished", "return_code": 0},'
            b' "run": {"stdout": "", "code": 0}}'
        ),
        "not the answer to this request",
    ),
    "a code that is a text": (
        _body(
            b'{"status": "Success", "run_result": {"status": "Finished", "return_code": "0", "stdout": ""},'
            b' "run": {"stdout": "", "code": "0"}}'
        ),
        "an answer",
    ),
    "half an answer": (_cut, "no answer from"),
    "output cut": (edited(lambda text: text[: len(text) - 40]), "cut its answer short, or changed it"),
    "output gone": (edited(lambda text: ""), "not the answer to this request"),
    "only the first line": (edited(lambda text: text.split("\n")[0] + "\n"), "cut its answer short, or changed it"),
    "another's": (_another, "not the answer to this request"),
    "more outcomes": (
        edited(lambda t: t.replace('"outcomes": [', f'"outcomes": [{PAID}, ')),
        "cut its answer short, or changed it",
    ),
    "an unknown ending": (
        edited(lambda text: text.replace('"value"', '"paid"', 1)),
        "cut its answer short, or changed it",
    ),
    "sandbox error": (_sandbox_error, "no space left"),
}  # fmt: skip
