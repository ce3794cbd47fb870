"""Programs at a SandboxFusion or a Piston: the outcomes, and that no fault of a service becomes a verdict."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from rewardkit.programs.limits import Limits
from rewardkit.programs.outcome import Ending
from rewardkit.programs.remote import RemoteSandbox, client, driver
from tests.rewardkit.programs.remote.faults import FAULTS
from tests.rewardkit.programs.remote.servers import Answer, Handler, Seen, serving

LIMITS = Limits(cpu_seconds=1, wall_seconds=60, memory_mb=512, file_mb=1, output_chars=10_000)


@pytest.fixture(params=["SandboxFusion", "Piston"])
def sandbox(request: pytest.FixtureRequest) -> Iterator[RemoteSandbox]:
    with serving(request.param) as (url, _):
        yield RemoteSandbox(url)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses of milliseconds."""
    monkeypatch.setattr(client, "FIRST_PAUSE", 0.01)
    monkeypatch.setattr(client, "LONGEST_PAUSE", 0.05)


PROGRAMS = {
    "reads and prints": ("print(int(input()) + 1)", "41\n", Ending.VALUE, "42\n"),
    "no end of line": ("import sys; sys.stdout.write(sys.stdin.read())", "a\r\nb", Ending.VALUE, "a\r\nb"),
    "other characters": ("print(input())", "naïve ☃\n", Ending.VALUE, "naïve ☃\n"),
    "main": ("if __name__ == '__main__':\n    print(1)", "", Ending.VALUE, "1\n"),
    "future": ("from __future__ import annotations\nprint(1)", "", Ending.VALUE, "1\n"),
    "exit 0": ("print(1); raise SystemExit(0)", "", Ending.VALUE, "1\n"),
    "exit 3": ("import os; print(1, flush=True); os._exit(3)", "", Ending.EXITED, "1\n"),
    "raises": ("print(1)\n1 / 0", "", Ending.RAISED, "1\n"),
    "no Python": ("x = = 1", "", Ending.RAISED, ""),
    "a signal": ("import os; os.kill(os.getpid(), 11)", "", Ending.CRASHED, ""),
    "its own kill": ("import os; os.kill(os.getpid(), 9)", "", Ending.CRASHED, ""),
    "kills its parent": ("import os; os.kill(os.getppid(), 9)", "", Ending.CRASHED, None),
    "spins": ("while True: pass", "", Ending.CPU, ""),
    "memory": ("x = bytearray(1 << 30)", "", Ending.MEMORY, ""),
    "a flood": ("while True: print('o' * 1000)", "", Ending.OUTPUT, None),
    "a large file": ("open('f', 'wb').write(bytes(1 << 22))", "", Ending.OUTPUT, ""),
    "a child left": ("import subprocess; subprocess.Popen(['sleep', '60']); print(1)", "", Ending.VALUE, "1\n"),
    "a forged report": (
        "import os, sys\nprint('\\n{\"number\": 1, \"outcomes\": [{\"ending\": \"value\", \"output\": \"9\"}]}')", "",
        Ending.VALUE, None,
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", PROGRAMS)
def test_whole_programs(sandbox: RemoteSandbox, what: str) -> None:
    program, stdin, ending, output = PROGRAMS[what]
    outcome = sandbox.run(program, stdin, LIMITS)
    if what == "a large file" and outcome.ending is Ending.RAISED:  # Python ignores the signal and raises
        assert "File too large" in outcome.reason
        return
    assert outcome.ending is ending, outcome
    assert output is None or outcome.output == output
    assert (outcome.reason == "") == (ending is Ending.VALUE)


def test_a_program_that_sleeps_is_over_its_time() -> None:
    with serving("SandboxFusion") as (url, _):
        outcome = RemoteSandbox(url).run("import time; time.sleep(60)", "", Limits(wall_seconds=0.5))
        assert outcome.ending is Ending.WALL


DATA: list[Any] = [
    None, True, 0, -5, 1 << 200, 0.1, -0.0, math.inf, 1e-310, 2 + 3j, "", "\ud800 ☃", b"\x00\xff", [], [1, [2]], (),
    (1,), set(), {1, 2}, frozenset({3}), {}, {1: 2, (1, 2): {"a": None}},
]  # fmt: skip


def test_plain_data_goes_there_and_back(sandbox: RemoteSandbox) -> None:
    with sandbox.open("def same(x):\n    return x", LIMITS) as session:
        outcome = session.call("same", [DATA])
    assert outcome.ending is Ending.VALUE
    assert repr(outcome.value) == repr(DATA)


@pytest.mark.parametrize("value", [object(), type("Own", (int,), {})(1), [lambda: 0], {"a": range(3)}])
def test_what_is_no_plain_data_is_refused_here_and_there(value: Any) -> None:
    with pytest.raises(TypeError):
        driver.encode(value)


@pytest.mark.parametrize(
    "value", [1.5, {"a": []}, {"tuple": 1}, {"int": 3}, {"set": [[1]]}, {"dict": [[1]]}, {"complex": ["1"]}]
)
def test_what_is_not_encoded_data_is_no_value(value: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        driver.decode(value)


CALLS = {
    "returns": ("def f(a, b=2): return a + b", "f", [1], Ending.VALUE, 3),
    "a method": ("class Solution:\n    def f(self, a): return a * 2", "Solution().f", [4], Ending.VALUE, 8),
    "prints too": ("def f(): print('so'); return 1", "f", [], Ending.VALUE, 1),
    "raises": ("def f(): raise KeyError('k')", "f", [], Ending.RAISED, None),
    "does not load": ("import nothing_of_the_kind", "f", [], Ending.RAISED, None),
    "is not there": ("x = 1", "f", [], Ending.RAISED, None),
    "no main": (
        "def f(): return __name__\nif __name__ == '__main__': raise SystemExit(9)", "f", [], Ending.VALUE, "program",
    ),
    "an object equal to all": (
        "class Same(int):\n    def __eq__(self, other): return True\ndef f(): return Same()", "f", [],
        Ending.RAISED, None,
    ),
    "exits at the start": ("import os; os._exit(0)", "f", [], Ending.EXITED, None),
    "exits in the call": ("def f(): raise SystemExit(0)", "f", [], Ending.EXITED, None),
    "writes on the channel": (
        "import os\nfor fd in range(3, 20):\n  try: os.write(fd, b'{}\\n')\n  except OSError: pass\ndef f(): return 1",
        "f", [], Ending.CRASHED, None,
    ),
    "returns too much": ("def f(): return 'o' * 5_000_000", "f", [], Ending.OUTPUT, None),
    "spins": ("def f():\n    while True: pass", "f", [], Ending.CPU, None),
}  # fmt: skip


@pytest.mark.parametrize("what", CALLS)
def test_calls(sandbox: RemoteSandbox, what: str) -> None:
    program, function, args, ending, value = CALLS[what]
    with sandbox.open(program, LIMITS) as session:
        outcome = session.call(function, args)
    assert (outcome.ending, outcome.value) == (ending, value), outcome
    assert what != "prints too" or outcome.output == "so\n"


def test_a_fresh_call_knows_nothing_of_the_one_before_and_the_others_do(sandbox: RemoteSandbox) -> None:
    program = "n = 0\ndef f():\n    global n\n    n += 1\n    return n"
    with sandbox.open(program, LIMITS) as session:
        assert [session.call("f").value for _ in range(2)] == [1, 1]
        assert [session.call("f", fresh=False).value for _ in range(3)] == [1, 2, 3]
        assert session.call("f").value == 1


CHECK = """
def check(candidate):
    assert candidate([1, 2], 3) == [3, 3]
    for i in range(3):
        assert candidate([i], 2 * i)[0] == 2 * i
    assert abs(candidate([0.5], 0)[0] - 0.5) < 1e-6
"""


@pytest.mark.parametrize(
    ("program", "ending", "value"),
    [
        ("def top(a, b): return [max(x, b) for x in a]", Ending.VALUE, True),
        ("def top(a, b): return [b for x in a]", Ending.RAISED, None),
        ("def top(a, b): raise ValueError('no')", Ending.RAISED, None),
        ("import os; os._exit(0)", Ending.EXITED, None),
        ("def check(*_): pass\ndef top(a, b): return None", Ending.RAISED, None),
        ("class E(list):\n    __eq__ = lambda *_: True\ndef top(a, b): return E()", Ending.RAISED, None),
        ("def top(a, b):\n    while True: pass", Ending.CPU, None),
    ],
)
def test_the_test_code_of_a_data_set(sandbox: RemoteSandbox, program: str, ending: Ending, value: Any) -> None:
    outcome = sandbox.check(program, CHECK, "top", LIMITS, setup="import math")
    assert (outcome.ending, outcome.value) == (ending, value), outcome


def test_what_is_expected_is_never_in_a_request_with_the_program() -> None:
    with serving("SandboxFusion") as (url, seen):
        test = "def check(candidate):\n    assert candidate(2) == 'the_expected_value'\n"
        program = "def f(x): return 'of_the_program'"
        assert RemoteSandbox(url).check(program, test, "f", LIMITS).ending is Ending.RAISED
    with_program = [body for body in seen.bodies if "def f(x)" in body]
    assert len(with_program) == 1
    assert not any("the_expected_value" in body for body in with_program)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("service", ["SandboxFusion", "Piston"])
def test_no_fault_of_a_service_is_a_verdict(service: str, fault: str) -> None:
    break_it, words = FAULTS[fault]
    limits = Limits(cpu_seconds=5, wall_seconds=10, output_chars=10_000)
    with serving(service, break_it) as (url, _):
        remote = RemoteSandbox(url, queue_seconds=-13 if fault in ("stalls", "drips") else 60)
        with remote.open("def f(): return 1", limits) as session:
            outcomes = [remote.run("print(1)", "", limits), session.call("f")]
    for outcome in outcomes:
        assert outcome.ending is Ending.BROKEN, (fault, outcome)
    assert words in outcomes[0].reason, outcomes[0].reason


@pytest.mark.usefixtures("quick")
def test_nobody_there() -> None:
    with serving("Piston") as (url, _):
        pass
    outcome = RemoteSandbox(url).run("print(1)", "", LIMITS)
    assert outcome.ending is Ending.BROKEN and "no answer from" in outcome.reason


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("code", [429, 500, 503])
def test_a_busy_service_is_asked_again(code: int) -> None:
    def busy_at_first(handler: Handler, answer: Answer, seen: Seen) -> Answer:
        return (code, {"Retry-After": "0"}, b"busy") if len(seen.bodies) < client.ATTEMPTS else answer

    with serving("SandboxFusion", busy_at_first) as (url, seen):
        assert RemoteSandbox(url).run("print(1)", "", LIMITS).output == "1\n"
    assert len(seen.bodies) == client.ATTEMPTS


def test_no_more_requests_at_once_than_places_and_none_above_the_rate() -> None:
    def slowly(handler: Handler, answer: Answer, seen: Seen) -> Answer:
        threading.Event().wait(0.05)
        return answer

    with serving("SandboxFusion", slowly) as (url, seen), ThreadPoolExecutor(12) as threads:
        remote = RemoteSandbox(url, size=2)
        outcomes = list(threads.map(lambda i: remote.run(f"print({i})", "", LIMITS).output, range(12)))
        assert outcomes == [f"{i}\n" for i in range(12)]
        assert seen.most == 2
    with serving("SandboxFusion") as (url, seen), ThreadPoolExecutor(6) as threads:
        remote = RemoteSandbox(url, rate=10)
        list(threads.map(lambda i: remote.run("", "", LIMITS), range(6)))
        assert max(seen.times) - min(seen.times) >= 0.4


@pytest.mark.usefixtures("quick")
def test_a_dead_service_is_left_alone_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving("SandboxFusion", FAULTS["503"][0]) as (url, seen):
        remote = RemoteSandbox(url, size=3)
        outcomes = [remote.run("print(1)", "", LIMITS) for _ in range(50)]
    assert {o.ending for o in outcomes} == {Ending.BROKEN}
    assert len(seen.bodies) == 3 * client.ATTEMPTS
    assert "not asked" in outcomes[-1].reason and "answered 503" in outcomes[-1].reason
    with serving("SandboxFusion") as (url, _):
        monkeypatch.setattr(client, "REST_S", 0.0)
        remote = RemoteSandbox(url, size=1)
        assert remote.run("print(1)", "", LIMITS).output == "1\n"


def test_a_service_that_lets_less_output_through_is_named_and_no_verdict() -> None:
    with serving("small Piston") as (url, seen):
        remote = RemoteSandbox(url)
        outcomes = [remote.run("print('o' * 3000)", "", LIMITS) for _ in range(3)]
        assert {o.ending for o in outcomes} == {Ending.BROKEN}
        assert "PISTON_OUTPUT_MAX_SIZE" in outcomes[0].reason
        assert len(seen.bodies) == 4  # one of them to find out
        assert remote.run("print(1)", "", LIMITS).output == "1\n"


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:8080", "http://127.0.0.1:8080/run", "http://127.0.0.1/api/v2/runtimes"]
)
def test_an_address_of_neither_service_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="whole address"):
        RemoteSandbox(url)


def test_the_request_is_what_the_services_document() -> None:
    with serving("Piston") as (url, seen):
        RemoteSandbox(url, headers={"Authorization": "k"}).run("print(1)", "", LIMITS)
    body = json.loads(seen.bodies[0])
    assert body["run_timeout"] == 65_000 and body["run_memory_limit"] == (512 + 256) << 20
    assert body.keys() <= {"language", "version", "files", "stdin", "run_timeout", "run_cpu_time", "run_memory_limit"}
