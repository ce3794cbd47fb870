"""Which isolation is chosen, and that what is chosen holds."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from rewardkit.errors import ConfigError, MissingDependencyError
from rewardkit.programs import isolation, sandbox
from rewardkit.programs.breakout import break_out
from rewardkit.programs.limits import Limits
from rewardkit.programs.local import LocalSandbox
from rewardkit.programs.outcome import Ending, Outcome
from rewardkit.programs.place import PlaceLost
from rewardkit.programs.sandbox import choose


@pytest.fixture(autouse=True)
def chosen_anew(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each test chooses for itself."""
    made: dict[object, LocalSandbox] = {}
    monkeypatch.setattr(sandbox, "_CHOSEN", made)
    yield
    for one in made.values():
        one.close()


def test_every_attempt_to_break_out_fails(any_sandbox: LocalSandbox) -> None:
    attempts = break_out(any_sandbox)
    assert len(attempts) >= 20
    assert [attempt for attempt in attempts if not attempt.held] == []


def test_limits_alone_let_files_be_read_and_nothing_else() -> None:
    """So the attempts tell a sandbox that holds from one that doesn't."""
    try:
        chosen = choose("rlimits")
    except ConfigError as e:
        pytest.skip(e.message)
    through = {attempt.name for attempt in break_out(chosen) if not attempt.held}
    assert through <= {
        "read a file of this machine",
        "read /etc/passwd",
        "read installed packages",
        "write a file of this machine",
        "delete a file of this machine",
    }
    assert "read a file of this machine" in through


class Open:
    """A sandbox that is none: it says what a program would say that gets through."""

    name = "open"

    def run(self, program: str, stdin: str, limits: Limits) -> Outcome:
        return Outcome(Ending.VALUE, None, "got through\n")


def test_a_sandbox_that_holds_nothing_is_seen_through() -> None:
    held = {attempt.name for attempt in break_out(Open()) if attempt.held}
    # What only the host can see was not done by this one.
    assert held == {
        "write a file of this machine",
        "change a file's mode",
        "delete a file of this machine",
        "connect to a port",
        "send to a socket of this machine",
        "kill a process",
    }


def test_the_choice_is_made_and_printed_once(any_sandbox: LocalSandbox, capsys: pytest.CaptureFixture[str]) -> None:
    first = choose()
    assert choose() is first
    assert capsys.readouterr().err == f"rewardkit: programs run in {first.name}, {first.size} at a time\n"


def test_without_isolation_the_choices_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "why_not", lambda kind: f"no {kind} here")
    with pytest.raises(ConfigError) as error:
        choose()
    for words in ("no landlock here", "no bubblewrap here", "remote sandbox", "isolation='rlimits'"):
        assert words in str(error.value)


def test_a_sandbox_that_does_not_hold_is_not_chosen(any_sandbox: LocalSandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel that says it can and doesn't: here, one that shuts nothing in."""
    start = isolation.start

    def lets_out(kind: isolation.Isolation, *rest: object) -> isolation.Start:
        return start("rlimits", *rest)  # type: ignore[arg-type]

    monkeypatch.setattr("rewardkit.programs.place.start", lets_out)
    monkeypatch.setattr(sandbox, "why_not", lambda kind: None)
    with pytest.raises(ConfigError, match="did not stop programs that read a file of this machine"):
        choose()


def test_a_server_that_does_not_start_is_told_by_its_words(monkeypatch: pytest.MonkeyPatch) -> None:
    command = [sys.executable, "-c", "import sys; sys.exit('bwrap: No permissions to create new namespace')"]
    monkeypatch.setattr("rewardkit.programs.place.start", lambda *_: isolation.Start(command, {}))
    monkeypatch.setattr(sandbox, "why_not", lambda kind: None)
    with pytest.raises(ConfigError, match="bubblewrap: bwrap: No permissions to create new namespace"):
        choose()


def test_a_kernel_without_filters_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise PlaceLost("OSError: the kernel takes no filter of system calls (seccomp) here")

    monkeypatch.setattr("rewardkit.programs.local.Place", fails)
    with pytest.raises(ConfigError, match="seccomp"):
        choose("rlimits")


@pytest.mark.parametrize(
    ("platform", "missing", "words"), [("darwin", "", "Linux alone"), ("linux", "sandlock", r"rewardkit-rl\[code\]")]
)
def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, platform: str, missing: str, words: str) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    find_spec = isolation.importlib.util.find_spec
    monkeypatch.setattr(
        isolation.importlib.util, "find_spec", lambda name: None if name == missing else find_spec(name)
    )
    with pytest.raises(ConfigError, match=words):
        choose("landlock")


def test_an_unknown_isolation() -> None:
    with pytest.raises(ConfigError, match=r"unknown isolation 'docker'; expected one of auto, landlock"):
        choose("docker")


def test_a_package_that_is_named_can_be_imported_and_no_other(sandbox: LocalSandbox) -> None:
    kind = sandbox.name
    try:
        opened = LocalSandbox(kind, ["numpy"], size=1)  # type: ignore[arg-type]
        limits = Limits(memory_mb=2048)
        outcome = opened.run("import numpy\nprint(numpy.arange(3).sum(), numpy.linalg.inv([[2.0]])[0, 0])", "", limits)
        assert outcome == Outcome(Ending.VALUE, None, "3 0.5\n"), outcome
        assert "ModuleNotFoundError" in opened.run("import pydantic", "", limits).reason
        with opened.open("import numpy\ndef f(x): return numpy.array(x) * 2, numpy.int64(3)", limits) as session:
            assert session.call("f", [[1, 2]]).value == ([2, 4], 3)
    finally:
        opened.close()
    assert "ModuleNotFoundError" in sandbox.run("import numpy", "", Limits()).reason


def test_a_package_that_is_not_installed() -> None:
    with pytest.raises(MissingDependencyError, match="no-such-package"):
        choose("rlimits", ["no-such-package"])
