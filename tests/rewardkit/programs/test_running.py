"""Programs, calls and tests that mean no harm, and how each kind of end is told."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import Any

import pytest

from rewardkit.errors import ParameterError
from rewardkit.programs.limits import Limits
from rewardkit.programs.local import LocalSandbox
from rewardkit.programs.outcome import Ending, Outcome

PROGRAMS = [
    ("print(sum(map(int, input().split())))", "1 2 3\n", "6\n"),
    ("import sys\nprint(sys.stdin.read()[::-1])", "ab\ncd", "dc\nba\n"),
    ("import sys\nfor line in sys.stdin: print(int(line) * 2)", "1\n2\n", "2\n4\n"),
    ("import sys\nprint(len(sys.stdin.buffer.readline()))", "a\u00e9\n", "4\n"),
    ("if __name__ == '__main__':\n    print('main')", "", "main\n"),
    ("import sys\nprint('a'); sys.exit()", "", "a\n"),
    ("print('a'); exit(0)", "", "a\n"),
    ("import os\nprint('a', flush=True); os._exit(0)", "", "a\n"),
    ("import atexit\natexit.register(print, 'last'); print('first')", "", "first\nlast\n"),
    ("import threading\nthreading.Thread(target=lambda: print('thread')).start()", "", "thread\n"),
    (
        "import sys, threading\nsys.setrecursionlimit(10**6); threading.stack_size(1 << 27)\n"
        "def f(n): return n and 1 + f(n - 1)\n"
        "t = threading.Thread(target=lambda: print(f(50_000))); t.start(); t.join()",
        "",
        "50000\n",
    ),
    (
        "import functools, sys\nsys.setrecursionlimit(10**6)\n@functools.cache\ndef f(n): return n and 1 + f(n - 1)\n"
        "print(f(20_000))",
        "",
        "20000\n",
    ),
    ("import resource\nresource.setrlimit(resource.RLIMIT_STACK, (1 << 26, -1)); print('ok')", "", "ok\n"),
    ("import asyncio\nasync def f(): await asyncio.sleep(0.01); return 5\nprint(asyncio.run(f()))", "", "5\n"),
    ("import sqlite3\nprint(sqlite3.connect(':memory:').execute('select 6*7').fetchone()[0])", "", "42\n"),
    ("import zoneinfo, decimal, fractions, email, xml.dom.minidom, hashlib, zlib, lzma\nprint(1)", "", "1\n"),
    ("open('a', 'w').write('kept'); print(open('a').read())", "", "kept\n"),
    ("import tempfile\nf = tempfile.TemporaryFile(dir='.'); f.write(b'x'); print(f.tell())", "", "1\n"),
    ("import random\nprint(random.random())", "", "0.8444218515250481\n"),
    ("import sys\nprint(sys.argv, __file__)", "", "[''] <main>\n"),
    ("import inspect\ndef f(): pass\nprint(inspect.getsource(f))", "", "def f(): pass\n\n"),
    ("print('\\x00\\ud800'.encode('utf-8', 'surrogatepass'))", "", "b'\\x00\\xed\\xa0\\x80'\n"),
    ("import sys\nsys.stdout.buffer.write(b'\\xff\\n')", "", "\ufffd\n"),
]


@pytest.mark.parametrize(("program", "stdin", "printed"), PROGRAMS)
def test_a_whole_program_prints(sandbox: LocalSandbox, limits: Limits, program: str, stdin: str, printed: str) -> None:
    assert sandbox.run(program, stdin, limits) == Outcome(Ending.VALUE, None, printed)


def test_runs_are_alike_in_all_sandboxes(any_sandbox: LocalSandbox, own_sandbox: LocalSandbox, limits: Limits) -> None:
    """Text hashes alike, so that sets have one order, and random numbers are the same."""
    program = "import random\nprint(hash('a'), random.random(), {'a', 'b', 'c', 'd'})"
    assert len({sandbox.run(program, "", limits) for sandbox in (any_sandbox, own_sandbox) for _ in range(3)}) == 1


def test_much_goes_in_and_out(sandbox: LocalSandbox) -> None:
    text = "x" * 3_000_000
    limits = Limits(output_chars=3_000_001)
    assert sandbox.run("print(input())", text, limits) == Outcome(Ending.VALUE, None, text + "\n")
    with sandbox.open("def f(x): return x", limits) as session:
        assert session.call("f", [text[:-10]]).value == text[:-10]


ENDS = [
    ("raise ValueError('no')", Ending.RAISED, "ValueError: no"),
    ("def f(:", Ending.RAISED, "SyntaxError"),
    ("\0", Ending.RAISED, "null bytes"),
    ("'\ud800'", Ending.RAISED, "UnicodeEncodeError"),
    ("(" * 5_000 + ")" * 5_000, Ending.RAISED, ""),
    ("input()", Ending.RAISED, "EOFError"),
    ("raise KeyboardInterrupt", Ending.RAISED, "KeyboardInterrupt"),
    ("class E(BaseException): pass\nraise E('own')", Ending.RAISED, "E: own"),
    ("import sys\nsys.exit(3)", Ending.EXITED, "exit code 3"),
    ("import sys\nsys.exit('message')", Ending.EXITED, "exit code 1"),
    ("import os\nos._exit(7)", Ending.EXITED, "exit code 7"),
    ("held = bytearray(1 << 40)", Ending.MEMORY, "memory"),
    ("held = []\nwhile True: held.append(bytearray(1 << 20))", Ending.MEMORY, "memory"),
    ("while True: pass", Ending.CPU, "CPU time"),
    ("import time\ntime.sleep(60)", Ending.WALL, "on the clock"),
    ("while True: print('x' * 100)", Ending.OUTPUT, ""),
    ("print('x' * 30_000)", Ending.OUTPUT, ""),
    ("import os\nos.abort()", Ending.CRASHED, "SIGABRT"),
    ("import ctypes\nctypes.string_at(0)", Ending.CRASHED, "SIGSEGV"),
    (
        "import threading, time\nthreading.stack_size(1 << 16)\n"
        "for _ in range(60): threading.Thread(target=time.sleep, args=(60,), daemon=True).start()\ntime.sleep(60)",
        Ending.PROCESSES,
        "threads",
    ),
]
ROOMY = Limits(cpu_seconds=20, wall_seconds=120, memory_mb=256, file_mb=4, output_chars=20_000)


def limits_for(ending: Ending) -> Limits:
    """Such that a busy machine meets no other limit first."""
    if ending is Ending.CPU:
        return replace(ROOMY, cpu_seconds=0.3)
    return replace(ROOMY, wall_seconds=0.5) if ending is Ending.WALL else ROOMY


@pytest.mark.parametrize(("program", "ending", "reason"), ENDS)
def test_how_a_program_ends_is_told(sandbox: LocalSandbox, program: str, ending: Ending, reason: str) -> None:
    outcome = sandbox.run(program, "", limits_for(ending))
    assert (outcome.ending, outcome.value) == (ending, None), outcome
    assert reason in outcome.reason
    assert outcome.reason not in ("", "it gave no answer")


@pytest.mark.parametrize(("program", "ending", "reason"), ENDS)
def test_how_a_call_ends_is_told(sandbox: LocalSandbox, program: str, ending: Ending, reason: str) -> None:
    """The same, by loading the program and by calling a function."""
    limits = limits_for(ending)
    with sandbox.open(program, limits) as session:
        assert session.call("f").ending is ending
    body = "\n".join("    " + line for line in program.splitlines())
    try:
        compile(program, "", "exec")
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return
    with sandbox.open(f"def f():\n{body}", limits) as session:
        outcome = session.call("f", fresh=False)
        assert outcome.ending is ending, outcome
        again = session.call("f", fresh=False)
        assert again.ending is ending


def test_calls(sandbox: LocalSandbox, limits: Limits) -> None:
    program = (
        "import itertools\nn = itertools.count()\ndef count(): return next(n)\n"
        "def grow(a): a.append(1); return a\ndef both(*a, **k): return a, k\n"
        "class Solution:\n    def m(self, x): return x + 1\n"
        "    class Inner:\n        @staticmethod\n        def s(): return 's'\n"
        "if __name__ == '__main__': raise SystemExit(1)\n"
    )
    given: list[int] = []
    with sandbox.open(program, limits) as session:
        assert [session.call("count").value for _ in range(3)] == [0, 0, 0]
        assert [session.call("count", fresh=False).value for _ in range(3)] == [0, 1, 2]
        assert [session.call("grow", [given], fresh=fresh).value for fresh in (True, False, False)] == [[1]] * 3
        assert given == []
        assert session.call("both", [1, (2,)], {"k": {3}}).value == ((1, (2,)), {"k": {3}})
        assert session.call("Solution().m", [1]).value == 2
        assert session.call("Solution.Inner.s").value == "s"


@pytest.mark.parametrize(
    "function",
    ["g", "f.x", "f(1)", "f if 1 else f", "__import__('os').getpid", "[f][0]", "", "f; f", "lambda: 1", "\0"],
)
def test_what_names_no_function_is_told(any_sandbox: LocalSandbox, limits: Limits, function: str) -> None:
    with any_sandbox.open("def f(*a): return 1", limits) as session:
        assert session.call(function).ending is Ending.RAISED


@pytest.mark.parametrize("returned", ["object()", "lambda: 1", "range(3)", "(x for x in 'ab')", "f"])
def test_what_is_not_plain_data_is_the_programs_doing(any_sandbox: LocalSandbox, limits: Limits, returned: str) -> None:
    with any_sandbox.open(f"def f(): return {returned}", limits) as session:
        outcome = session.call("f")
    assert outcome.ending is Ending.RAISED
    assert "not plain data" in outcome.reason


def test_an_argument_that_is_not_plain_is_the_callers_error(any_sandbox: LocalSandbox, limits: Limits) -> None:
    with any_sandbox.open("def f(x): return x", limits) as session, pytest.raises(TypeError, match="not plain data"):
        session.call("f", [object()])


def test_an_answer_has_a_length(any_sandbox: LocalSandbox, limits: Limits) -> None:
    with any_sandbox.open("def f(n): return 'x' * n", limits) as session:
        assert session.call("f", [19_000]).value == "x" * 19_000
        for fresh in (True, False):
            assert session.call("f", [20_001], fresh=fresh).ending is Ending.OUTPUT


def test_sessions_that_keep_a_process_keep_nobody_waiting(own_sandbox: LocalSandbox, limits: Limits) -> None:
    with contextlib.ExitStack() as stack:
        sessions = [stack.enter_context(own_sandbox.open("def f(x): return x", limits)) for _ in range(5)]
        assert [session.call("f", [i], fresh=False).value for i, session in enumerate(sessions)] == [0, 1, 2, 3, 4]
        assert own_sandbox.run("print(1)", "", limits).output == "1\n"
        assert own_sandbox.check("def f(x): return x", "assert f(1) == 1", "f", limits).value is True
        assert [session.call("f", [i], fresh=False).value for i, session in enumerate(sessions)] == [0, 1, 2, 3, 4]
    assert len(own_sandbox.processes()) == own_sandbox.size


def test_one_place_is_enough_for_a_test_of_another_process(any_sandbox: LocalSandbox, limits: Limits) -> None:
    sandbox = LocalSandbox(any_sandbox.name, size=1)  # type: ignore[arg-type]
    assert sandbox.check("def f(x): return x", "assert f(1) == 1", "f", limits).value is True
    sandbox.close()
    assert sandbox.processes() == []


def test_what_a_call_printed_is_its_own(any_sandbox: LocalSandbox, limits: Limits) -> None:
    with any_sandbox.open("def f(x): print(x); return 1 / x", limits) as session:
        outcomes = [session.call("f", [x], fresh=False) for x in (1, 0, 2)]
    assert [(o.output, o.ending) for o in outcomes] == [
        ("1\n", Ending.VALUE),
        ("0\n", Ending.RAISED),
        ("2\n", Ending.VALUE),
    ]


CHECK = "def check(candidate):\n    for x in range(50):\n        assert candidate(x, step=2) == x + 2\n"


@pytest.mark.parametrize(
    ("program", "test", "outcome"),
    [
        ("def f(x, step): return x + step", CHECK, (Ending.VALUE, True)),
        ("def f(x, step): return x + step", "for x in (1, 2):\n    assert f(x, 2) == x + 2", (Ending.VALUE, True)),
        ("def f(x, step): return x", CHECK, (Ending.RAISED, None)),
        ("def f(x, step): return x + step if x < 49 else 0", CHECK, (Ending.RAISED, None)),
        ("def f(x, step): raise SystemExit(0)", CHECK, (Ending.EXITED, None)),
        ("import os\ndef f(x, step): os._exit(0)", CHECK, (Ending.EXITED, None)),
        ("def f(x, step):\n    while True: pass", CHECK, (Ending.CPU, None)),
        ("def g(x, step): return x + step", CHECK, (Ending.RAISED, None)),
        ("raise SystemExit(0)", CHECK, (Ending.EXITED, None)),
        (
            "def f(x, step): return x + step",
            "def check(candidate):\n    import sys; sys.exit(0)",
            (Ending.EXITED, None),
        ),
        (
            "def f(x): raise KeyError(x)",
            "def check(candidate):\n    try: candidate(1)\n    except KeyError: return\n    assert False",
            (Ending.VALUE, True),
        ),
        (
            "class E(Exception): pass\ndef f(x): raise E(x)",
            "def check(candidate):\n    try: candidate(1)\n    except Exception as e: assert str(e) == '1'\n"
            "    else: assert False",
            (Ending.VALUE, True),
        ),
    ],
)
def test_a_test_of_another_process(sandbox: LocalSandbox, program: str, test: str, outcome: tuple[Ending, Any]) -> None:
    came = sandbox.check(program, test, "f", limits_for(outcome[0]))
    assert (came.ending, came.value) == outcome, came


def test_a_test_has_its_own_names(any_sandbox: LocalSandbox, limits: Limits) -> None:
    """What the test's side defines stays there; what the program defines does not reach it."""
    test = "def check(candidate):\n    assert candidate(2) == helper(2)"
    program = "def helper(x): return 0\ndef f(x): return 0"
    assert any_sandbox.check(program, test, "f", limits).reason.startswith("NameError")
    setup = "def helper(x): return 2 * x\ndef f(x): 'to be done'"
    assert any_sandbox.check(program, test, "f", limits, setup=setup).ending is Ending.RAISED
    assert any_sandbox.check("def f(x): return x + x", test, "f", limits, setup=setup).value is True


@pytest.mark.parametrize(
    "wrong", [{"cpu_seconds": 0}, {"wall_seconds": float("inf")}, {"memory_mb": 1}, {"cpu_seconds": float("nan")}]
)
def test_limits_that_are_none(wrong: dict[str, float]) -> None:
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        Limits(**wrong)  # type: ignore[arg-type]
