"""What a forked process does with a program: run it whole, answer calls of its functions, or run a test of another's.

The program owns this process and may change all of it. So nothing here is relied on: an answer says what the program
wants to have answered, and nothing else. What it may use is limited from outside.
"""

from __future__ import annotations

import ast
import atexit
import builtins
import contextlib
import linecache
import os
import sys
import threading
import traceback
import types
from collections.abc import Callable, Mapping
from typing import Any, Final, NoReturn

from rewardkit.programs.inside.channel import Channel
from rewardkit.programs.inside.plain import NotPlain, dumps, pack, unpack

_MOST_WORDS: Final = 500
"""Characters of an exception's text."""

Request = Mapping[str, Any]


def work(channel: Channel) -> NoReturn:
    """Do what the caller's first message says, and end."""
    request = channel.receive()
    code = 1
    try:
        {"run": _run, "call": _answer_calls, "test": _test}[request["mode"]](channel, request)
        code = 0
    except SystemExit as e:
        code = _exit_code(e)
        channel.send(["exited", request["token"], code])
    except BaseException as e:
        channel.send(_raised(request["token"], e))
        with contextlib.suppress(BaseException):
            traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(BaseException):
                stream.flush()
        os._exit(code)


def _run(channel: Channel, request: Request) -> None:
    """A whole program, to the end of its threads and exit functions."""
    try:
        _exec(request["program"], "__main__")
    finally:
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        sys.stdout.flush()


def _answer_calls(channel: Channel, request: Request) -> None:
    module = _exec(request["program"], "solution")
    channel.send(["loaded", request["token"]])
    while True:
        token, function, args, kwargs = channel.receive()
        try:
            result = _named(module, function)(*unpack(args), **unpack(kwargs))
            answer = ["value", token, pack(result)]
            if len(dumps(answer[2])) > request["most"]:
                answer = ["long", token]
        except SystemExit as e:
            answer = ["exited", token, _exit_code(e)]
        except NotPlain as e:
            answer = ["raised", token, "NotPlain", f"what {function} returns is {e}"]
        except BaseException as e:
            answer = _raised(token, e)
        with contextlib.suppress(BaseException):  # the program may have closed it, or be another's by now
            sys.stdout.flush()
        channel.send(answer)


class _AnotherError(Exception):
    """What the program raised, where it is an exception of its own making."""


def _test(channel: Channel, request: Request) -> None:
    """A test's code, in which the program's function is a call to the other process."""

    def candidate(*args: Any, **kwargs: Any) -> Any:
        channel.send(["call", request["token"], pack(args), pack(kwargs)])
        kind, *said = channel.receive()
        if kind == "value":
            return unpack(said[0])
        known = getattr(builtins, said[0], None)
        raise (known if isinstance(known, type) and issubclass(known, Exception) else _AnotherError)(said[1])

    module = _exec(request["setup"], "setup")
    module.__dict__.update({"candidate": candidate, request["entry_point"]: candidate})
    exec(compile(request["test"], "<test>", "exec"), module.__dict__)  # noqa: S102
    check = module.__dict__.get("check")
    if callable(check):
        check(candidate)
    channel.send(["done", request["token"]])


def _exec(program: str, name: str) -> types.ModuleType:
    module = types.ModuleType(name)
    sys.modules[name] = module
    file = f"<{name.strip('_')}>"
    linecache.cache[file] = (len(program), None, program.splitlines(keepends=True), file)  # for tracebacks and inspect
    module.__dict__["__file__"] = file
    exec(compile(program, file, "exec", dont_inherit=True), module.__dict__)  # noqa: S102
    return module


def _named(module: types.ModuleType, function: str) -> Callable[..., Any]:
    """What a dotted name stands for; a part may be a call without arguments, such as ``Solution().solve``."""

    def value(node: ast.expr) -> Any:
        match node:
            case ast.Name(id=name):
                try:
                    return module.__dict__[name]
                except KeyError:
                    raise NameError(f"name {name!r} is not defined") from None
            case ast.Attribute(value=owner, attr=name):
                return getattr(value(owner), name)
            case ast.Call(func=called, args=[], keywords=[]):
                return value(called)()
        raise NameError(f"{function!r} is not the name of a function")

    found: Callable[..., Any] = value(ast.parse(function, mode="eval").body)
    return found


def _raised(token: str, error: BaseException) -> list[Any]:
    if isinstance(error, MemoryError):
        return ["memory", token]
    try:
        words = str(error)[:_MOST_WORDS]
    except BaseException:
        words = ""
    return ["raised", token, str(type(error).__name__), words]


def _exit_code(error: SystemExit) -> int:
    if error.code is None:
        return 0
    return error.code & 0xFF if isinstance(error.code, int) else 1
