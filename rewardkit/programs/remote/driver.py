"""What runs on the other machine: it runs one program under limits, and says in one line of JSON how that ended.

This file travels as text, with a request behind it. So it imports the standard library only, and runs on Python 3.8.
The first line that it prints is the request's number, by which an answer is told from the answer to another request.
"""

from __future__ import annotations

import builtins
import contextlib
import json
import os
import resource
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import types
from typing import Any, Dict, List, Optional, Tuple  # noqa: UP035

_REASON = 300
_PIECE = 1 << 16
_Ended = Optional[Tuple[str, str]]  # noqa: UP006, UP045
"""A limit that the program went over, and the reason; None where it went over none."""


def encode(value: Any) -> Any:
    """Plain data as what JSON can hold.

    Raises:
        TypeError: anything else, subclasses of plain types among it.
    """
    kind = type(value)
    if value is None or kind is bool or kind is str:
        return value
    if kind is int:
        return value if abs(value) < 1 << 63 else {"int": hex(value)}
    if kind is float:
        return {"float": value.hex()}
    if kind is complex:
        return {"complex": [value.real.hex(), value.imag.hex()]}
    if kind is bytes:
        return {"bytes": value.hex()}
    if kind is list:
        return [encode(v) for v in value]
    if kind in (tuple, set, frozenset):
        return {kind.__name__: [encode(v) for v in value]}
    if kind is dict:
        return {"dict": [[encode(k), encode(v)] for k, v in value.items()]}
    raise TypeError(f"a {kind.__name__} is not plain data")


def decode(value: Any) -> Any:
    """The reverse of :func:`encode`.

    Raises:
        ValueError: what `encode` does not make.
        TypeError: a list as a key, or as a member of a set.
    """
    if value is None or type(value) in (bool, int, str):
        return value
    if type(value) is list:
        return [decode(v) for v in value]
    if type(value) is not dict or len(value) != 1:
        raise ValueError("not encoded data")
    ((kind, held),) = value.items()
    if kind in ("int", "float", "bytes") and type(held) is str:
        if kind == "int":
            return int(held, 16)
        return float.fromhex(held) if kind == "float" else bytes.fromhex(held)
    if type(held) is not list:
        raise ValueError("not encoded data")
    if kind == "complex":
        real, imaginary = held
        return complex(float.fromhex(real), float.fromhex(imaginary))
    if kind in ("tuple", "set", "frozenset"):
        return getattr(builtins, kind)(decode(v) for v in held)
    if kind == "dict":
        return {decode(k): decode(v) for k, v in held}
    raise ValueError("not encoded data")


def main(request: Dict[str, Any]) -> None:  # noqa: UP006
    """Run what a request asks for, and print its number and then the report."""
    if len(sys.argv) > 1:
        _serve(request["calls"])
    print(request["number"], flush=True)
    folder = tempfile.mkdtemp()
    try:
        outcomes = _run(request, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print("\n" + json.dumps({"number": request["number"], "outcomes": outcomes}), flush=True)


def _run(request: Dict[str, Any], folder: str) -> List[Dict[str, Any]]:  # noqa: UP006
    """Run a program as __main__, or calls of its functions, in a process of its own."""
    limits, calls = request["limits"], request.get("calls")
    name, given = os.path.join(folder, "main.py"), os.path.join(folder, "stdin")
    for path, text in ((name, request["program"]), (given, request.get("stdin", ""))):
        with open(path, "w", encoding="utf-8", errors="surrogatepass", newline="") as file:
            file.write(text)
    results, theirs = os.pipe()
    command = [sys.executable, "-B", name]
    if calls is not None:
        command = [sys.executable, "-B", os.path.abspath(__file__), name, str(theirs)]
    environment = {"PATH": os.environ.get("PATH", ""), "HOME": folder, "PYTHONIOENCODING": "utf-8"}
    with open(given, "rb") as stdin:
        child = subprocess.Popen(
            command, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder, env=environment,
            pass_fds=[theirs], start_new_session=True, preexec_fn=lambda: _confine(limits),  # noqa: PLW1509  # no threads
        )  # fmt: skip
    os.close(theirs)
    texts, ended = _read(child, results, len(calls or ()), limits)
    with contextlib.suppress(OSError):
        os.killpg(child.pid, signal.SIGKILL)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = status
    seconds = used.ru_utime + used.ru_stime
    if ended is None and seconds > limits["cpu_seconds"]:
        ended = "cpu", f"it used {seconds:.1f} s of CPU time"
    code = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
    return _report(calls, code, ended, *texts)


def _confine(limits: Dict[str, Any]) -> None:  # noqa: UP006
    seconds, memory, files = int(limits["cpu_seconds"]) + 1, limits["memory_mb"] << 20, limits["file_mb"] << 20
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_FSIZE, (files, files))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _read(child: Any, results: int, calls: int, limits: Dict[str, Any]) -> Tuple[Tuple[str, str, bytes], _Ended]:  # noqa: UP006
    """What the child writes, as far as it may, and the limit that it went over."""
    most = limits["output_chars"]
    out, err = child.stdout.fileno(), child.stderr.fileno()
    texts = {out: bytearray(), err: bytearray(), results: bytearray()}
    bounds = {out: 4 * most, results: calls * 2 * most + _PIECE}
    end = time.monotonic() + limits["wall_seconds"]
    ended: _Ended = None
    with selectors.DefaultSelector() as selector:
        for source in texts:
            selector.register(source, selectors.EVENT_READ)
        done = False
        while ended is None and not (done and not selector.get_map()):
            if not selector.get_map():
                time.sleep(0.02)
            ready = selector.select(0.02)
            for key, _ in ready:
                piece = os.read(key.fd, _PIECE)
                if not piece:
                    selector.unregister(key.fd)
                texts[key.fd] += piece
                if key.fd == err:
                    del texts[err][:-_PIECE]
                elif len(texts[key.fd]) > bounds[key.fd]:
                    ended = "output", f"it wrote more than {most:,} characters"
            if done and not ready:
                break  # what it left behind holds the pipes open
            done = os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
            if not done and ended is None and time.monotonic() > end:
                ended = "wall", f"it ran for more than {limits['wall_seconds']:g} s"
    output = texts[out].decode("utf-8", "replace")
    if ended is None and len(output) > most:
        ended = "output", f"it printed more than {most:,} characters"
    return (output[:most], texts[err].decode("utf-8", "replace"), bytes(texts[results])), ended


def _report(
    calls: Optional[List[Any]],  # noqa: UP006, UP045
    code: int,
    ended: _Ended,
    output: str,
    errors: str,
    results: bytes,
) -> List[Dict[str, Any]]:  # noqa: UP006
    last = (errors.strip().splitlines() or [""])[-1][:_REASON]
    if ended is None and code < 0:
        kind = {signal.SIGXCPU: "cpu", signal.SIGXFSZ: "output"}.get(signal.Signals(-code), "crashed")
        ended = kind, f"signal {-code} ended it"
    elif ended is None and code != 0:
        raised = "Traceback (most recent call last)" in errors or last.startswith(("SyntaxError", "IndentationError"))
        kind = "memory" if last.startswith("MemoryError") else "raised" if raised else "exited"
        ended = kind, last or f"it ended with exit code {code}"
    if calls is None:
        ending, reason = ended or ("value", "")
        return [{"ending": ending, "value": None, "output": output, "reason": reason}]
    outcomes = []
    for line in results.splitlines()[: len(calls)]:
        try:
            outcomes.append(_outcome(json.loads(line.decode("ascii"))))
        except (ValueError, KeyError, TypeError, RecursionError):
            ended = ended or ("crashed", "it wrote on the channel of results what is no result")
            break
    if len(outcomes) < len(calls):
        ending, reason = ended or ("exited", "it ended before a call returned")
        outcomes.append({"ending": ending, "value": None, "output": output, "reason": reason})
    return outcomes


def _outcome(made: Any) -> Dict[str, Any]:  # noqa: UP006
    ending, reason, output = made["ending"], made["reason"], made["output"]
    if ending not in ("value", "raised", "memory") or type(reason) is not str or type(output) is not str:
        raise ValueError("not an outcome")
    return {"ending": ending, "value": made["value"], "output": output, "reason": reason[:_REASON]}


class _Printed:
    """Standard output while calls are made: what each of them prints."""

    encoding = "utf-8"

    def __init__(self) -> None:
        self.pieces: List[str] = []  # noqa: UP006

    def write(self, text: str) -> int:
        self.pieces.append(text)
        return len(text)

    def flush(self) -> None:
        pass

    def isatty(self) -> bool:
        return False

    def taken(self) -> str:
        text, self.pieces = "".join(self.pieces), []
        return text


def _serve(calls: List[Dict[str, Any]]) -> None:  # noqa: UP006
    """In the confined process: load the program as a module that is not __main__, and make the calls."""
    write, dumps, results = os.write, json.dumps, int(sys.argv[2])
    with open(sys.argv[1], encoding="utf-8", errors="surrogatepass") as file:
        source = file.read()
    sys.argv = ["program"]
    printed = _Printed()
    sys.stdout = printed
    module = types.ModuleType("program")
    sys.modules["program"] = module
    failure: _Ended = None
    try:
        exec(compile(source, "program.py", "exec"), module.__dict__)  # noqa: S102
    except MemoryError:
        failure = "memory", "MemoryError"
    except Exception as error:
        failure = "raised", _said(error)
    for call in calls:
        value = None
        ending, reason = failure or ("value", "")
        if failure is None:
            try:
                function = _found(module, call["function"])
                value = encode(function(*decode(call["args"]), **decode(call["kwargs"])))
            except MemoryError:
                ending, reason = "memory", "MemoryError"
            except Exception as error:
                ending, reason = "raised", _said(error)
        made = {"ending": ending, "value": value, "output": printed.taken(), "reason": reason}
        data = (dumps(made) + "\n").encode("ascii")
        while data:
            data = data[write(results, data) :]
    os._exit(0)


def _found(module: Any, name: str) -> Any:
    """A name, a dotted name, or a method of a new object such as `Solution().solve`."""
    value = module
    for part in name.split("."):
        value = getattr(value, part[:-2])() if part.endswith("()") else getattr(value, part)
    return value


def _said(error: BaseException) -> str:
    try:
        return f"{type(error).__name__}: {error}"[:_REASON]
    except Exception:
        return type(error).__name__
