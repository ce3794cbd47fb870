"""Hostile programs beside benign ones: none is paid, nothing around them changes, and the benign ones are."""

from __future__ import annotations

import os
import random
import socket
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from rewardkit.programs.limits import Limits
from rewardkit.programs.local import LocalSandbox
from rewardkit.programs.outcome import Ending, Outcome
from tests.rewardkit.programs.hostile import BENIGN, HOSTILE, READS_AND_PRINTS, TEST

LIMITS = Limits(cpu_seconds=0.3, wall_seconds=0.6, memory_mb=256, processes=8, file_mb=2, output_chars=20_000)
KIND = Limits(cpu_seconds=10, wall_seconds=60, memory_mb=256, processes=8, file_mb=2, output_chars=20_000)
NUMBERS = (3, 4, 5)


@dataclass(frozen=True)
class Row:
    name: str
    program: str
    limits: Limits


def outcomes(sandbox: LocalSandbox, row: Row) -> dict[str, list[Outcome]]:
    """What came of a program in each way of asking it, up to the first end that pays nothing."""

    def asked(ask: Callable[[int], Outcome]) -> list[Outcome]:
        came: list[Outcome] = []
        for n in NUMBERS:
            came.append(ask(n))
            if came[-1].ending is not Ending.VALUE:
                break
        return came

    with sandbox.open(row.program, row.limits) as session:
        return {
            "fresh": asked(lambda n: session.call("solve", [n])),
            "kept": asked(lambda n: session.call("solve", [n], fresh=False)),
            "whole": asked(lambda n: sandbox.run(row.program + READS_AND_PRINTS, str(n), row.limits)),
            "check": [sandbox.check(row.program, TEST, "solve", row.limits)],
        }


def paid(way: str, outcomes: list[Outcome]) -> bool:
    """Whether the program would be paid: by values and texts that are compared here, where they are known."""
    if any(outcome.ending is not Ending.VALUE for outcome in outcomes):
        return False
    if way == "check":
        return outcomes[0].value is True
    if way == "whole":
        return [outcome.output for outcome in outcomes] == [f"{n * n}\n" for n in NUMBERS]
    return all(type(o.value) is int and o.value == n * n for o, n in zip(outcomes, NUMBERS, strict=True))


class Host:
    """What hostile programs go for, and whether they got it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "folder"
        self.folder.mkdir()
        self.secret = folder / "secret"
        self.secret.write_text("16")
        self.secret.chmod(0o640)
        self.victim = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(900)"])
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.settimeout(0.01)
        self.before = self.state()

    def state(self) -> tuple[object, ...]:
        status = self.secret.stat()
        shared = Path("/dev/shm/rewardkit-hostile").exists()
        segments = [line for line in Path("/proc/sysvipc/shm").read_text().splitlines() if " 7777 " in f" {line} "]
        return (
            sorted(os.listdir(self.folder)),
            self.secret.read_text(),
            (status.st_mode, status.st_uid, status.st_nlink, status.st_mtime_ns, status.st_ctime_ns),
            self.victim.poll(),
            (shared, segments, socket.gethostname()),
        )

    def connections(self) -> int:
        try:
            self.listener.accept()
        except TimeoutError:
            return 0
        return 1

    def row(self, name: str) -> Row:
        program = HOSTILE[name].format(
            secret=str(self.secret),
            folder=str(self.folder),
            pid=self.victim.pid,
            port=self.listener.getsockname()[1],
            packages=sysconfig.get_path("purelib"),
        )
        return Row(name, program, LIMITS)

    def close(self) -> None:
        self.victim.kill()
        self.victim.wait()
        self.listener.close()


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    host = Host(tmp_path)
    yield host
    host.close()


def children(pid: int) -> set[int]:
    """Processes below one."""
    try:
        tasks = [Path(f"/proc/{pid}/task/{task}/children").read_text() for task in os.listdir(f"/proc/{pid}/task")]
    except OSError:
        return set()
    own = {int(child) for text in tasks for child in text.split()}
    return own.union(*map(children, own))


def test_no_hostile_program_is_paid_or_changes_anything(any_sandbox: LocalSandbox, host: Host) -> None:
    none_is_paid(any_sandbox, host)


@pytest.mark.long
def test_no_hostile_program_is_paid_by_any_isolation(sandbox: LocalSandbox, host: Host) -> None:
    none_is_paid(sandbox, host)


def none_is_paid(sandbox: LocalSandbox, host: Host) -> None:
    assert len(HOSTILE) >= 60
    own = LocalSandbox(sandbox.name, size=2)  # type: ignore[arg-type]
    before = children(os.getpid())
    rows = [host.row(name) for name in HOSTILE]
    rows += [Row(f"benign {name}", program, KIND) for name, program in BENIGN.items() for _ in range(10)]
    random.Random(0).shuffle(rows)
    try:
        with ThreadPoolExecutor(2) as executor:
            came = dict(
                zip(
                    [(i, row.name) for i, row in enumerate(rows)],
                    executor.map(lambda row: outcomes(own, row), rows),
                    strict=True,
                )
            )
        left = children(os.getpid()) - before
        assert left <= set(own.processes()).union(*(parents(pid) for pid in own.processes()))
    finally:
        own.close()
    were_paid = {(name, way) for (_, name), ways in came.items() for way, what in ways.items() if paid(way, what)}
    assert {(name, way) for name, way in were_paid if not name.startswith("benign ")} == set()
    broken = {
        name: what
        for (_, name), ways in came.items()
        for what in ways.values()
        if any(o.ending is Ending.BROKEN for o in what)
    }
    assert broken == {}, "a program can't say that it is nobody's fault"
    unpaid = {
        (i, way, str(what))
        for (i, name), ways in came.items()
        if name.startswith("benign ")
        for way, what in ways.items()
        if not paid(way, what)
    }
    assert unpaid == set()
    assert (host.state(), host.connections()) == (host.before, 0)
    assert children(os.getpid()) == before
    assert not os.path.exists("seen")


def parents(pid: int) -> set[int]:
    """A process and those above it up to this one: bubblewrap stands between."""
    chain = set()
    while pid not in (0, 1, os.getpid()):
        chain.add(pid)
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return chain


@pytest.mark.parametrize(
    ("name", "ending", "limit"),
    [
        ("fork bomb", Ending.RAISED, {}),
        ("thread bomb", Ending.PROCESSES, {}),
        ("memory", Ending.MEMORY, {}),
        ("disk", Ending.OUTPUT, {}),
        ("many files", Ending.OUTPUT, {}),
        ("output", Ending.OUTPUT, {}),
        ("spin", Ending.CPU, {"cpu_seconds": 0.3}),
        ("spin deaf to signals", Ending.CPU, {"cpu_seconds": 0.3}),
        ("sleep", Ending.WALL, {"wall_seconds": 0.3}),
        ("stop", Ending.RAISED, {}),
        ("kill itself", Ending.RAISED, {}),
        ("null pointer", Ending.CRASHED, {}),
        ("never-ending good messages", Ending.WALL, {"wall_seconds": 0.3}),
    ],
)
def test_each_limit_is_told_by_its_name(
    any_sandbox: LocalSandbox, host: Host, name: str, ending: Ending, limit: dict[str, float]
) -> None:
    limits = replace(replace(LIMITS, cpu_seconds=20, wall_seconds=120), **limit)  # type: ignore[arg-type]
    assert any_sandbox.run(host.row(name).program, "", limits).ending is ending
